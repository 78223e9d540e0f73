"""Models of columns by the official clients, unmodified: tritonclient over HTTP and gRPC, which
know plain V2 alone, and the messages of its own service_pb2, which carry what the extension adds.
Test time only."""
import struct

import grpc
import numpy as np
import tritonclient.grpc as grpc_client
import tritonclient.http as http_client
from tritonclient.grpc import service_pb2, service_pb2_grpc

from serval_case import GRPC, HTTP, ServalCase


def texts(*values):
    return np.array([one.encode() for one in values], dtype=np.object_)


def raw_texts(*values):
    parts = [one.encode() for one in values]
    return b"".join(struct.pack("<I", len(one)) + one for one in parts)


class PlainClients(ServalCase):
    """Neither STRING nor VECTOR is known to them: they send BYTES and FP64 and get these back."""

    def each(self):
        yield http_client, http_client.InferenceServerClient(HTTP), {"binary_data": True}
        yield http_client, http_client.InferenceServerClient(HTTP), {"binary_data": False}
        yield grpc_client, grpc_client.InferenceServerClient(GRPC), {}

    def ask(self, module, client, options, model, arrays, outputs):
        inputs = []
        for name, (datatype, array) in arrays.items():
            one = module.InferInput(name, list(array.shape), datatype)
            inputs.append(one.set_data_from_numpy(array, **options))
        wanted = [module.InferRequestedOutput(name, **options) for name in outputs]
        return client.infer(model, inputs, outputs=wanted)

    def test_text(self):
        values = texts("größer", "", "漢字")
        for module, client, options in self.each():
            got = self.ask(module, client, options, "echo", {"x": ("BYTES", values)}, ["y"])
            self.same(got.as_numpy("y"), values)

    def test_days(self):
        values = texts("2024-02-29", "0001-01-01")
        for module, client, options in self.each():
            got = self.ask(module, client, options, "date", {"x": ("BYTES", values)}, ["y"])
            self.same(got.as_numpy("y"), values)

    def test_numbers_by_field(self):
        a, b = np.array([1, 2], np.int32), np.array([3, 4], np.int32)
        given = {"a": ("INT32", a), "b": ("INT32", b)}
        for module, client, options in self.each():
            got = self.ask(module, client, options, "two_ints", given, ["yb", "ya"])
            self.same(got.as_numpy("ya"), a)
            self.same(got.as_numpy("yb"), b)

    def test_vectors(self):
        values = np.array([[1.0, 3.0], [4.0, 4.0]])
        for module, client, options in self.each():
            got = self.ask(module, client, options, "norm", {"v": ("FP64", values[:, None, :])},
                           ["unit"])
            self.same(got.as_numpy("unit"), np.array([[0.25, 0.75], [0.5, 0.5]]))

    def test_lists_of_one_length(self):
        words = texts("a", "b", "c", "d", "e", "f").reshape(2, 1, 3)
        for module, client, options in self.each():
            got = self.ask(module, client, options, "pairs", {"words": ("BYTES", words)}, ["pairs"])
            self.same(got.as_numpy("pairs"), texts("a b", "b c", "d e", "e f").reshape(2, 2))

    def test_refusals(self):
        wrong = {"x": ("BYTES", texts("2024-02-30"))}
        for module, client, options in self.each():
            status = "400" if module is http_client else "StatusCode.INVALID_ARGUMENT"
            self.refused(lambda: self.ask(module, client, options, "date", wrong, ["y"]),
                         status, "'x', row 0: expected a date")

    def test_metadata(self):
        seen = http_client.InferenceServerClient(HTTP).get_model_metadata("pairs")
        self.assertEqual(seen["platform"], "spark_pipelinemodel")
        self.assertEqual(seen["inputs"],
                         [{"name": "words", "datatype": "STRING", "shape": [-1, 1, -1]}])
        by_grpc = grpc_client.InferenceServerClient(GRPC).get_model_metadata("pairs")
        self.assertEqual(list(by_grpc.inputs[0].shape), [-1, 1, -1])
        self.assertEqual(by_grpc.platform, "spark_pipelinemodel")


class Messages(ServalCase):
    """What the extension adds, in the client's own messages."""

    def setUp(self):
        self.channel = grpc.insecure_channel(GRPC)
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(self.channel)

    def tearDown(self):
        self.channel.close()

    def request(self, model, *inputs):
        """Inputs: name, datatype, shape, contents (typed, by arm, or raw bytes), features."""
        request = service_pb2.ModelInferRequest(model_name=model)
        for name, datatype, shape, contents, features in inputs:
            tensor = request.inputs.add(name=name, datatype=datatype, shape=shape)
            if features:
                tensor.parameters["features"].string_param = features
            if isinstance(contents, bytes):
                request.raw_input_contents.append(contents)
            else:
                for arm, values in contents.items():
                    getattr(tensor.contents, arm).extend(values)
        return self.stub.ModelInfer(request)

    def test_strings(self):
        for contents in ({"bytes_contents": ["größer".encode(), b""]}, raw_texts("größer", "")):
            got = self.request("echo", ("x", "STRING", [2], contents, None))
            self.assertEqual(got.outputs[0].datatype, "STRING")
            self.assertEqual(got.raw_output_contents[0], raw_texts("größer", ""))

    def test_vectors_of_any_length(self):
        typed = {"fp64_contents": [1, 3, 4]}, {"int_contents": [2, 1]}
        raw = np.array([1.0, 3.0, 4.0]).tobytes(), np.array([2, 1], np.int32).tobytes()
        for values, lengths in (typed, raw):
            got = self.request("norm", ("v", "VECTOR", [2, 1, -1], values, None),
                               ("v_shape", "INT32", [1], lengths, None))
            self.assertEqual([(one.name, one.datatype, list(one.shape)) for one in got.outputs],
                             [("unit", "VECTOR", [2, 1, -1]), ("unit_shape", "INT32", [1])])
            self.same(np.frombuffer(got.raw_output_contents[0]), np.array([0.25, 0.75, 1.0]))
            self.same(np.frombuffer(got.raw_output_contents[1], np.int32),
                      np.array([2, 1], np.int32))

    def test_fields_that_share_a_tensor(self):
        typed = {"int_contents": [1, 2, 3, 4]}
        for contents in (typed, np.array([1, 2, 3, 4], np.int32).tobytes()):
            got = self.request("two_ints", ("t", "INT32", [2, 2], contents, "b,a"))
            self.assertEqual([one.name for one in got.outputs], ["ya", "yb"])
            self.same(np.frombuffer(got.raw_output_contents[0], np.int32),
                      np.array([2, 4], np.int32))

    def test_refusals(self):
        for contents in ({"bytes_contents": [b"\xff"]}, b"\1\0\0\0\xff"):
            with self.assertRaises(grpc.RpcError) as caught:
                self.request("string", ("x", "STRING", [1], contents, None))
            self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)
            self.assertIn("'x', row 0: expected text in UTF-8", caught.exception.details())
