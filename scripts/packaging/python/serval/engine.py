"""The engine's library, libserval.so, by ctypes: native/capi/serval.h. ctypes releases the GIL
during every call."""

import ctypes
import functools
import os
import re

from serval.errors import ServalError
from serval.program import RUNTIME

ABI_VERSION = 1

# serval_code
CODES = {
    1: "InvalidArgument",
    5: "SignatureNotFound",
    8: "BodyTooLarge",
    11: "Unimplemented",
    15: "ModelInvalid",
    16: "RuntimeUnavailable",
    17: "BackendFailed",
    18: "Internal",
    19: "MemoryFull",
}

# serval_dtype
DTYPES = {
    "BOOL": 1,
    "UINT8": 2,
    "UINT16": 3,
    "UINT32": 4,
    "UINT64": 5,
    "INT8": 6,
    "INT16": 7,
    "INT32": 8,
    "INT64": 9,
    "FP16": 10,
    "FP32": 11,
    "FP64": 12,
    "BYTES": 13,
    "BF16": 14,
    "STRING": 15,
    "DATE": 16,
    "TIMESTAMP": 17,
}
NAMES = {number: name for name, number in DTYPES.items()}
TEXTS = ("BYTES", "STRING", "DATE", "TIMESTAMP")


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("onnxruntime_library", ctypes.c_char_p),
        ("threads", ctypes.c_int32),
    ]


class Info(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("optional", ctypes.c_int32),
    ]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("data", ctypes.c_void_p),
        ("bytes", ctypes.c_size_t),
        ("offsets", ctypes.c_void_p),
        ("lengths", ctypes.c_void_p),
        ("missing", ctypes.c_void_p),
    ]


_MODEL = ctypes.c_void_p
_RESULT = ctypes.c_void_p
_ERROR = ctypes.c_void_p
_SIZE = ctypes.c_size_t
# name -> result, arguments
_CALLS = {
    "serval_abi_version": (ctypes.c_uint32, []),
    "serval_error_code": (ctypes.c_int, [_ERROR]),
    "serval_error_message": (ctypes.c_char_p, [_ERROR]),
    "serval_error_free": (None, [_ERROR]),
    "serval_open": (
        _ERROR,
        [ctypes.c_char_p, ctypes.POINTER(Options), ctypes.POINTER(_MODEL)],
    ),
    "serval_close": (None, [_MODEL]),
    "serval_signature_count": (_SIZE, [_MODEL]),
    "serval_signature_name": (ctypes.c_char_p, [_MODEL, _SIZE]),
    "serval_is_tabular": (ctypes.c_int32, [_MODEL]),
    "serval_input_count": (_SIZE, [_MODEL, _SIZE]),
    "serval_output_count": (_SIZE, [_MODEL, _SIZE]),
    "serval_input": (_ERROR, [_MODEL, _SIZE, _SIZE, ctypes.POINTER(Info)]),
    "serval_output": (_ERROR, [_MODEL, _SIZE, _SIZE, ctypes.POINTER(Info)]),
    "serval_infer": (
        _ERROR,
        [
            _MODEL,
            _SIZE,
            ctypes.POINTER(Tensor),
            _SIZE,
            ctypes.POINTER(ctypes.c_char_p),
            _SIZE,
            ctypes.POINTER(_RESULT),
        ],
    ),
    "serval_result_count": (_SIZE, [_RESULT]),
    "serval_result_output": (_ERROR, [_RESULT, _SIZE, ctypes.POINTER(Tensor)]),
    "serval_result_free": (None, [_RESULT]),
}


def missing_feature(text):
    """A feature of x86-64 that libserval.so needs and the first processor of this /proc/cpuinfo
    lacks; None: it has all, or the text is of another architecture."""
    flags = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    if flags is None:
        return None
    has = flags.group(1).split()
    return next((one for one in ("avx2", "fma", "bmi2") if one not in has), None)


def check_cpu():
    """The library would end the process on a CPU that it is not compiled for."""
    try:
        with open("/proc/cpuinfo", encoding="latin-1") as file:
            missing = missing_feature(file.read(8192))
    except OSError:
        return
    if missing is not None:
        text = f"expected an x86-64 CPU with AVX2, FMA and BMI2, got one without {missing}"
        raise ServalError("RuntimeUnavailable", f"{text}; the server runs on it")


@functools.lru_cache(maxsize=None)
def library():
    """Loads the library once. Raises ServalError: RuntimeUnavailable."""
    check_cpu()
    path = os.path.join(RUNTIME, "prebuilt", "libserval.so")
    try:
        loaded = ctypes.CDLL(path)
    except OSError as error:
        raise ServalError("RuntimeUnavailable", f"{path}: cannot be loaded: {error}") from None
    for name, (result, arguments) in _CALLS.items():
        call = getattr(loaded, name)
        call.restype = result
        call.argtypes = arguments
    version = loaded.serval_abi_version()
    if version != ABI_VERSION:
        text = f"{path}: expected version {ABI_VERSION} of its interface, got {version}"
        raise ServalError("RuntimeUnavailable", text)
    return loaded


def check(error):
    """Raises the error that a call returned, if it did."""
    if not error:
        return
    calls = library()
    try:
        code = CODES.get(calls.serval_error_code(error), "Internal")
        message = calls.serval_error_message(error).decode("utf-8", "replace")
    finally:
        calls.serval_error_free(error)
    raise ServalError(code, message)


class Result:
    """The outputs of one run. Arrays that view its memory keep it alive."""

    def __init__(self, handle):
        self._free = library().serval_result_free
        self.handle = handle

    def __del__(self):
        self._free(self.handle)

    def outputs(self):
        """Returns a Tensor for each output."""
        calls = library()
        tensors = []
        for index in range(calls.serval_result_count(self.handle)):
            tensor = Tensor()
            check(calls.serval_result_output(self.handle, index, ctypes.byref(tensor)))
            tensors.append(tensor)
        return tensors

    def memory(self, address, size):
        """Returns memory of the result as an object with the buffer protocol."""
        buffer = (ctypes.c_ubyte * size).from_address(address)
        buffer.result = self  # kept alive
        return buffer
