"""Reference: a model of trees called by a library of its own, with one thread.

call_trees.py KIND MODEL ROWS COUNT ANSWER. KIND is lightgbm, xgboost, lleaves, treelite, shap or serval.
ROWS is a file of float32 in rows of 30; the first COUNT rows are one call. The libraries' C
functions are called, so that Python's wrappers do not count. Writes the doubles of the answer to
ANSWER and prints {"event": "ready"}. Then, for each line of stdin with a number of seconds, makes
calls for that time and prints {"usPerRequest", "perSecond", "p50Us", "cpuUs", "requests"}.
"""
import ctypes
import json
import os
import pathlib
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "contenders"))
from samples import answer_lines  # noqa: E402

COLUMNS = 30
WARM_CALLS = 3
SHORT_S = 1e-3
SHORT_CALLS = 20  # are timed together
FLOAT32 = 0
SERVAL_FP32 = 11
PREDICT_NORMAL, PREDICT_RAW, PREDICT_CONTRIB = 0, 1, 3


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


def checked(status):
    if status != 0:
        raise RuntimeError(f"a call failed with {status}")


def lightgbm_call(path, rows, kind=PREDICT_RAW, size=1):
    """LGBM_BoosterPredictForMat; for one row the function that is prepared for that."""
    import lightgbm.basic

    library = lightgbm.basic._LIB
    booster, trees = ctypes.c_void_p(), ctypes.c_int()
    checked(library.LGBM_BoosterCreateFromModelfile(
        str(path).encode(), ctypes.byref(trees), ctypes.byref(booster)))
    answer = np.zeros(len(rows) * size)
    length = ctypes.c_int64()
    settings = b"num_threads=1"
    if len(rows) == 1 and kind == PREDICT_RAW:
        fast = ctypes.c_void_p()
        checked(library.LGBM_BoosterPredictForMatSingleRowFastInit(
            booster, kind, 0, -1, FLOAT32, COLUMNS, settings, ctypes.byref(fast)))
        given = (fast, pointer(rows), ctypes.byref(length), pointer(answer))
        function = library.LGBM_BoosterPredictForMatSingleRowFast
    else:
        given = (booster, pointer(rows), FLOAT32, ctypes.c_int32(len(rows)),
                 ctypes.c_int32(COLUMNS), 1, kind, 0, -1, settings, ctypes.byref(length),
                 pointer(answer))
        function = library.LGBM_BoosterPredictForMat
    return lambda: checked(function(*given)), answer


def xgboost_call(path, rows):
    """XGBoosterPredictFromDense, without a DMatrix."""
    import xgboost
    from xgboost.core import _LIB as library

    booster = xgboost.Booster(model_file=str(path))
    booster.set_param({"nthread": 1})
    about = json.dumps({"data": [rows.ctypes.data, True], "shape": list(rows.shape),
                        "typestr": "<f4", "version": 3, "strides": None}).encode()
    settings = json.dumps({"type": 1, "training": False, "iteration_begin": 0, "iteration_end": 0,
                           "missing": float("nan"), "strict_shape": False, "cache_id": 0}).encode()
    shape, length = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_uint64()
    found = ctypes.POINTER(ctypes.c_float)()

    def call():
        checked(library.XGBoosterPredictFromDense(
            booster.handle, about, settings, None, ctypes.byref(shape), ctypes.byref(length),
            ctypes.byref(found)))

    call()
    answer = np.ctypeslib.as_array(found, (len(rows),)).astype(np.float64)
    return call, answer


def lleaves_call(path, rows):
    """The function that lleaves has compiled, called directly."""
    import lleaves

    model = lleaves.Model(model_file=str(path))
    model.compile(cache=path.with_suffix(".lleaves"), raw_score=True)
    given, answer = rows.astype(np.float64), np.zeros(len(rows))
    doubles = ctypes.POINTER(ctypes.c_double)
    arguments = (given.ctypes.data_as(doubles), answer.ctypes.data_as(doubles),
                 ctypes.c_int(0), ctypes.c_int(len(rows)))
    return lambda: model._c_entry_func(*arguments), answer


def treelite_call(path, rows):
    """The library that tl2cgen compiles."""
    import tl2cgen
    import treelite

    load = (treelite.frontend.load_lightgbm_model if "lightgbm" in path.name
            else treelite.frontend.load_xgboost_model)
    model = load(path)
    library = pathlib.Path(tempfile.mkdtemp()) / "trees.so"
    tl2cgen.export_lib(model, toolchain="gcc", libpath=str(library),
                       params={"parallel_comp": 2}, verbose=False)
    predictor = tl2cgen.Predictor(str(library), nthread=1, verbose=False)
    kept = tl2cgen.DMatrix(rows.astype(predictor.threshold_type), dtype=predictor.threshold_type)
    answer = np.asarray(predictor.predict(kept, pred_margin=True)).reshape(-1)
    return lambda: predictor.predict(kept, pred_margin=True), answer.astype(np.float64)


def shap_call(path, rows):
    return lightgbm_call(path, rows, PREDICT_CONTRIB, COLUMNS + 1)


class ServalOptions(ctypes.Structure):
    """serval_options of native/capi/serval.h."""

    _fields_ = [("size", ctypes.c_size_t), ("onnxruntime_library", ctypes.c_char_p),
                ("threads", ctypes.c_int32)]


class ServalTensor(ctypes.Structure):
    """serval_tensor of native/capi/serval.h."""

    _fields_ = [("name", ctypes.c_char_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p),
                ("bytes", ctypes.c_size_t), ("offsets", ctypes.c_void_p),
                ("lengths", ctypes.c_void_p), ("missing", ctypes.c_void_p)]


def serval_call(path, rows):
    """serval_infer and serval_result_free of libserval.so for a folder of `serval compile`."""
    library = ctypes.CDLL(os.environ["SERVAL_LIBRARY"])
    library.serval_error_message.restype = ctypes.c_char_p

    def good(error):
        if error:
            raise RuntimeError(library.serval_error_message(ctypes.c_void_p(error)).decode())

    for name in ("serval_open", "serval_infer", "serval_result_output"):
        getattr(library, name).restype = ctypes.c_void_p
    runtime = os.environ["SERVAL_ORT_LIBRARY"].encode()
    options = ServalOptions(ctypes.sizeof(ServalOptions), runtime, 1)
    model, result = ctypes.c_void_p(), ctypes.c_void_p()
    good(library.serval_open(str(path).encode(), ctypes.byref(options), ctypes.byref(model)))
    shape = (ctypes.c_int64 * 2)(*rows.shape)
    given = ServalTensor(b"x", SERVAL_FP32, 2, shape, rows.ctypes.data, rows.nbytes)
    names = (ctypes.c_char_p * 1)(b"margin")
    arguments = (model, ctypes.c_size_t(0), ctypes.byref(given), ctypes.c_size_t(1), names,
                 ctypes.c_size_t(1), ctypes.byref(result))

    def call():
        good(library.serval_infer(*arguments))
        library.serval_result_free(result)

    good(library.serval_infer(*arguments))
    output = ServalTensor()
    good(library.serval_result_output(result, ctypes.c_size_t(0), ctypes.byref(output)))
    text = ctypes.string_at(output.data, output.bytes)
    kind = np.float32 if output.dtype == SERVAL_FP32 else np.float64
    answer = np.frombuffer(text, kind).astype(np.float64)
    library.serval_result_free(result)
    return call, answer


CALLS = {"lightgbm": lightgbm_call, "xgboost": xgboost_call, "lleaves": lleaves_call,
         "treelite": treelite_call, "shap": shap_call, "serval": serval_call}


def main():
    """Loads the model, writes the answer, then measures for each line."""
    kind, model, rows_file, count, answer_file = sys.argv[1:]
    lines, sys.stdout = sys.stdout, sys.stderr  # compilers print
    rows = np.fromfile(rows_file, np.float32).reshape(-1, COLUMNS)[: int(count)].copy()
    call, answer = CALLS[kind](pathlib.Path(model), rows)
    for _ in range(WARM_CALLS):
        before = time.perf_counter()
        call()
        together = SHORT_CALLS if time.perf_counter() - before < SHORT_S else 1
    answer.tofile(answer_file)
    answer_lines(call, lines, together)


if __name__ == "__main__":
    main()
