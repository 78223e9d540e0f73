"""A model of Triton's Python backend that calls an ONNX model.

Triton copies nothing of PYTHONPATH into the interpreter of the backend, so the file does.
"""
import os
import sys

sys.path[:0] = os.environ["PYTHONPATH"].split(":")

import triton_python_backend_utils as backend

from onnx_models import Model


class TritonPythonModel:
    """One instance, in its own process."""

    def initialize(self, args):
        self.model = Model(args["model_name"])

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        tensor = backend.get_input_tensor_by_name(request, self.model.input)
        output = backend.Tensor(self.model.output, self.model(tensor.as_numpy()))
        return backend.InferenceResponse([output])
