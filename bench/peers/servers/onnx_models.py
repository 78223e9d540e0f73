"""The models of the benchmark as every peer of Python calls them: ONNX Runtime on the CPU.

The runner passes PEER_MODELS, a folder with NAME/1/model.onnx, and PEER_THREADS, the threads of one
session: the cores divided by the worker processes.
"""
import os
import pathlib

import onnxruntime

MODELS = ("half_plus_three", "mlp", "resnet")


class Model:
    """One session with one input and one output."""

    def __init__(self, name):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(os.environ["PEER_THREADS"])
        path = pathlib.Path(os.environ["PEER_MODELS"], name, "1", "model.onnx")
        providers = ["CPUExecutionProvider"]
        self.session = onnxruntime.InferenceSession(str(path), options, providers=providers)
        self.input = self.session.get_inputs()[0].name
        self.output = self.session.get_outputs()[0].name

    def __call__(self, rows):
        """The output of float32 rows, an array."""
        return self.session.run([self.output], {self.input: rows})[0]
