"""What the suites share: where the server is, a set of telling values per datatype, and exact
comparison of arrays. Test time only."""
import os
import unittest

import ml_dtypes
import numpy as np
from tritonclient.utils import InferenceServerException

HTTP = os.environ.get("SERVAL_HTTP", "")
GRPC = os.environ.get("SERVAL_GRPC", "")

DTYPES = {
    "BOOL": np.bool_, "UINT8": np.uint8, "UINT16": np.uint16, "UINT32": np.uint32,
    "UINT64": np.uint64, "INT8": np.int8, "INT16": np.int16, "INT32": np.int32,
    "INT64": np.int64, "FP16": np.float16, "FP32": np.float32, "FP64": np.float64,
    "BYTES": np.object_, "BF16": ml_dtypes.bfloat16,
}
FLOATS = ("FP16", "FP32", "FP64", "BF16")

# Text that is difficult for JSON, C strings and UTF-8 decoders.
TEXTS = [b"", b"plain", "größer 漢字 \U0001f600".encode(), b'quote " slash \\ / ',
         b"nul\0inside", b"\0", b"line\nbreak\ttab\x1f\x7f", b"x" * 5000]
BINARY = [*TEXTS, bytes(range(256)), b"\xff\xfe", b"\xc3("]


def values(datatype, texts=TEXTS):
    """An array [2, n] with the datatype's extremes and what is easily lost."""
    dtype = DTYPES[datatype]
    if datatype == "BOOL":
        flat = [True, False, False, True]
    elif datatype == "BYTES":
        flat = texts if len(texts) % 2 == 0 else [*texts, b"last"]
        return np.array(flat, dtype=np.object_).reshape(2, -1)
    elif datatype in FLOATS:
        info = ml_dtypes.finfo(dtype)
        flat = [0.0, -0.0, 1.0, 0.1, -1.5, 1 / 3, info.max, info.min, info.tiny,
                info.smallest_subnormal, np.inf, -np.inf, np.nan, 65504.0]
    else:
        info = np.iinfo(dtype)
        flat = [info.min, info.max, 0, 1, info.max - 1, info.max // 3]
    return np.array(flat, dtype=dtype).reshape(2, -1)


class ServalCase(unittest.TestCase):
    """Exact comparison: datatype, shape and every bit (NaN payloads aside)."""

    def same(self, got, expected, where=""):
        self.assertIsNotNone(got, where)
        self.assertEqual(got.shape, expected.shape, where)
        if expected.dtype == np.object_:
            as_bytes = [e if isinstance(e, bytes) else e.encode() for e in got.flatten()]
            self.assertEqual(as_bytes, list(expected.flatten()), where)
            return
        self.assertEqual(got.dtype, expected.dtype, where)
        nan = expected != expected
        self.assertTrue(np.array_equal(got != got, nan), where)
        clean = [np.where(nan, np.zeros_like(a), a).tobytes() for a in (got, expected)]
        self.assertEqual(clean[0], clean[1], f"{where}: {got} instead of {expected}")

    def refused(self, call, status, text):
        """`call` must raise with this status, and with `text` in its message."""
        with self.assertRaises(InferenceServerException) as caught:
            call()
        self.assertEqual(caught.exception.status(), status, str(caught.exception))
        self.assertIn(text, caught.exception.message())
        return caught.exception
