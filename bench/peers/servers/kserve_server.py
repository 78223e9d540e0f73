"""KServe's Python server with ONNX models, as its documentation describes custom predictors.

kserve_server.py --http_port N --grpc_port N --workers N
"""
import numpy as np
from kserve import InferOutput, InferRequest, InferResponse, Model, ModelServer
from kserve.utils.numpy_codec import from_np_dtype
from kserve.utils.utils import generate_uuid, get_predict_input

import onnx_models


class OnnxModel(Model):
    """A model that a worker process opens again: sessions cannot be sent to it."""

    def __init__(self, name):
        super().__init__(name)
        self.load()

    def load(self):
        self.model = onnx_models.Model(self.name)
        self.ready = True
        return self.ready

    def __getstate__(self):
        return {**self.__dict__, "model": None}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.load()

    def predict(self, payload, headers=None, response_headers=None):
        rows = get_predict_input(payload)
        result = self.model(rows.astype(np.float32, copy=False))
        if not isinstance(payload, InferRequest):
            return {"predictions": result.tolist()}
        name, datatype = self.model.output, from_np_dtype(result.dtype)
        output = InferOutput(name=name, shape=list(result.shape), datatype=datatype)
        output.set_data_from_numpy(result, binary_data=payload.use_binary_outputs)
        return InferResponse(
            response_id=payload.id or generate_uuid(),
            model_name=self.name,
            infer_outputs=[output],
            use_binary_outputs=payload.use_binary_outputs,
            requested_outputs=payload.request_outputs,
        )


if __name__ == "__main__":
    ModelServer().start([OnnxModel(name) for name in onnx_models.MODELS])
