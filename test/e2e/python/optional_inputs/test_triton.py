"""tritonclient, unmodified, with a model whose config.pbtxt has an optional input: y = x + bias,
where bias is [[10, 20]] in requests that omit it. Source: v2-protocol.md 3."""
import unittest

import numpy as np
import tritonclient.grpc
import tritonclient.http
from serval_case import GRPC, HTTP, ServalCase
from tritonclient.utils import InferenceServerException

X = np.array([[1, 2], [3, 4]], np.float32)


class OptionalCase:
    def make_input(self, name, array):
        tensor = self.triton.InferInput(name, list(array.shape), "FP32")
        tensor.set_data_from_numpy(array)
        return tensor

    def ask(self, **arrays):
        inputs = [self.make_input(name, array) for name, array in arrays.items()]
        return self.client.infer("optional", inputs).as_numpy("y")

    def test_omitted(self):
        np.testing.assert_array_equal(self.ask(x=X), X + np.array([10, 20]))

    def test_set(self):
        np.testing.assert_array_equal(self.ask(bias=-X, x=X), np.zeros_like(X))

    def test_required(self):
        with self.assertRaisesRegex(InferenceServerException, "input 'x' is missing"):
            self.ask(bias=X)


class Http(OptionalCase, ServalCase):
    triton = tritonclient.http

    def setUp(self):
        self.client = tritonclient.http.InferenceServerClient(HTTP)
        self.addCleanup(self.client.close)

    def test_config(self):
        listed = self.client.get_model_config("optional")["input"]
        self.assertEqual([(one["name"], one["optional"]) for one in listed],
                         [("x", False), ("bias", True)])
        metadata = self.client.get_model_metadata("optional")
        self.assertEqual([one["name"] for one in metadata["inputs"]], ["x", "bias"])


class Grpc(OptionalCase, ServalCase):
    triton = tritonclient.grpc

    def setUp(self):
        self.client = tritonclient.grpc.InferenceServerClient(GRPC)
        self.addCleanup(self.client.close)

    def test_config(self):
        config = self.client.get_model_config("optional").config
        self.assertEqual([(one.name, one.optional) for one in config.input],
                         [("x", False), ("bias", True)])
        metadata = self.client.get_model_metadata("optional")
        self.assertEqual([one.name for one in metadata.inputs], ["x", "bias"])


if __name__ == "__main__":
    unittest.main()
