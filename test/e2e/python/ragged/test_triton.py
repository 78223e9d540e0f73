"""tritonclient, unmodified, with a model of ragged batches: clients send vectors of different
lengths at once, and get their sum and the vector less its sum. Source: Triton's
ragged_batching.md."""
import unittest
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import tritonclient.grpc
import tritonclient.http
from serval_case import GRPC, HTTP, ServalCase

COUNT = 48
CLIENTS = 8


def vector(i):
    return (np.arange(i % 9, dtype=np.float32) * 3 + i).reshape(1, -1)


class RaggedCase:
    def ask(self, client, x):
        tensor = self.triton.InferInput("x", list(x.shape), "FP32")
        tensor.set_data_from_numpy(x)
        answer = client.infer("segments", [tensor])
        return answer.as_numpy("sum"), answer.as_numpy("rest")

    def test_config(self):
        metadata = self.client.get_model_metadata("segments", **self.as_json)
        self.assertEqual([one["name"] for one in metadata["inputs"]], ["x"])

    def test_lengths_at_once(self):
        def ask_one(i):
            client = self.connect()
            with client:
                return self.ask(client, vector(i))

        with ThreadPoolExecutor(CLIENTS) as pool:
            answers = list(pool.map(ask_one, range(COUNT)))
        for i, (total, rest) in enumerate(answers):
            x = vector(i)
            np.testing.assert_array_equal(total, x.sum(axis=1, keepdims=True))
            np.testing.assert_array_equal(rest, x - x.sum())


class Http(RaggedCase, ServalCase):
    triton = tritonclient.http
    as_json = {}

    def connect(self):
        return tritonclient.http.InferenceServerClient(HTTP)

    def setUp(self):
        self.client = self.connect()
        self.addCleanup(self.client.close)


class Grpc(RaggedCase, ServalCase):
    triton = tritonclient.grpc
    as_json = {"as_json": True}

    def connect(self):
        return tritonclient.grpc.InferenceServerClient(GRPC)

    def setUp(self):
        self.client = self.connect()
        self.addCleanup(self.client.close)


if __name__ == "__main__":
    unittest.main()
