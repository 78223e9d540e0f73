"""A custom runtime of MLServer for ONNX models, as its documentation describes them."""
import numpy as np
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.types import InferenceRequest, InferenceResponse

from onnx_models import Model


class OnnxModel(MLModel):
    """The model whose name is that of its settings."""

    async def load(self) -> bool:
        self._model = Model(self.name)
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        rows = self.decode(payload.inputs[0], default_codec=NumpyCodec)
        result = self._model(rows.astype(np.float32, copy=False))
        outputs = [NumpyCodec.encode_output(self._model.output, result)]
        return InferenceResponse(model_name=self.name, outputs=outputs)
