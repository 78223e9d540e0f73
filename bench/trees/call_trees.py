"""A model of trees called by a library, with one thread.

call_trees.py KIND MODEL ROWS COUNT ANSWER [LIBRARY]. KIND is lightgbm, xgboost, lleaves, treelite,
shap or serval, with libserval.so as LIBRARY. ROWS is a file of float32 in rows of 30; the first
COUNT rows are one call, or each row is if COUNT is 1. The libraries' C functions are called, so
that Python's wrappers do not count. Writes the doubles of the first call's answer to ANSWER and
prints {"event": "ready"}. Then, for each line of stdin with a number of seconds, makes calls for
that time and prints {"usPerRequest", "perSecond", "p50Us", "cpuUs", "requests"}.
"""
import ctypes
import functools
import itertools
import json
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


def open_lightgbm(path, kind=PREDICT_RAW, size=1):
    """LGBM_BoosterPredictForMat; for one row the function that is prepared for that."""
    import lightgbm.basic

    library = lightgbm.basic._LIB
    booster, trees, length = ctypes.c_void_p(), ctypes.c_int(), ctypes.c_int64()
    checked(library.LGBM_BoosterCreateFromModelfile(
        str(path).encode(), ctypes.byref(trees), ctypes.byref(booster)))
    settings = b"num_threads=1"
    fast = ctypes.c_void_p()
    checked(library.LGBM_BoosterPredictForMatSingleRowFastInit(
        booster, kind, 0, -1, FLOAT32, COLUMNS, settings, ctypes.byref(fast)))

    def bind(rows):
        answer = np.zeros(len(rows) * size)
        if len(rows) == 1 and kind == PREDICT_RAW:
            given = (fast, pointer(rows), ctypes.byref(length), pointer(answer))
            function = library.LGBM_BoosterPredictForMatSingleRowFast
        else:
            given = (booster, pointer(rows), FLOAT32, ctypes.c_int32(len(rows)),
                     ctypes.c_int32(COLUMNS), 1, kind, 0, -1, settings, ctypes.byref(length),
                     pointer(answer))
            function = library.LGBM_BoosterPredictForMat
        return lambda: checked(function(*given)), lambda: answer

    return bind


def open_xgboost(path):
    """XGBoosterPredictFromDense, without a DMatrix."""
    import xgboost
    from xgboost.core import _LIB as library

    booster = xgboost.Booster(model_file=str(path))
    booster.set_param({"nthread": 1})
    settings = json.dumps({"type": 1, "training": False, "iteration_begin": 0, "iteration_end": 0,
                           "missing": float("nan"), "strict_shape": False, "cache_id": 0}).encode()
    shape, length = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_uint64()
    found = ctypes.POINTER(ctypes.c_float)()

    def bind(rows):
        about = json.dumps({"data": [rows.ctypes.data, True], "shape": list(rows.shape),
                            "typestr": "<f4", "version": 3, "strides": None}).encode()
        given = (booster.handle, about, settings, None, ctypes.byref(shape), ctypes.byref(length),
                 ctypes.byref(found))
        return (lambda: checked(library.XGBoosterPredictFromDense(*given)),
                lambda: np.ctypeslib.as_array(found, (len(rows),)))

    return bind


def open_lleaves(path):
    """The function that lleaves has compiled, called directly."""
    import lleaves

    model = lleaves.Model(model_file=str(path))
    model.compile(cache=path.with_suffix(".lleaves"), raw_score=True)
    doubles = ctypes.POINTER(ctypes.c_double)

    def bind(rows):
        given, answer = rows.astype(np.float64), np.zeros(len(rows))
        arguments = (given.ctypes.data_as(doubles), answer.ctypes.data_as(doubles),
                     ctypes.c_int(0), ctypes.c_int(len(rows)))
        return lambda: model._c_entry_func(*arguments), lambda: (given, answer)[1]

    return bind


def open_treelite(path):
    """The library that tl2cgen compiles."""
    import tl2cgen
    import treelite

    load = (treelite.frontend.load_lightgbm_model if "lightgbm" in path.name
            else treelite.frontend.load_xgboost_model)
    library = pathlib.Path(tempfile.mkdtemp()) / "trees.so"
    tl2cgen.export_lib(load(path), toolchain="gcc", libpath=str(library),
                       params={"parallel_comp": 2}, verbose=False)
    predictor = tl2cgen.Predictor(str(library), nthread=1, verbose=False)

    def bind(rows):
        kept = tl2cgen.DMatrix(rows.astype(predictor.threshold_type),
                               dtype=predictor.threshold_type)
        call = functools.partial(predictor.predict, kept, pred_margin=True)
        return call, lambda: np.asarray(call()).reshape(-1)

    return bind


def open_shap(path):
    return open_lightgbm(path, PREDICT_CONTRIB, COLUMNS + 1)


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


def open_serval(path, library):
    """serval_infer and serval_result_free of libserval.so for a folder of `serval compile`."""
    library = ctypes.CDLL(library)
    library.serval_error_message.restype = ctypes.c_char_p
    for name in ("serval_open", "serval_infer", "serval_result_output"):
        getattr(library, name).restype = ctypes.c_void_p

    def good(error):
        if error:
            raise RuntimeError(library.serval_error_message(ctypes.c_void_p(error)).decode())

    options = ServalOptions(ctypes.sizeof(ServalOptions), None, 1)
    model, result = ctypes.c_void_p(), ctypes.c_void_p()
    good(library.serval_open(str(path).encode(), ctypes.byref(options), ctypes.byref(model)))
    names = (ctypes.c_char_p * 1)(b"margin")
    none, one = ctypes.c_size_t(0), ctypes.c_size_t(1)

    def bind(rows):
        shape = (ctypes.c_int64 * 2)(*rows.shape)
        given = ServalTensor(b"x", SERVAL_FP32, 2, shape, rows.ctypes.data, rows.nbytes)
        arguments = (model, none, ctypes.byref(given), one, names, one, ctypes.byref(result))

        def call():
            good(library.serval_infer(*arguments))
            library.serval_result_free(result)

        def answer():
            good(library.serval_infer(*arguments))
            output = ServalTensor()
            good(library.serval_result_output(result, none, ctypes.byref(output)))
            kind = np.float32 if output.dtype == SERVAL_FP32 else np.float64
            values = np.frombuffer(ctypes.string_at(output.data, output.bytes), kind)
            library.serval_result_free(result)
            return values

        call.borrowed = rows  # `given` has its address only
        return call, answer

    return bind


OPENERS = {"lightgbm": open_lightgbm, "xgboost": open_xgboost, "lleaves": open_lleaves,
           "treelite": open_treelite, "shap": open_shap, "serval": open_serval}


def main():
    """Loads the model, writes the answer, then measures for each line."""
    kind, model, rows_file, count, answer_file, *library = sys.argv[1:]
    lines, sys.stdout = sys.stdout, sys.stderr  # compilers print
    rows = np.fromfile(rows_file, np.float32).reshape(-1, COLUMNS)
    bind = OPENERS[kind](pathlib.Path(model), *library)
    call, answer = bind(rows[: int(count)].copy())
    for _ in range(WARM_CALLS):
        before = time.perf_counter()
        call()
        together = SHORT_CALLS if time.perf_counter() - before < SHORT_S else 1
    answer().astype(np.float64).tofile(answer_file)
    if count == "1":
        # Each call has another row: branches that one row always takes would be predicted.
        calls = itertools.cycle([bind(row.reshape(1, -1).copy())[0] for row in rows])
        call = lambda: next(calls)()  # noqa: E731
    answer_lines(call, lines, together)


if __name__ == "__main__":
    main()
