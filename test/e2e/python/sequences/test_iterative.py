"""tritonclient, unmodified, with a model of iterative sequences: infer(), streams and deadlines.
Source: Triton's "Iterative Sequences"; test/e2e/sequences/iterative.test.ts has the model."""
import queue
import unittest

import numpy as np
import tritonclient.grpc
import tritonclient.http
from serval_case import GRPC, HTTP, ServalCase

COUNT = 30


def inputs_of(triton, steps):
    inputs = []
    for name, value in (("x", 2), ("limit", 2 * steps), ("fails", 0)):
        tensor = triton.InferInput(name, [1, 1], "FP32")
        tensor.set_data_from_numpy(np.array([[value]], np.float32))
        inputs.append(tensor)
    return inputs


class Grpc(ServalCase):
    def setUp(self):
        self.client = tritonclient.grpc.InferenceServerClient(GRPC)
        self.addCleanup(self.client.close)

    def test_metadata(self):
        metadata = self.client.get_model_metadata("oldest", as_json=True)
        self.assertEqual([one["name"] for one in metadata["inputs"]], ["x", "limit", "fails"])
        self.assertEqual([one["name"] for one in metadata["outputs"]], ["sum", "steps", "start"])
        config = self.client.get_model_config("oldest", as_json=True)["config"]
        self.assertTrue(config["sequence_batching"]["iterative_sequence"])

    def test_infer(self):
        answer = self.client.infer("oldest", inputs_of(tritonclient.grpc, 7))
        self.assertEqual(answer.as_numpy("steps").tolist(), [[7]])

    def test_stream(self):
        answers = queue.Queue()
        self.client.start_stream(lambda result, error: answers.put((result, error)))
        for i in range(1, COUNT + 1):
            inputs = inputs_of(tritonclient.grpc, i)
            self.client.async_stream_infer("oldest", inputs, request_id=str(i))
        for _ in range(COUNT):
            result, error = answers.get(timeout=60)
            self.assertIsNone(error)
            response = result.get_response()
            self.assertEqual(result.as_numpy("steps").tolist(), [[int(response.id)]])
            self.assertTrue(response.parameters["triton_final_response"].bool_param)
        self.client.stop_stream()

    def test_deadline(self):
        with self.assertRaisesRegex(Exception, "StatusCode.DEADLINE_EXCEEDED"):
            self.client.infer("endless", inputs_of(tritonclient.grpc, 1e9), client_timeout=0.3)


class Http(ServalCase):
    def setUp(self):
        self.client = tritonclient.http.InferenceServerClient(HTTP, concurrency=8)
        self.addCleanup(self.client.close)

    def test_many_at_once(self):
        calls = [
            self.client.async_infer("direct", inputs_of(tritonclient.http, i))
            for i in range(1, COUNT + 1)
        ]
        for i, call in enumerate(calls):
            self.assertEqual(call.get_result().as_numpy("steps").tolist(), [[i + 1]])


if __name__ == "__main__":
    unittest.main()
