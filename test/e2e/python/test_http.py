"""tritonclient's HTTP client, unmodified. Source: seeds 000 and 001; v2-protocol.md 11."""
import itertools
import json
import unittest

import numpy as np
import tritonclient.http as http
from serval_case import BINARY, DTYPES, HTTP, ServalCase, values


def make_input(name, array, datatype, binary):
    made = http.InferInput(name, list(array.shape), datatype)
    return made.set_data_from_numpy(array, binary_data=binary)


class HttpCase(ServalCase):
    def setUp(self):
        self.client = http.InferenceServerClient(HTTP, concurrency=4)
        self.addCleanup(self.client.close)

    def identity(self, datatype, array, binary_in, binary_out, model=None, **more):
        result = self.client.infer(
            model or f"identity_{datatype.lower()}",
            [make_input("input", array, datatype, binary_in)],
            outputs=[http.InferRequestedOutput("output", binary_data=binary_out)], **more)
        return result

    def plus(self, array, **more):
        return self.client.infer("half_plus_three", [make_input("x", array, "FP32", True)], **more)


class Documents(HttpCase):
    def test_health(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready("half_plus_three"))
        self.assertTrue(self.client.is_model_ready("versions", "10"))
        self.assertFalse(self.client.is_model_ready("versions", "2"))
        self.assertFalse(self.client.is_model_ready("nope"))

    def test_server_metadata(self):
        metadata = self.client.get_server_metadata()
        self.assertEqual(metadata["name"], "serval")
        self.assertRegex(metadata["version"], r"^\d+\.\d+\.\d+")
        self.assertIn("binary_tensor_data", metadata["extensions"])

    def test_model_metadata(self):
        metadata = self.client.get_model_metadata("multi_output")
        self.assertEqual(metadata, {
            "name": "multi_output", "versions": ["1"], "platform": "onnxruntime_onnx",
            "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}],
            "outputs": [{"name": "doubled", "datatype": "FP32", "shape": [-1, 4]},
                        {"name": "whole", "datatype": "INT64", "shape": [-1, 4]},
                        {"name": "positive", "datatype": "BOOL", "shape": [-1, 4]}],
        })
        # The latest of the versions on disk is served.
        versions = self.client.get_model_metadata("versions", "10")["versions"]
        self.assertEqual(versions, ["10"])
        self.assertEqual(self.client.get_model_metadata("scalar")["inputs"][0]["shape"], [])

    def test_query_params(self):
        params = {"trace": ["1", "2"], "x": "a b"}
        self.assertTrue(self.client.is_server_live(query_params=params))
        array = np.float32([1, 2])
        self.same(self.plus(array, query_params=params).as_numpy("y"), array / 2 + 3)

    def test_control_needs_explicit_mode(self):
        for call in (lambda: self.client.load_model("half_plus_three"),
                     lambda: self.client.unload_model("half_plus_three")):
            self.refused(call, "503", "explicit")
        names = [each["name"] for each in self.client.get_model_repository_index()]
        self.assertIn("half_plus_three", names)
        self.assertTrue(self.client.is_model_ready("half_plus_three"))


class Inference(HttpCase):
    def test_every_datatype_in_every_form(self):
        for datatype, binary_in, binary_out in itertools.product(
                DTYPES, (True, False), (True, False)):
            if datatype == "BF16" and not binary_in:
                continue  # the client refuses to write it as JSON
            with self.subTest(datatype=datatype, binary_in=binary_in, binary_out=binary_out):
                array = values(datatype)
                result = self.identity(datatype, array, binary_in, binary_out)
                self.same(result.as_numpy("output"), array, datatype)
                binary = "binary_data_size" in result.get_output("output").get("parameters", {})
                self.assertEqual(binary, binary_out)

    def test_any_bytes_in_binary(self):
        array = values("BYTES", BINARY)
        self.same(self.identity("BYTES", array, True, True).as_numpy("output"), array)

    def test_scalars(self):
        for number in (0.1, -0.0, np.inf, np.nan):
            for binary in (True, False):
                array = np.array(number, dtype=np.float32)
                result = self.client.infer(
                    "scalar", [make_input("x", array, "FP32", binary)],
                    outputs=[http.InferRequestedOutput("y", binary_data=binary)])
                self.assertEqual(result.get_output("y")["shape"], [])
                self.same(result.as_numpy("y"), array, str(number))

    def test_zero_dims(self):
        for datatype, shape, binary_in, binary_out in itertools.product(
                ("FP32", "INT8", "BYTES", "BOOL"), ((0, 3), (3, 0), (0, 0)), (True, False),
                (True, False)):
            with self.subTest(datatype=datatype, shape=shape, binary=(binary_in, binary_out)):
                array = np.empty(shape, dtype=DTYPES[datatype])
                result = self.identity(datatype, array, binary_in, binary_out)
                self.assertEqual(result.get_output("output")["shape"], list(shape))
                self.same(result.as_numpy("output"), array)

    def test_several_inputs_and_outputs(self):
        tag = np.array([b"a", b"\0"], dtype=np.object_)
        signal = np.arange(6, dtype=np.float32).reshape(2, 3)
        weights = np.array([0.1, 1e300, -0.0])
        arrays = {"tag": (tag, "BYTES"), "signal": (signal, "FP32"), "weights": (weights, "FP64")}
        for order in itertools.permutations(arrays):
            for forms in itertools.product((True, False), repeat=3):
                inputs = [make_input(name, *arrays[name], binary)
                          for name, binary in zip(order, forms)]
                outputs = [http.InferRequestedOutput(f"{name}_out", binary_data=binary)
                           for name, binary in zip(reversed(order), forms)]
                result = self.client.infer("mixed_inputs", inputs, outputs=outputs)
                for name, (array, _) in arrays.items():
                    self.same(result.as_numpy(f"{name}_out"), array, f"{name} {order} {forms}")

    def test_requested_outputs_only(self):
        array = np.float32([[1.5, -1.5, 0, 2.5]])
        inputs = [make_input("x", array, "FP32", True)]
        expected = {"doubled": array * 2, "whole": array.astype(np.int64), "positive": array > 0}
        everything = self.client.infer("multi_output", inputs)
        for name, values_of in expected.items():
            self.same(everything.as_numpy(name), values_of, name)
            outputs = [http.InferRequestedOutput(name)]
            result = self.client.infer("multi_output", inputs, outputs=outputs)
            self.same(result.as_numpy(name), values_of, name)
            self.assertEqual([o["name"] for o in result.get_response()["outputs"]], [name])

    def test_ids_and_parameters(self):
        array = np.float32([1])
        for request_id in ("", "1", 'quo"te \\ umläut 漢', "i" * 1000):
            result = self.plus(array, request_id=request_id)
            self.assertEqual(result.get_response().get("id", ""), request_id)
        parameters = {"text": "x", "number": 7, "real": 0.5, "flag": True}
        result = self.plus(array, parameters=parameters, priority=1, timeout=5_000_000)
        self.same(result.as_numpy("y"), np.float32([3.5]))

    def test_versions(self):
        array = np.float32([1])
        for version in ("10", "010", ""):
            result = self.client.infer("versions", [make_input("x", array, "FP32", True)],
                                       model_version=version)
            self.same(result.as_numpy("y"), np.float32([11]))
            self.assertEqual(result.get_response()["model_version"], "10")

    def test_model_without_inputs(self):
        self.same(self.client.infer("constant", []).as_numpy("y"), np.float32([1, 2, 3]))

    def test_any_rank(self):
        for shape in ((), (1,), (2, 3), (2, 1, 3, 1), (1,) * 8, (2, 0, 3)):
            array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
            for binary in (True, False):
                result = self.client.infer("unknown_rank",
                                           [make_input("x", array, "FP32", binary)])
                self.same(result.as_numpy("y"), array, str(shape))

    def test_large_tensors(self):
        image = np.random.default_rng(1).random((1, 224, 224, 3), dtype=np.float32)
        for binary in (True, False):
            result = self.client.infer(
                "image_identity", [make_input("input", image, "FP32", binary)],
                outputs=[http.InferRequestedOutput("output", binary_data=binary)])
            self.same(result.as_numpy("output"), image)
        large = np.random.default_rng(2).random((1, 5_000_000), dtype=np.float32)
        self.same(self.identity("FP32", large, True, True).as_numpy("output"), large)

    def test_length_zero_raw_form(self):
        array = np.float32([1, 2, 5])
        reply = self.client._post("v2/models/half_plus_three/infer", array.tobytes(),
                                  {"Inference-Header-Content-Length": "0"}, None)
        self.assertEqual(reply.status_code, 200)
        length = int(reply.get("Inference-Header-Content-Length"))
        body = reply.read()
        self.assertEqual(json.loads(body[:length])["outputs"][0]["shape"], [3])
        self.assertEqual(body[length:], (array / 2 + 3).tobytes())


class Compression(HttpCase):
    def test_every_combination(self):
        array = np.tile(np.arange(500, dtype=np.float32), (2, 1))
        codings = (None, "gzip", "deflate")
        for request, response, binary_in, binary_out in itertools.product(
                codings, codings, (True, False), (True, False)):
            with self.subTest(request=request, response=response, binary=(binary_in, binary_out)):
                result = self.identity("FP32", array, binary_in, binary_out,
                                       request_compression_algorithm=request,
                                       response_compression_algorithm=response)
                self.same(result.as_numpy("output"), array)

    def test_the_answer_is_really_packed(self):
        body, _ = http.InferenceServerClient.generate_request_body(
            [make_input("input", np.zeros((1, 10000), np.float32), "FP32", False)])
        for coding in ("gzip", "deflate"):
            reply = self.client._post("v2/models/identity_fp32/infer", body,
                                      {"Accept-Encoding": coding}, None)
            self.assertEqual(reply.get("Content-Encoding"), coding)
            self.assertLess(int(reply.get("Content-Length")), 2000)


class Async(HttpCase):
    def test_many_at_once(self):
        arrays = [np.full((3,), i, dtype=np.float32) for i in range(50)]
        waiting = [self.client.async_infer(
            "half_plus_three", [make_input("x", array, "FP32", i % 2 == 0)], request_id=str(i))
            for i, array in enumerate(arrays)]
        for i, (request, array) in enumerate(zip(waiting, arrays)):
            result = request.get_result(timeout=60)
            self.assertEqual(result.get_response()["id"], str(i))
            self.same(result.as_numpy("y"), array / 2 + 3)

    def test_an_error_reaches_the_one_who_asked(self):
        good = self.client.async_infer(
            "half_plus_three", [make_input("x", np.float32([1]), "FP32", True)])
        bad = self.client.async_infer(
            "nope", [make_input("x", np.float32([1]), "FP32", True)])
        self.refused(lambda: bad.get_result(timeout=60), "404", "unknown model")
        self.same(good.get_result(timeout=60).as_numpy("y"), np.float32([3.5]))


class Errors(HttpCase):
    def infer(self, model, *inputs, **more):
        return lambda: self.client.infer(model, list(inputs), **more)

    def test_models_and_versions(self):
        x = make_input("x", np.float32([1]), "FP32", True)
        self.refused(self.infer("nope", x), "404", "'nope'")
        self.refused(self.infer("versions", x, model_version="3"), "404", "version 3")
        self.refused(self.infer("versions", x, model_version="abc"), "404", "'abc'")
        self.refused(lambda: self.client.get_model_metadata("nope"), "404", "'nope'")

    def test_inputs_and_outputs(self):
        x = make_input("x", np.float32([1]), "FP32", True)
        z = make_input("z", np.float32([1]), "FP32", True)
        model = "half_plus_three"
        self.refused(self.infer(model), "400", "'x' is missing")
        self.refused(self.infer(model, z), "400", "'z'")
        self.refused(self.infer(model, x, z), "400", "'z'")
        self.refused(self.infer(model, x, x), "400", "twice")
        wrong = make_input("x", np.float64([1]), "FP64", True)
        self.refused(self.infer(model, wrong), "400", "expected datatype FP32, got FP64")
        wrong = make_input("x", np.float32([[1]]), "FP32", True)
        self.refused(self.infer(model, wrong), "400", "'x'")
        outputs = [http.InferRequestedOutput("q")]
        self.refused(self.infer(model, x, outputs=outputs), "400", "'q'")
        outputs = [http.InferRequestedOutput("y"), http.InferRequestedOutput("y")]
        twice = self.infer(model, x, outputs=outputs)().get_response()
        self.assertEqual([one["name"] for one in twice["outputs"]], ["y"])

    def test_numbers_out_of_range(self):
        wide = make_input("input", np.int64([[1, 300]]), "INT64", False)
        wide._datatype = "UINT8"  # what a client in another language may send
        exception = self.refused(self.infer("identity_uint8", wide), "400", "300")
        self.assertIn("UINT8", exception.message())

    def test_sizes(self):
        short = make_input("x", np.float32([1, 2]), "FP32", True)
        short.set_shape([3])
        self.refused(self.infer("half_plus_three", short), "400", "8")
        short = make_input("x", np.float32([1, 2]), "FP32", False)
        short.set_shape([3])
        self.refused(self.infer("half_plus_three", short), "400", "3")

    def test_shared_memory_that_is_not_allowed(self):
        shared = http.InferInput("x", [1], "FP32")
        shared.set_shared_memory("region", 4)
        self.refused(self.infer("half_plus_three", shared), "400",
                     "Unable to find shared memory region: 'region'")
        self.refused(lambda: self.client.register_system_shared_memory("region", "/key", 4), "501",
                     "start the server with --allow-client-shm=true")
        self.client.unregister_system_shared_memory()
        self.assertEqual(self.client.get_system_shared_memory_status(), [])

    def test_a_model_that_fails(self):
        bad = make_input("index", np.int64([7]), "INT64", True)
        self.refused(self.infer("fails_at_run", bad), "400", "idx=7")


if __name__ == "__main__":
    unittest.main()
