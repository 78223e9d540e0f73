"""tritonclient's gRPC client, unmodified. Source: seeds 000 and 002; v2-protocol.md 1.4, 11."""
import itertools
import queue
import time
import unittest

import numpy as np
import tritonclient.grpc as triton
from serval_case import BINARY, DTYPES, GRPC, ServalCase, values

WAIT_SECONDS = 60


def make_input(name, array, datatype):
    return triton.InferInput(name, list(array.shape), datatype).set_data_from_numpy(array)


class GrpcCase(ServalCase):
    def setUp(self):
        self.client = triton.InferenceServerClient(GRPC)
        self.addCleanup(self.client.close)

    def plus(self, array, **more):
        return self.client.infer("half_plus_three", [make_input("x", array, "FP32")], **more)


class Documents(GrpcCase):
    def test_health(self):
        self.assertTrue(self.client.is_server_live())
        self.assertTrue(self.client.is_server_ready())
        self.assertTrue(self.client.is_model_ready("half_plus_three"))
        self.assertTrue(self.client.is_model_ready("versions", "10"))

    def test_server_metadata(self):
        metadata = self.client.get_server_metadata()
        self.assertEqual(metadata.name, "serval")
        self.assertIn("parameters", metadata.extensions)

    def test_model_metadata(self):
        metadata = self.client.get_model_metadata("multi_output", as_json=True)
        self.assertEqual(metadata["inputs"],
                         [{"name": "x", "datatype": "FP32", "shape": ["-1", "4"]}])
        self.assertEqual([(o["name"], o["datatype"]) for o in metadata["outputs"]],
                         [("doubled", "FP32"), ("whole", "INT64"), ("positive", "BOOL")])
        versions = self.client.get_model_metadata("versions")
        self.assertEqual(list(versions.versions), ["10"])
        self.assertEqual(versions.platform, "onnxruntime_onnx")

    def test_what_is_not_there(self):
        not_found = "StatusCode.NOT_FOUND"
        self.assertFalse(self.client.is_model_ready("nope"))
        self.refused(lambda: self.client.get_model_metadata("nope"), not_found, "'nope'")
        self.refused(lambda: self.client.get_model_metadata("versions", "7"), not_found, "7")

    def test_control_needs_explicit_mode(self):
        for call in (lambda: self.client.load_model("half_plus_three"),
                     lambda: self.client.unload_model("half_plus_three")):
            self.refused(call, "StatusCode.UNAVAILABLE", "explicit")
        names = [each.name for each in self.client.get_model_repository_index().models]
        self.assertIn("half_plus_three", names)


class Inference(GrpcCase):
    def test_every_datatype(self):
        for datatype in DTYPES:
            with self.subTest(datatype=datatype):
                array = values(datatype, BINARY)
                result = self.client.infer(f"identity_{datatype.lower()}",
                                           [make_input("input", array, datatype)])
                self.same(result.as_numpy("output"), array)
                self.assertEqual(result.get_output("output").datatype, datatype)

    def test_scalars_and_zero_dims(self):
        for number in (0.1, -0.0, np.inf, np.nan):
            array = np.array(number, dtype=np.float32)
            result = self.client.infer("scalar", [make_input("x", array, "FP32")])
            self.same(result.as_numpy("y"), array, str(number))
        for datatype, shape in itertools.product(("FP32", "BYTES", "BOOL"), ((0, 3), (3, 0))):
            array = np.empty(shape, dtype=DTYPES[datatype])
            result = self.client.infer(f"identity_{datatype.lower()}",
                                       [make_input("input", array, datatype)])
            self.assertEqual(list(result.get_output("output").shape), list(shape))

    def test_several_inputs_and_outputs(self):
        arrays = {"tag": (np.array([b"a", b"\0"], dtype=np.object_), "BYTES"),
                  "signal": (np.arange(6, dtype=np.float32).reshape(2, 3), "FP32"),
                  "weights": (np.array([0.1, 1e300, -0.0]), "FP64")}
        for order in itertools.permutations(arrays):
            inputs = [make_input(name, *arrays[name]) for name in order]
            wanted = [triton.InferRequestedOutput(f"{name}_out") for name in order[:2]]
            for outputs in (None, wanted):
                result = self.client.infer("mixed_inputs", inputs, outputs=outputs)
                for name in order if outputs is None else order[:2]:
                    self.same(result.as_numpy(f"{name}_out"), arrays[name][0], name)
                if outputs is not None:
                    self.assertIsNone(result.as_numpy(f"{order[2]}_out"))

    def test_ids_parameters_versions(self):
        array = np.float32([1])
        result = self.plus(array, request_id="größer", priority=1, timeout=5_000_000,
                           parameters={"text": "x", "number": 7, "flag": True, "real": 0.5})
        self.assertEqual(result.get_response().id, "größer")
        self.same(result.as_numpy("y"), np.float32([3.5]))
        for version in ("10", "010", ""):
            result = self.client.infer("versions", [make_input("x", array, "FP32")],
                                       model_version=version)
            self.same(result.as_numpy("y"), np.float32([11]))
            self.assertEqual(result.get_response().model_version, "10")

    def test_large_tensors(self):
        random = np.random.default_rng(1)
        image = random.random((1, 224, 224, 3), dtype=np.float32)
        result = self.client.infer("image_identity", [make_input("input", image, "FP32")])
        self.same(result.as_numpy("output"), image)
        large = random.random((1, 5_000_000), dtype=np.float32)
        result = self.client.infer("identity_fp32", [make_input("input", large, "FP32")])
        self.same(result.as_numpy("output"), large)

    def test_compression(self):
        array = np.zeros(100_000, dtype=np.float32)
        for algorithm in (None, "gzip", "deflate"):
            result = self.plus(array, compression_algorithm=algorithm)
            self.same(result.as_numpy("y"), array + np.float32(3))

    def test_keepalive_options(self):
        options = triton.KeepAliveOptions(
            keepalive_time_ms=1000, keepalive_timeout_ms=20_000,
            keepalive_permit_without_calls=True, http2_max_pings_without_data=0)
        with triton.InferenceServerClient(GRPC, keepalive_options=options) as client:
            array = np.float32([1])
            begun = time.monotonic()
            while time.monotonic() < begun + 2.2:  # two pings and more
                result = client.infer("half_plus_three", [make_input("x", array, "FP32")])
                self.same(result.as_numpy("y"), np.float32([3.5]))
                time.sleep(0.05)


class Async(GrpcCase):
    def test_callbacks(self):
        done = queue.Queue()
        for number in range(50):
            array = np.full((2,), number, dtype=np.float32)
            self.client.async_infer(
                "half_plus_three", [make_input("x", array, "FP32")],
                lambda result, error: done.put((result, error)), request_id=str(number))
        seen = set()
        for _ in range(50):
            result, error = done.get(timeout=WAIT_SECONDS)
            self.assertIsNone(error)
            number = int(result.get_response().id)
            self.same(result.as_numpy("y"), np.full((2,), number / 2 + 3, dtype=np.float32))
            seen.add(number)
        self.assertEqual(len(seen), 50)

    def test_an_error_reaches_the_callback(self):
        done = queue.Queue()
        self.client.async_infer("nope", [make_input("x", np.float32([1]), "FP32")],
                                lambda result, error: done.put((result, error)))
        result, error = done.get(timeout=WAIT_SECONDS)
        self.assertIsNone(result)
        self.assertEqual(error.status(), "StatusCode.NOT_FOUND")
        self.assertIn("'nope'", error.message())

    def test_cancellation(self):
        done = queue.Queue()
        slow = [make_input("input", np.float32([1]), "FP32")]
        calls = [self.client.async_infer("slow_second", slow,
                                         lambda result, error: done.put(error))
                 for _ in range(100)]
        for call in calls:
            call.cancel()
        for _ in calls:
            error = done.get(timeout=WAIT_SECONDS)
            self.assertEqual(error.status(), "StatusCode.CANCELLED")
        # If the 100 were still waiting to run, this one would follow all of them.
        begun = time.monotonic()
        result = self.client.infer("slow_second", slow, client_timeout=WAIT_SECONDS)
        self.same(result.as_numpy("output"), np.float32([1]))
        first = time.monotonic() - begun
        begun = time.monotonic()
        self.client.infer("slow_second", slow, client_timeout=WAIT_SECONDS)
        self.assertLess(first, 20 * (time.monotonic() - begun))

    def test_client_timeout_is_deadline_exceeded(self):
        slow = [make_input("input", np.float32([1]), "FP32")]
        self.refused(lambda: self.client.infer("slow_second", slow, client_timeout=0.02),
                     "StatusCode.DEADLINE_EXCEEDED", "eadline")
        self.same(self.plus(np.float32([1])).as_numpy("y"), np.float32([3.5]))


class Streaming(GrpcCase):
    def setUp(self):
        super().setUp()
        self.replies = queue.Queue()
        self.start(self.client)

    def start(self, client, **more):
        client.start_stream(lambda result, error: self.replies.put((result, error)), **more)
        self.addCleanup(client.stop_stream, cancel_requests=True)

    def send(self, number, model="half_plus_three", name="x", **more):
        array = np.full((2,), number, dtype=np.float32)
        self.client.async_stream_infer(model, [make_input(name, array, "FP32")],
                                       request_id=str(number), **more)

    def reply(self):
        return self.replies.get(timeout=WAIT_SECONDS)

    def expect(self, number):
        result, error = self.reply()
        self.assertIsNone(error)
        self.assertEqual(result.get_response().id, str(number))
        self.assertTrue(result.get_response().parameters["triton_final_response"].bool_param)
        self.same(result.as_numpy("y"), np.full((2,), number / 2 + 3, dtype=np.float32))

    def test_many_in_order(self):
        for number in range(500):
            self.send(number)
        for number in range(500):
            self.expect(number)

    def test_slow_and_quick_models_keep_the_order(self):
        for number in range(20):
            if number % 5 == 0:
                self.send(number, "slow", "input")
            else:
                self.send(number)
        for number in range(20):
            if number % 5 != 0:
                self.expect(number)
                continue
            result, error = self.reply()
            self.assertIsNone(error)
            self.assertEqual(result.get_response().id, str(number))

    def test_an_error_in_the_middle_and_the_stream_goes_on(self):
        for number in range(30):
            if number % 3 == 1:
                self.send(number, model="nope")
            elif number % 3 == 2:
                self.send(number, name="z")
            else:
                self.send(number)
        for number in range(30):
            if number % 3 == 0:
                self.expect(number)
                continue
            result, error = self.reply()
            self.assertIsNone(result)
            self.assertIn("'nope'" if number % 3 == 1 else "'z'", error.message())

    def test_decoupled_and_sequence_parameters(self):
        self.send(1, enable_empty_final_response=True)
        self.expect(1)
        self.send(2, sequence_id=42, sequence_start=True, sequence_end=True, priority=3,
                  timeout=1_000_000, parameters={"note": "x"})
        self.expect(2)
        self.send(3, sequence_id="a string")
        self.expect(3)

    def test_a_reader_that_waits_for_the_final_mark_ends(self):
        for empty in (False, True):
            self.send(1, enable_empty_final_response=empty)
            self.expect(1)
        self.assertTrue(self.replies.empty(), "one reply to each request")
        single = self.client.infer("half_plus_three", [make_input(
            "x", np.float32([1]), "FP32")], client_timeout=WAIT_SECONDS)
        self.assertNotIn("triton_final_response", single.get_response().parameters)

    def test_large_messages(self):
        large = np.random.default_rng(3).random((1, 1_000_000), dtype=np.float32)
        for _ in range(5):
            self.client.async_stream_infer(
                "identity_fp32", [make_input("input", large, "FP32")])
        for _ in range(5):
            result, error = self.reply()
            self.assertIsNone(error)
            self.same(result.as_numpy("output"), large)

    def test_the_end_waits_for_what_was_sent(self):
        for number in range(50):
            self.send(number)
        self.client.stop_stream()
        for number in range(50):
            self.expect(number)
        self.assertTrue(self.replies.empty())

    def test_cancelling_a_stream(self):
        for number in range(50):
            self.send(number, "slow_second", "input")
        self.client.stop_stream(cancel_requests=True)
        while True:
            result, error = self.reply()
            if error is not None:
                break
        self.assertEqual(error.status(), "StatusCode.CANCELLED")
        self.assertEqual(self.client.infer("half_plus_three", [make_input(
            "x", np.float32([1]), "FP32")], client_timeout=WAIT_SECONDS).as_numpy("y")[0], 3.5)

    def test_stream_timeout(self):
        with triton.InferenceServerClient(GRPC) as client:
            replies = queue.Queue()
            client.start_stream(lambda result, error: replies.put(error), stream_timeout=0.05)
            error = replies.get(timeout=WAIT_SECONDS)
            self.assertEqual(error.status(), "StatusCode.DEADLINE_EXCEEDED")
            client.stop_stream()
        self.send(7)
        self.expect(7)


class Errors(GrpcCase):
    def test_inputs_and_outputs(self):
        x = make_input("x", np.float32([1]), "FP32")
        z = make_input("z", np.float32([1]), "FP32")
        for inputs, outputs, text in (
                ([], None, "'x' is missing"), ([z], None, "'z'"), ([x, z], None, "'z'"),
                ([x, x], None, "more than once"), ([x], ["q"], "'q'"),
                ([make_input("x", np.float64([1]), "FP64")], None, "expected datatype FP32"),
                ([make_input("x", np.float32([[1]]), "FP32")], None, "'x'")):
            wanted = outputs and [triton.InferRequestedOutput(name) for name in outputs]
            self.refused(lambda: self.client.infer("half_plus_three", inputs, outputs=wanted),
                         "StatusCode.INVALID_ARGUMENT", text)

    def test_an_output_that_is_asked_for_twice_comes_once(self):
        x = make_input("x", np.float32([1]), "FP32")
        wanted = [triton.InferRequestedOutput("y"), triton.InferRequestedOutput("y")]
        outputs = self.client.infer("half_plus_three", [x], outputs=wanted).get_response().outputs
        self.assertEqual([one.name for one in outputs], ["y"])

    def test_models_versions_features(self):
        x = make_input("x", np.float32([1]), "FP32")
        not_found = "StatusCode.NOT_FOUND"
        self.refused(lambda: self.client.infer("nope", [x]), not_found, "'nope'")
        self.refused(lambda: self.client.infer("versions", [x], model_version="3"),
                     not_found, "3")
        shared = triton.InferInput("x", [1], "FP32")
        shared.set_shared_memory("region", 4)
        self.refused(lambda: self.client.infer("half_plus_three", [shared]),
                     "StatusCode.INVALID_ARGUMENT", "Unable to find shared memory region: 'region'")
        self.refused(lambda: self.client.register_system_shared_memory("region", "/key", 4),
                     "StatusCode.UNIMPLEMENTED", "start the server with --allow-client-shm=true")

    def test_a_model_that_fails(self):
        bad = make_input("index", np.int64([7]), "INT64")
        self.refused(lambda: self.client.infer("fails_at_run", [bad]),
                     "StatusCode.INVALID_ARGUMENT", "idx=7")


if __name__ == "__main__":
    unittest.main()
