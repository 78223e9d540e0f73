"""gRPC through the generated stubs alone: typed contents and their errors, health, reflection.
Source: seed 002 (InferTensorContents); v2-protocol.md 1.4, 10; the published health checking and
server reflection protocols."""
import struct
import unittest

import grpc
import numpy as np
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from google.protobuf import descriptor_pb2
from serval_case import DTYPES, GRPC, ServalCase, values
from tritonclient.grpc import service_pb2, service_pb2_grpc

WAIT_SECONDS = 60
SERVICE = "inference.GRPCInferenceService"
FIELDS = {
    "BOOL": "bool_contents", "UINT8": "uint_contents", "UINT16": "uint_contents",
    "UINT32": "uint_contents", "UINT64": "uint64_contents", "INT8": "int_contents",
    "INT16": "int_contents", "INT32": "int_contents", "INT64": "int64_contents",
    "FP32": "fp32_contents", "FP64": "fp64_contents", "BYTES": "bytes_contents",
}
OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class StubCase(ServalCase):
    def setUp(self):
        self.channel = grpc.insecure_channel(GRPC, options=OPTIONS)
        self.addCleanup(self.channel.close)
        self.stub = service_pb2_grpc.GRPCInferenceServiceStub(self.channel)

    def fails(self, call, code, text):
        with self.assertRaises(grpc.RpcError) as caught:
            call()
        self.assertEqual(caught.exception.code(), code, caught.exception.details())
        self.assertIn(text, caught.exception.details())


def request_of(datatype, shape, raw=None, model=None, **contents):
    request = service_pb2.ModelInferRequest(model_name=model or f"identity_{datatype.lower()}")
    tensor = request.inputs.add(name="input", datatype=datatype, shape=shape)
    for field, numbers in contents.items():
        getattr(tensor.contents, field).extend(numbers)
    if raw is not None:
        request.raw_input_contents.append(raw)
    return request


class TypedContents(StubCase):
    def test_every_datatype(self):
        for datatype, field in FIELDS.items():
            with self.subTest(datatype=datatype):
                array = values(datatype)
                numbers = {field: array.flatten().tolist()}
                reply = self.stub.ModelInfer(request_of(datatype, array.shape, **numbers))
                self.assertEqual(list(reply.outputs[0].shape), list(array.shape))
                self.assertFalse(reply.outputs[0].HasField("contents"))
                raw = reply.raw_output_contents[0]
                if datatype == "BYTES":
                    packed = b"".join(struct.pack("<I", len(b)) + b for b in array.flatten())
                    self.assertEqual(raw, packed)
                else:
                    self.same(np.frombuffer(raw, DTYPES[datatype]).reshape(array.shape), array)

    def test_no_values_at_all(self):
        reply = self.stub.ModelInfer(request_of("FP32", [0, 3]))
        self.assertEqual(list(reply.outputs[0].shape), [0, 3])
        self.assertEqual(list(reply.raw_output_contents), [b""])

    def test_large(self):
        array = np.random.default_rng(4).random((1, 150_528), dtype=np.float32)
        reply = self.stub.ModelInfer(
            request_of("FP32", array.shape, fp32_contents=array.flatten().tolist()))
        self.assertEqual(reply.raw_output_contents[0], array.tobytes())

    def test_errors(self):
        raw = np.float32([1, 2]).tobytes()
        for request, text in (
                (request_of("FP32", [1, 2], raw=raw, fp32_contents=[1, 2]), "raw_input_contents"),
                (request_of("FP32", [1, 2], int_contents=[1, 2]), "int_contents"),
                (request_of("FP32", [1, 2], fp32_contents=[1, 2], int_contents=[1]),
                 "int_contents"),
                (request_of("FP32", [1, 2], fp32_contents=[1]), "expected 2 values"),
                (request_of("FP32", [1, 2], fp32_contents=[1, 2, 3]), "got 3"),
                (request_of("FP32", [1, 2]), "expected 2 values"),
                (request_of("FP16", [1, 2], fp32_contents=[1, 2]), "raw_input_contents"),
                (request_of("BF16", [1, 2]), "raw_input_contents"),
                (request_of("UINT8", [1, 1], uint_contents=[300]), "300"),
                (request_of("INT8", [1, 2], int_contents=[0, -129]), "-129 at index 1"),
                (request_of("INT16", [1, 1], int_contents=[32768]), "32768"),
                (request_of("FP32", [1, -2], fp32_contents=[1, 2]), "negative"),
                (request_of("FP32", [2**62, 2**62]), "2^62"),
                (request_of("FP32", [1] * 40), "limit is 32"),
                (request_of("FP32", [1, 2], raw=raw[:7]), "7"),
                (request_of("FP32", [1, 2], raw=raw + b"\0"), "9"),
                (request_of("BYTES", [1, 1], raw=struct.pack("<I", 9) + b"short"), "9"),
                (request_of("BYTES", [1, 1], raw=b"\1\0\0"), "input"),
                (request_of("NOPE", [1, 2], model="identity_fp32", raw=raw), "'NOPE'")):
            with self.subTest(text=text):
                self.fails(lambda: self.stub.ModelInfer(request),
                           grpc.StatusCode.INVALID_ARGUMENT, text)

    def test_raw_buffers_as_many_as_inputs(self):
        for count in (0, 1, 3):
            request = service_pb2.ModelInferRequest(model_name="add_sub")
            for name in ("input0", "input1")[:2]:
                request.inputs.add(name=name, datatype="FP32", shape=[1])
            request.raw_input_contents.extend([np.float32([1]).tobytes()] * count)
            with self.assertRaises(grpc.RpcError) as caught:
                self.stub.ModelInfer(request)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.INVALID_ARGUMENT)

    def test_broken_protobuf(self):
        call = self.channel.unary_unary(f"/{SERVICE}/ModelInfer")
        good = request_of("FP32", [1, 1], fp32_contents=[1]).SerializeToString()
        self.assertTrue(call(good))
        for cut in range(len(good) - 1, 1, -1):
            with self.assertRaises(grpc.RpcError) as caught:
                call(good[:cut])
            self.assertIn(caught.exception.code(), (grpc.StatusCode.INVALID_ARGUMENT,
                                                    grpc.StatusCode.NOT_FOUND))
        for junk in (b"\xff" * 100, b"\x0a\xff\xff\xff\xff\x7f", bytes(range(256))):
            self.fails(lambda: call(junk), grpc.StatusCode.INVALID_ARGUMENT, "ModelInferRequest")
        self.fails(lambda: call(b""), grpc.StatusCode.NOT_FOUND, "''")

    def test_unknown_methods(self):
        for path in (f"/{SERVICE}/Nope", "/nope.Service/Call"):
            self.fails(lambda: self.channel.unary_unary(path)(b""),
                       grpc.StatusCode.UNIMPLEMENTED, "")

    def test_bare_stream(self):
        requests = [request_of("FP32", [1, 1], fp32_contents=[n]) for n in range(5)]
        requests[2].model_name = "nope"
        for number, request in enumerate(requests):
            request.id = str(number)
        replies = list(self.stub.ModelStreamInfer(iter(requests), timeout=WAIT_SECONDS))
        self.assertEqual([r.infer_response.id for r in replies], ["0", "1", "2", "3", "4"])
        self.assertEqual([bool(r.error_message) for r in replies],
                         [False, False, True, False, False])


class Health(StubCase):
    def test_check(self):
        stub = health_pb2_grpc.HealthStub(self.channel)
        for service in ("", SERVICE, "half_plus_three"):
            reply = stub.Check(health_pb2.HealthCheckRequest(service=service))
            self.assertEqual(reply.status, health_pb2.HealthCheckResponse.SERVING)
        self.fails(lambda: stub.Check(health_pb2.HealthCheckRequest(service="nope")),
                   grpc.StatusCode.NOT_FOUND, "'nope'")

    def test_watch(self):
        stub = health_pb2_grpc.HealthStub(self.channel)
        for service, status in (("", "SERVING"), ("nope", "SERVICE_UNKNOWN")):
            call = stub.Watch(health_pb2.HealthCheckRequest(service=service),
                              timeout=WAIT_SECONDS)
            first = next(call)
            self.assertEqual(health_pb2.HealthCheckResponse.ServingStatus.Name(first.status),
                             status)
            call.cancel()


class Reflection(StubCase):
    def ask(self, **question):
        stub = reflection_pb2_grpc.ServerReflectionStub(self.channel)
        request = reflection_pb2.ServerReflectionRequest(**question)
        return next(stub.ServerReflectionInfo(iter([request]), timeout=WAIT_SECONDS))

    def test_services(self):
        reply = self.ask(list_services="")
        names = {service.name for service in reply.list_services_response.service}
        self.assertLessEqual({SERVICE, "grpc.health.v1.Health"}, names)

    def test_descriptors_agree_with_the_clients_own(self):
        reply = self.ask(file_containing_symbol=SERVICE)
        file = descriptor_pb2.FileDescriptorProto.FromString(
            reply.file_descriptor_response.file_descriptor_proto[0])
        self.assertEqual(file.package, "inference")
        theirs = descriptor_pb2.FileDescriptorProto()
        service_pb2.DESCRIPTOR.CopyToProto(theirs)
        numbers = {m.name: {f.name: (f.number, f.type) for f in m.field}
                   for m in theirs.message_type}
        for message in file.message_type:
            for field in message.field:
                if field.name in numbers[message.name]:
                    self.assertEqual(numbers[message.name][field.name],
                                     (field.number, field.type), f"{message.name}.{field.name}")
        methods = {m.name for s in file.service for m in s.method}
        self.assertLessEqual({"ServerLive", "ServerReady", "ModelReady", "ServerMetadata",
                              "ModelMetadata", "ModelInfer", "ModelStreamInfer"}, methods)

    def test_unknown_symbols(self):
        reply = self.ask(file_containing_symbol="nope.Nope")
        self.assertEqual(reply.error_response.error_code, 5)


if __name__ == "__main__":
    unittest.main()
