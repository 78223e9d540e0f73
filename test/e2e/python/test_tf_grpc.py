"""TensorFlow Serving's official gRPC stubs, unmodified, against a server of ONNX models: the
fixtures half_plus_three (y = x / 2 + 3) and identity_*. Test time only. Source: tfserving.md 2."""
import os
import unittest

import grpc
import numpy as np
from google.protobuf import wrappers_pb2
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow_serving.apis import (
    classification_pb2, get_model_metadata_pb2, get_model_status_pb2, inference_pb2,
    model_management_pb2, model_pb2, model_service_pb2_grpc, predict_pb2,
    prediction_service_pb2_grpc, regression_pb2, session_service_pb2,
)

from tf_tensors import array_of, example, tensor_of

MODEL = "half_plus_three"
VERSION = 123
CODES = grpc.StatusCode


def spec(name=MODEL, signature="", version=None, label=None):
    out = model_pb2.ModelSpec(name=name, signature_name=signature)
    if version is not None:
        out.version.CopyFrom(wrappers_pb2.Int64Value(value=version))
    if label is not None:
        out.version_label = label
    return out


class TfCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.channel = grpc.insecure_channel(os.environ["SERVAL_GRPC"])
        cls.prediction = prediction_service_pb2_grpc.PredictionServiceStub(cls.channel)
        cls.models = model_service_pb2_grpc.ModelServiceStub(cls.channel)

    @classmethod
    def tearDownClass(cls):
        cls.channel.close()

    def predict(self, inputs, model=None, outputs=(), timeout=30):
        request = predict_pb2.PredictRequest(model_spec=model or spec())
        for name, value in inputs.items():
            tensor = value if isinstance(value, tensor_pb2.TensorProto) else tensor_of(value)
            request.inputs[name].CopyFrom(tensor)
        request.output_filter.extend(outputs)
        return self.prediction.Predict(request, timeout=timeout)

    def refused(self, call, code, text):
        with self.assertRaises(grpc.RpcError) as caught:
            call()
        self.assertEqual(caught.exception.code(), code, caught.exception.details())
        self.assertIn(text, caught.exception.details())


class Predict(TfCase):
    X = np.array([1.0, 2.0, 5.0], np.float32)

    def test_answers_with_the_resolved_model_spec(self):
        for model in (spec(), spec(version=VERSION), spec(signature="serving_default")):
            answer = self.predict({"x": self.X}, model)
            self.assertEqual(list(answer.outputs), ["y"])
            np.testing.assert_array_equal(array_of(answer.outputs["y"]), [3.5, 4.0, 5.5])
            self.assertEqual(answer.model_spec, spec(signature="serving_default", version=VERSION))

    def test_takes_tensor_content_repeats_and_filters(self):
        content = tensor_pb2.TensorProto(dtype=types_pb2.DT_FLOAT, tensor_content=self.X.tobytes())
        content.tensor_shape.dim.add(size=3)
        repeated = tensor_pb2.TensorProto(dtype=types_pb2.DT_FLOAT, float_val=[2.0])
        repeated.tensor_shape.dim.add(size=2)
        answer = self.predict({"x": content}, outputs=["y"])
        np.testing.assert_array_equal(array_of(answer.outputs["y"]), [3.5, 4.0, 5.5])
        answer = self.predict({"x": repeated})
        np.testing.assert_array_equal(array_of(answer.outputs["y"]), [4.0, 4.0])

    def test_every_datatype_comes_back(self):
        for name, dtype in (("fp32", np.float32), ("fp64", np.float64), ("int8", np.int8),
                            ("int16", np.int16), ("int32", np.int32), ("int64", np.int64),
                            ("uint8", np.uint8), ("uint16", np.uint16), ("uint32", np.uint32),
                            ("uint64", np.uint64), ("fp16", np.float16), ("bool", np.bool_)):
            with self.subTest(name):
                value = np.array([[0, 1], [1, 0]], dtype)
                answer = self.predict({"input": value}, spec(f"identity_{name}"))
                (output,) = answer.outputs.values()
                got = array_of(output)
                self.assertEqual(got.dtype, dtype)
                np.testing.assert_array_equal(got, value)
        value = np.array([[b"a\0b", b"\xff"]], np.object_)
        (output,) = self.predict({"input": value}, spec("identity_bytes")).outputs.values()
        self.assertEqual(list(output.string_val), [b"a\0b", b"\xff"])

    def test_refuses_in_known_words(self):
        x = {"x": self.X}
        self.refused(lambda: self.predict(x, spec("nope")), CODES.NOT_FOUND,
                     "Servable not found for request: Latest(nope)")
        self.refused(lambda: self.predict(x, spec(version=9)), CODES.NOT_FOUND,
                     f"Servable not found for request: Specific({MODEL}, 9)")
        self.refused(lambda: self.predict(x, spec(label="x")), CODES.INVALID_ARGUMENT,
                     "Unrecognized servable version label: x")
        self.refused(lambda: self.predict(x, spec(signature="s")), CODES.FAILED_PRECONDITION,
                     'Serving signature key "s" not found.')
        self.refused(lambda: self.predict(x, model_pb2.ModelSpec()), CODES.INVALID_ARGUMENT,
                     "ModelSpec has no name specified.")
        self.refused(lambda: self.prediction.Predict(predict_pb2.PredictRequest()),
                     CODES.INVALID_ARGUMENT, "Missing ModelSpec")
        self.refused(lambda: self.predict({}), CODES.INVALID_ARGUMENT,
                     "input size does not match signature")
        self.refused(lambda: self.predict(x, outputs=["nope"]), CODES.INVALID_ARGUMENT,
                     "output tensor alias not found in signature: nope")
        self.refused(lambda: self.predict(x, outputs=["y", "y"]), CODES.INVALID_ARGUMENT,
                     "duplicate output tensor alias: y")
        self.refused(lambda: self.predict({"x": np.array([1, 2], np.int32)}),
                     CODES.INVALID_ARGUMENT, "")
        broken = tensor_pb2.TensorProto(dtype=types_pb2.DT_FLOAT, tensor_content=b"abc")
        broken.tensor_shape.dim.add(size=1)
        self.refused(lambda: self.predict({"x": broken}), CODES.INVALID_ARGUMENT,
                     "tensor parsing error: x")

    def test_a_deadline_ends_the_call(self):
        # The model takes 500 ms.
        self.refused(lambda: self.predict({"x": self.X}, spec("outlasting"), timeout=0.05),
                     CODES.DEADLINE_EXCEEDED, "")


class OtherCalls(TfCase):
    def test_classify_and_regress_of_a_predict_signature(self):
        for method, request, kind in (
                (self.prediction.Classify, classification_pb2.ClassificationRequest,
                 "classification"),
                (self.prediction.Regress, regression_pb2.RegressionRequest, "regression")):
            one = request(model_spec=spec())
            one.input.example_list.examples.append(example(x=1.0))
            self.refused(lambda method=method, one=one: method(one), CODES.INVALID_ARGUMENT,
                         f"No {kind} inputs found in SignatureDef")

    def test_multi_inference_checks(self):
        request = inference_pb2.MultiInferenceRequest()
        self.refused(lambda: self.prediction.MultiInference(request), CODES.INVALID_ARGUMENT,
                     "ModelSpec has no name specified.")
        request.tasks.add(model_spec=spec(), method_name="tensorflow/serving/predict")
        self.refused(lambda: self.prediction.MultiInference(request), CODES.UNIMPLEMENTED,
                     "Unsupported signature method_name: tensorflow/serving/predict")

    def test_metadata(self):
        request = get_model_metadata_pb2.GetModelMetadataRequest(
            model_spec=spec(), metadata_field=["signature_def"])
        answer = self.prediction.GetModelMetadata(request)
        self.assertEqual(answer.model_spec, spec(version=VERSION))
        signatures = get_model_metadata_pb2.SignatureDefMap()
        self.assertTrue(answer.metadata["signature_def"].Unpack(signatures))
        signature = signatures.signature_def["serving_default"]
        self.assertEqual(signature.method_name, "tensorflow/serving/predict")
        self.assertEqual(signature.inputs["x"].dtype, types_pb2.DT_FLOAT)
        self.assertEqual(list(signature.outputs), ["y"])

    def test_status(self):
        request = get_model_status_pb2.GetModelStatusRequest(model_spec=spec())
        (one,) = self.models.GetModelStatus(request).model_version_status
        self.assertEqual((one.version, one.state, one.status.error_code), (VERSION, 30, 0))
        request.model_spec.version.value = 9
        self.refused(lambda: self.models.GetModelStatus(request), CODES.NOT_FOUND,
                     f"Could not find version 9 of model {MODEL}")

    def test_session_run(self):
        run = self.channel.unary_unary(
            "/tensorflow.serving.SessionService/SessionRun",
            request_serializer=session_service_pb2.SessionRunRequest.SerializeToString,
            response_deserializer=session_service_pb2.SessionRunResponse.FromString)
        request = session_service_pb2.SessionRunRequest(model_spec=spec(), fetch=["y:0"])
        request.feed.add(name="x:0", tensor=tensor_of(np.array([2.0], np.float32)))
        answer = run(request, timeout=30)
        self.assertEqual([one.name for one in answer.tensor], ["y:0"])
        np.testing.assert_array_equal(array_of(answer.tensor[0].tensor), [4.0])
        request.fetch.append("w:0")
        self.refused(lambda: run(request), CODES.UNIMPLEMENTED, "SessionRun runs signatures only")

    def test_health_names(self):
        check = self.channel.unary_unary("/grpc.health.v1.Health/Check")
        for name in (b"", b"PredictionService", b"ModelService",
                     b"tensorflow.serving.PredictionService"):
            message = b"" if name == b"" else b"\x0a" + bytes([len(name)]) + name
            self.assertEqual(check(message, timeout=30), b"\x08\x01", name)

    def test_reload_config(self):
        folder = os.environ["SERVAL_BASE_PATHS"]
        request = model_management_pb2.ReloadConfigRequest()
        one = request.config.model_config_list.config.add(
            name="reloaded", base_path=os.path.join(folder, MODEL), model_platform="onnx")
        answer = self.models.HandleReloadConfigRequest(request, timeout=60)
        self.assertEqual(answer.status.error_code, 0)
        got = self.predict({"x": np.array([2.0], np.float32)}, spec("reloaded"))
        np.testing.assert_array_equal(array_of(got.outputs["y"]), [4.0])
        one.base_path = "relative"
        self.refused(lambda: self.models.HandleReloadConfigRequest(request, timeout=60),
                     CODES.INVALID_ARGUMENT, "to have an absolute path")
        self.predict({"x": np.array([2.0], np.float32)}, spec("reloaded"))
        one.base_path = os.path.join(folder, "nowhere")
        self.refused(lambda: self.models.HandleReloadConfigRequest(request, timeout=60),
                     CODES.FAILED_PRECONDITION, "load failed for model 'reloaded'")
        self.refused(lambda: self.models.HandleReloadConfigRequest(
            model_management_pb2.ReloadConfigRequest(), timeout=60),
            CODES.INVALID_ARGUMENT, "Only ModelConfigList is currently supported")
        request.config.model_config_list.Clear()
        request.config.model_config_list.SetInParent()
        self.models.HandleReloadConfigRequest(request, timeout=60)


if __name__ == "__main__":
    unittest.main()
