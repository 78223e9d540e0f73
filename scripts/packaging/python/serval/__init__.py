"""Serval, an inference server, and its engine without a server.

`serval.load("model.onnx").infer({"x": array})` runs a model in this process: ONNX, TensorFlow,
Spark, MLeap or PMML. The `serval` command and `python -m serval` serve it.
"""

from serval.errors import ServalError
from serval.model import Model, TensorInfo, load
from serval.program import RUNTIME, command

__all__ = ["RUNTIME", "Model", "ServalError", "TensorInfo", "command", "load"]
