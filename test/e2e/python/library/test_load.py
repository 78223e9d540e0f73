"""serval.load(): models in this process give what a server answers for the same inputs, without
copies of the tensors. Needs SERVAL_EXAMPLES and a folder for SERVAL_LOAD_CACHE; SERVAL_SAVED_MODEL
may be empty. Test time only."""
import array as arrays_of
import gc
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import numpy as np
import serval
from serval import arrays, compiled, engine

HTTP = os.environ.get("SERVAL_HTTP", "")
EXAMPLES = os.environ["SERVAL_EXAMPLES"]
CACHE = os.environ["SERVAL_LOAD_CACHE"]
SAVED_MODEL = os.environ.get("SERVAL_SAVED_MODEL", "")


def example(name, **settings):
    return serval.load(os.path.join(EXAMPLES, name), cache=CACHE, **settings)


def onnx(name, version="1"):
    return serval.load(os.path.join(EXAMPLES, name, version, "model.onnx"))


def answer(model, inputs):
    """Asks the server over REST, with JSON; `inputs`: name -> (datatype, shape, flat list)."""
    body = {
        "inputs": [
            {"name": name, "datatype": datatype, "shape": shape, "data": data}
            for name, (datatype, shape, data) in inputs.items()
        ]
    }
    request = urllib.request.Request(
        f"http://{HTTP}/v2/models/{model}/infer", json.dumps(body).encode()
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        return {one["name"]: one for one in json.load(response)["outputs"]}


def rows_of(array):
    if isinstance(array, np.ma.MaskedArray):
        return [None if one is np.ma.masked else one for one in array]
    return array.ravel().tolist()


class Answers(unittest.TestCase):
    def same(self, got, wanted):
        self.assertEqual(set(got), set(wanted))
        for name, array in got.items():
            with self.subTest(name):
                self.assertEqual(list(array.shape), wanted[name]["shape"])
                data = wanted[name]["data"]
                if array.dtype == np.float32:
                    data = np.array(data, np.float32).tolist()
                self.assertEqual(rows_of(array), data)

    def test_onnx_numbers(self):
        a = np.arange(32, dtype=np.int32).reshape(2, 16)
        b = (a * 3 - 7).astype(np.int32)
        inputs = {name: ("INT32", [2, 16], x.ravel().tolist()) for name, x in
                  [("INPUT0", a), ("INPUT1", b)]}
        with onnx("add_sub") as model:
            got = model.infer({"INPUT0": a, "INPUT1": b})
            self.assertEqual(got["OUTPUT0"].dtype, np.int32)
            self.same(got, answer("add_sub", inputs))
            # Lists, and a repository's folder, which is compiled.
            with example("add_sub") as other:
                self.same(other.infer({"INPUT0": a.tolist(), "INPUT1": b.tolist()}),
                          answer("add_sub", inputs))

    def test_onnx_texts(self):
        texts = ["größer", "", "漢字 \U0001f600"]
        with onnx("text_identity") as model:
            wanted = answer("text_identity", {"text": ("BYTES", [3], texts)})
            for given in (texts, np.array(texts), np.array(texts, dtype=object),
                          [text.encode() for text in texts]):
                self.same(model.infer({"text": given}), wanted)

    @unittest.skipIf(not SAVED_MODEL, "no SavedModel on this machine")
    def test_saved_model(self):
        with serval.load(SAVED_MODEL, cache=CACHE) as model:
            x = np.array([[1], [2], [5]], np.float32)
            got = model.infer({"x": x})
            name = os.path.basename(SAVED_MODEL)
            self.same(got, answer(name, {"x": ("FP32", [3, 1], [1, 2, 5])}))
            self.assertEqual(got["y"].tolist(), [[2.5], [3], [4.5]])
            self.assertIn("serving_default", model.signatures)
            for signature in model.signatures:
                self.assertTrue(model.outputs_of(signature))

    def test_pmml(self):
        flowers = {
            "sepal_length": [5.1, 7.0, None],
            "sepal_width": [3.5, 3.2, 3.3],
            "petal_length": [1.4, 4.7, None],
            "petal_width": [0.2, 1.4, None],
        }
        wanted = answer("iris_tree",
                        {name: ("FP64", [3], data) for name, data in flowers.items()})
        rows = [{name: data[row] for name, data in flowers.items()} for row in range(3)]
        masked = {
            name: np.ma.array([one or 0 for one in data], mask=[one is None for one in data])
            for name, data in flowers.items()
        }
        with example("iris_tree") as model:
            self.assertTrue(model.is_table)
            for given in (flowers, rows, masked):
                self.same(model.infer(given), wanted)
            got = model.infer(flowers)
            self.assertIsNone(got["species"][2])
            self.assertTrue(got["probability_setosa"].mask[2])
            one = model.infer({name: data[0] for name, data in flowers.items()})
            self.assertEqual(one["species"].tolist(), ["setosa"])

    def test_mleap(self):
        given = {"town": ["Springfield", "elsewhere"], "rooms": [2.0, 3.0],
                 "square_metres": [50.0, 90.5]}
        with example("house_price") as model:
            datatypes = {"town": "BYTES", "rooms": "FP64", "square_metres": "FP64"}
            inputs = {name: (datatypes[name], [2], data) for name, data in given.items()}
            self.same(model.infer(given), answer("house_price", inputs))
            vectors = model.infer(given, outputs=["features", "price"])
            self.assertEqual(list(vectors), ["features", "price"])
            self.assertEqual(vectors["features"].shape, (2, 3))
            # Whole numbers are exact as doubles; texts are not numbers.
            self.same(model.infer({**given, "rooms": [2, 3]}), answer("house_price", inputs))
            with self.assertRaisesRegex(serval.ServalError, "rooms"):
                model.infer({**given, "rooms": ["two", "three"]})

    def test_spark(self):
        given = {"amount": [1000.0, 50000.0], "income": [3000.0, 2000.0],
                 "purpose": ["car", "holiday"]}
        inputs = {name: ("BYTES" if name == "purpose" else "FP64", [2], data)
                  for name, data in given.items()}
        with example("loan_risk") as model:
            self.same(model.infer(given), answer("loan_risk", inputs))


class Memory(unittest.TestCase):
    def test_matrix_of_all_columns(self):
        tree = (
            "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
            "max_feature_idx=1\nobjective=regression\nfeature_names=a b\n"
            "feature_infos=[0:9] [0:9]\n\nTree=0\nnum_leaves=2\nnum_cat=0\nsplit_feature=1\n"
            "split_gain=1\nthreshold=5\ndecision_type=2\nleft_child=-1\nright_child=-2\n"
            "leaf_value=0.25 4\nleaf_weight=1 1\nleaf_count=1 1\ninternal_value=0\n"
            "internal_weight=2\ninternal_count=2\nis_linear=0\nshrinkage=1\n\nend of trees\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(tree)
            with serval.load(path, cache=CACHE) as model:
                matrix = np.array([[9, 5], [0, 5.5], [0, np.nan]], np.float32)
                wanted = [0.25, 4, 0.25]  # NaN is 0 here
                for given in (matrix, matrix.astype("float64"), matrix.tolist()):
                    with self.subTest(type(given)):
                        self.assertEqual(rows_of(model.infer({"x": given})["predict"]), wanted)
                columns = {"a": matrix[:, 0], "b": matrix[:, 1]}
                self.assertEqual(rows_of(model.infer(columns)["predict"]), wanted)
                with self.assertRaisesRegex(serval.ServalError, "all 2 fields in shape .3,2."):
                    model.infer({"x": matrix[:, :1]})

    def test_input_is_passed_as_it_is_and_output_is_the_results_memory(self):
        a = np.arange(16, dtype=np.int32).reshape(1, 16)
        filled, read = [], []
        fill, value_of = arrays.fill, arrays.value_of

        def note_fill(tensor, *rest):
            kept = fill(tensor, *rest)
            filled.append(tensor.data)
            return kept

        def note_value(result, tensor):
            read.append(tensor.data)
            return value_of(result, tensor)

        with onnx("add_sub") as model:
            with mock.patch.object(arrays, "fill", note_fill):
                with mock.patch.object(arrays, "value_of", note_value):
                    got = model.infer({"INPUT0": a, "INPUT1": a})
        self.assertEqual(filled, [a.ctypes.data] * 2)
        self.assertEqual([one.ctypes.data for one in got.values()], read)

    def test_arrays_outlive_the_model_and_the_other_outputs(self):
        a = np.full((1000, 16), 21, np.int32)
        model = onnx("add_sub")
        kept = model.infer({"INPUT0": a, "INPUT1": a})["OUTPUT0"][5:7]
        model.close()
        del model
        gc.collect()
        with onnx("add_sub") as other:
            other.infer({"INPUT0": a * 0, "INPUT1": a * 0})
        self.assertEqual(kept.tolist(), [[42] * 16] * 2)

    def test_inputs_may_change_afterwards(self):
        texts = np.array(["a", "b"], dtype=object)
        with onnx("text_identity") as model:
            got = model.infer({"text": texts})["text_out"]
            texts[:] = "z"
            self.assertEqual(got.tolist(), ["a", "b"])

    def test_other_layouts_are_copied(self):
        a = np.arange(32, dtype=np.int32).reshape(16, 2)
        with onnx("add_sub") as model:
            got = model.infer({"INPUT0": a.T, "INPUT1": np.asfortranarray(a.T)})
            self.assertEqual(got["OUTPUT0"].tolist(), (a.T * 2).tolist())

    def test_threads(self):
        with onnx("add_sub") as model:
            def ask(number):
                a = np.full((4, 16), number, np.int32)
                got = model.infer({"INPUT0": a, "INPUT1": a})
                return bool((got["OUTPUT0"] == 2 * number).all())

            with ThreadPoolExecutor(8) as pool:
                self.assertTrue(all(pool.map(ask, range(400))))

    def test_close_waits_for_nobody_and_refuses_later_calls(self):
        model = onnx("add_sub")
        a = np.zeros((1, 16), np.int32)
        errors = []

        def ask():
            try:
                while True:
                    model.infer({"INPUT0": a, "INPUT1": a})
            except serval.ServalError as error:
                errors.append(error.code)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        model.close()
        for thread in threads:
            thread.join()
        model.close()
        self.assertEqual(errors, ["ShuttingDown"] * 4)


class Errors(unittest.TestCase):
    def fails(self, code, text, call, *args, **options):
        with self.assertRaises(serval.ServalError) as caught:
            call(*args, **options)
        self.assertIn(text, str(caught.exception))
        self.assertEqual(caught.exception.code, code)

    def test_inputs(self):
        a = np.zeros((1, 16), np.int32)
        with onnx("add_sub") as model:
            ask = model.infer
            bad = "InvalidArgument"
            self.fails(bad, "input 'INPUT1' is missing", ask, {"INPUT0": a})
            self.fails(bad, "input 'z': the model has none", ask, {"INPUT0": a, "z": a})
            for wrong, text in [
                (a.astype("int64"), "input 'INPUT1': expected int32, got int64"),
                (a.astype("float32"), "input 'INPUT1': expected int32, got float32"),
                ([[0.5] * 16], "input 'INPUT1': expected values of int32, got float64"),
                ([[2**31] * 16], "element 0: expected a value of int32, got 2147483648"),
                ([["x"] * 16], "expected values of int32, got <U1"),
                (None, "expected values of int32"),
                (np.zeros((1, 15), np.int32), "expected [-1,16], got [1,15]"),
                (a.astype(">i4"), "expected int32"),
                (np.zeros((1, 16), complex), "got complex128"),
            ]:
                self.fails(bad, text, ask, {"INPUT0": a, "INPUT1": wrong})
            good = {"INPUT0": a, "INPUT1": a}
            self.fails(bad, "output 'q'", ask, good, outputs=["q"])
            self.fails(bad, "outputs: expected", ask, good, outputs=[])
            self.fails("SignatureNotFound", "got 'q'", ask, good, signature="q")
            self.fails(bad, "got list", ask, [1, 2])
            self.fails(bad, "expected names of inputs", ask, {1: a})
        with onnx("text_identity") as model:
            self.fails(bad, "expected texts, got int64", model.infer, {"text": [1]})
            self.fails(bad, "element 1: expected str or bytes", model.infer,
                       {"text": np.array(["a", 2], dtype=object)})

    def test_rows(self):
        with example("iris_tree") as model:
            bad = "InvalidArgument"
            self.fails(bad, "row 1: expected a dict", model.infer, [{"sepal_length": 1.0}, 2])
            self.fails(bad, "has no field", model.infer, {"nosuch": [1.0]})
            self.fails(bad, "same number of rows", model.infer,
                       {"sepal_length": [1.0], "sepal_width": [1.0, 2.0]})

    def test_models(self):
        self.fails("ModelInvalid", "no such file", serval.load, "/nowhere/model.onnx")
        with tempfile.TemporaryDirectory() as folder:
            broken = os.path.join(folder, "model.onnx")
            with open(broken, "w") as file:
                file.write("no model")
            self.fails("ModelInvalid", broken, serval.load, broken)
            pmml = os.path.join(folder, "model.pmml")
            with open(pmml, "w") as file:
                file.write("<PMML></PMML>")
            self.fails("ModelInvalid", pmml, serval.load, pmml, cache=CACHE)
            os.chmod(folder, 0o777)
            self.fails("InvalidArgument", "no other can write to", serval.load,
                       os.path.join(EXAMPLES, "iris_tree"), cache=folder)
        self.fails("InvalidArgument", "nosuch", example, "iris_tree", nosuch="1")
        self.fails("InvalidArgument", "threads", serval.load,
                   os.path.join(EXAMPLES, "add_sub", "1", "model.onnx"), threads=-1)


class Cpu(unittest.TestCase):
    def test_features_that_the_library_needs(self):
        flags = "processor\t: 0\nflags\t\t: fpu {}\nbugs\t\t: avx2\n"
        self.assertIsNone(engine.missing_feature(flags.format("fma avx2 bmi2 avx512f")))
        self.assertEqual(engine.missing_feature(flags.format("fma bmi2")), "avx2")
        self.assertEqual(engine.missing_feature(flags.format("avx2 bmi2")), "fma")
        self.assertIsNone(engine.missing_feature("processor\t: 0\nFeatures\t: fp asimd\n"))


class Compiled(unittest.TestCase):
    def test_compiles_once_and_again_when_the_model_changes(self):
        with tempfile.TemporaryDirectory() as folder:
            cache = os.path.join(folder, "cache")
            model = os.path.join(folder, "iris")
            shutil.copytree(os.path.join(EXAMPLES, "iris_tree"), model)
            serval.load(model, cache=cache).close()
            with mock.patch.object(compiled.subprocess, "run", side_effect=AssertionError):
                serval.load(model, cache=cache).close()
                (name,) = os.listdir(cache)
                serval.load(os.path.join(cache, name)).close()
            with open(os.path.join(model, "1", "model.pmml"), "a") as file:
                file.write("\n")
            serval.load(model, cache=cache).close()
            self.assertEqual(len(os.listdir(cache)), 2)


WITHOUT_NUMPY = """
import array, sys
sys.modules["numpy"] = None
import serval
with serval.load(sys.argv[1]) as model:
    a = array.array("i", range(16))
    view = memoryview(a).cast("B").cast("i", [1, 16])
    got = model.infer({"INPUT0": [a.tolist()], "INPUT1": view})
    assert got["OUTPUT0"].tolist() == [[2 * one for one in range(16)]], got["OUTPUT0"].tolist()
    for wrong in ([[0.5] * 16], [[1], [2, 3]], array.array("d", [1.0])):
        try:
            model.infer({"INPUT0": wrong, "INPUT1": wrong})
        except serval.ServalError as error:
            assert error.code == "InvalidArgument", error.code
        else:
            raise AssertionError(wrong)
with serval.load(sys.argv[2], cache=sys.argv[3]) as model:
    got = model.infer([{"petal_length": 1.4, "petal_width": 0.2}, {"petal_length": None}])
    assert got["species"][0] == "setosa", got
with serval.load(sys.argv[4]) as model:
    assert model.infer({"text": ["a", ""]})["text_out"] == ["a", ""]
print("passed")
"""


class Page(unittest.TestCase):
    def test_examples_of_the_page_print_what_it_says(self):
        with open(os.environ["SERVAL_PAGE"]) as file:
            page = file.read()
        code = "\n".join(re.findall(r"```python\n(.*?)```", page, re.S))
        wanted = re.findall(r"print\(.*\)  # (.*)", code)
        self.assertEqual(len(wanted), 3)
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(EXAMPLES, os.path.join(folder, "models"))
            command = [sys.executable, "-c", code]
            env = {**os.environ, "XDG_CACHE_HOME": CACHE}
            done = subprocess.run(command, cwd=folder, env=env, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        self.assertEqual(done.stdout.decode().splitlines(), wanted)


class WithoutNumpy(unittest.TestCase):
    def test_lists_and_buffers(self):
        models = [os.path.join(EXAMPLES, path) for path in
                  ("add_sub/1/model.onnx", "iris_tree", "text_identity/1/model.onnx")]
        command = [sys.executable, "-c", WITHOUT_NUMPY, models[0], models[1], CACHE, models[2]]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(done.stdout.decode().strip(), "passed")
