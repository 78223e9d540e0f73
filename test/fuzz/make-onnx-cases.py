"""Writes the cases of ONNX's own backend suite as folders that test/fuzz/onnx_cases.cc reads.

  python make-onnx-cases.py FOLDER

FOLDER/<case>/model.onnx has free dims, so that a request may have any; tensors.txt names the
inputs and the expected outputs, a line each ("input FP32 2 3"); tensors.bin holds their bytes in
the same order, little-endian, row-major. Cases with sequences, strings or types of 4 and 8 bits
that no client can send are left out, and counted. Test time only.
"""

import os
import sys
import warnings

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

NAMES = {
    "bool": "BOOL", "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64",
    "uint8": "UINT8", "uint16": "UINT16", "uint32": "UINT32", "uint64": "UINT64",
    "float16": "FP16", "float32": "FP32", "float64": "FP64", "bfloat16": "BF16",
}


IR_MAX, OPSET_MAX = 13, 25  # what ONNX Runtime reads


def cap_versions(model):
    """Operators that did not change since are tested as those of an older set."""
    model.ir_version = min(model.ir_version, IR_MAX)
    for opset in model.opset_import:
        if opset.domain == "":
            opset.version = min(opset.version, OPSET_MAX)


def free_dims(model):
    """Every input's dims get names of their own; outputs lose their shapes."""
    for value in model.graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.Clear()
            dim.dim_param = f"{value.name}_{axis}"
    for value in model.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]


def write_case(folder, case):
    inputs, outputs = case.data_sets[0]
    tensors = [("input", value) for value in inputs] + [("output", value) for value in outputs]
    arrays = []
    for role, value in tensors:
        if not isinstance(value, (np.ndarray, np.generic)):
            return False
        array = np.asarray(value)
        if array.dtype.name not in NAMES:
            return False
        arrays.append((role, array))
    if len(inputs) != len(case.model.graph.input):
        return False
    path = os.path.join(folder, case.name)
    os.makedirs(path, exist_ok=True)
    cap_versions(case.model)
    free_dims(case.model)
    with open(os.path.join(path, "model.onnx"), "wb") as file:
        file.write(case.model.SerializeToString(deterministic=True))
    with open(os.path.join(path, "tensors.txt"), "w", encoding="ascii") as file:
        for role, array in arrays:
            print(role, NAMES[array.dtype.name], *array.shape, file=file)
    with open(os.path.join(path, "tensors.bin"), "wb") as file:
        for _, array in arrays:
            file.write(np.ascontiguousarray(array).tobytes())
    return True


def main():
    warnings.simplefilter("ignore")
    folder = sys.argv[1]
    cases = collect_testcases(None)
    written = sum(write_case(folder, case) for case in cases)
    print(f"onnx {onnx.__version__}: {written} cases, {len(cases) - written} left out")


if __name__ == "__main__":
    main()
