"""What a request log in TensorFlow Serving's form holds, as TensorFlow's own reader and TensorFlow
Serving's own messages have it: every kind of request of the model half_plus_two is sent once and
looked for in the files that begin with SERVAL_REQUEST_LOG. y = x / 2 + 2, y2 = x / 2 + 3. Test time
only. Source: tfserving.md 3.6, 3.8."""
import glob
import json
import os
import time
import unittest
import urllib.request

import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2, inference_pb2, predict_pb2, prediction_log_pb2, regression_pb2,
)

from test_tf_grpc import TfCase, spec
from tf_tensors import example, tensor_of

MODEL = "half_plus_two"
SIGNATURES = {"classify": "classify_x_to_y", "regress": "regress_x_to_y2"}
WAIT_SECONDS = 60


def records(count):
    """The records of all files, once there are so many."""
    end = time.monotonic() + WAIT_SECONDS
    while True:
        seen = []
        try:
            paths = sorted(glob.glob(os.environ["SERVAL_REQUEST_LOG"] + "*"))
            for record in tf.data.TFRecordDataset(paths).as_numpy_iterator() if paths else []:
                seen.append(prediction_log_pb2.PredictionLog.FromString(record))
        except tf.errors.DataLossError:
            pass  # the last one is being written
        if len(seen) >= count or time.monotonic() > end:
            return seen
        time.sleep(0.1)


def rest(path, **body):
    url = f"http://{os.environ['SERVAL_HTTP']}/{path}"
    request = urllib.request.Request(url, json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


def examples(request, *values):
    request.input.example_list.examples.extend(example(x=value) for value in values)
    return request


class RequestLog(TfCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sent = {}
        cls.order = []
        for send in (cls.send_grpc, cls.send_rest):
            send()
        found = records(len(cls.order))
        assert len(found) == len(cls.order), f"{len(found)} records of {len(cls.order)}"
        cls.logged = dict(zip(cls.order, found))

    @classmethod
    def called(cls, name, call, request):
        cls.order.append(name)
        cls.sent[name] = (request, call(request, timeout=30))

    @classmethod
    def send_grpc(cls):
        stub = cls.prediction
        cls.called("classify", stub.Classify, examples(
            classification_pb2.ClassificationRequest(
                model_spec=spec(MODEL, SIGNATURES["classify"])), 2.0, 4.0))
        regress = regression_pb2.RegressionRequest(model_spec=spec(MODEL, SIGNATURES["regress"]))
        listed = regress.input.example_list_with_context
        listed.context.CopyFrom(example(x=2.0))
        listed.examples.extend([example(), example(x=4.0)])
        cls.called("regress", stub.Regress, regress)
        both = inference_pb2.MultiInferenceRequest()
        for verb, signature in SIGNATURES.items():
            both.tasks.add(model_spec=spec(MODEL, signature.replace("y2", "y")),
                           method_name=f"tensorflow/serving/{verb}")
        cls.called("multi_inference", stub.MultiInference, examples(both, 2.0))
        cls.called("predict", stub.Predict, cls.predict_request(1.0, 2.0))

    @staticmethod
    def predict_request(*values):
        request = predict_pb2.PredictRequest(model_spec=spec(MODEL))
        request.inputs["x"].CopyFrom(tensor_of(np.array(values, np.float32)))
        return request

    @classmethod
    def send_rest(cls):
        v1 = f"v1/models/{MODEL}"
        tensor = {"name": "x", "datatype": "FP32", "shape": [2], "data": [7.0, 9.0]}
        for name, path, body in [
                ("rows", f"{v1}:predict", {"instances": [1.0, 5.0]}),
                ("columns", f"{v1}:predict", {"inputs": {"x": [[3.0], [4.0]]}}),
                ("v2", f"v2/models/{MODEL}/infer", {"inputs": [tensor]}),
                ("rest_classify", f"{v1}:classify", {
                    "signature_name": SIGNATURES["classify"],
                    "examples": [{"x": 2.0}, {"x": 4.0}]}),
                ("rest_regress", f"{v1}:regress", {
                    "signature_name": SIGNATURES["regress"],
                    "context": {"x": 2.0}, "examples": [{}, {"x": 4.0}]})]:
            cls.order.append(name)
            cls.sent[name] = (body, rest(path, **body))

    def test_messages_are_logged_as_they_were_sent_and_answered(self):
        for name in ["classify", "regress", "multi_inference", "predict"]:
            with self.subTest(name):
                logged = self.logged[name]
                self.assertEqual(logged.WhichOneof("log_type"), f"{name}_log")
                pair = getattr(logged, f"{name}_log")
                self.assertEqual((pair.request, pair.response), self.sent[name])

    def test_rest_predict_is_logged_as_the_same_tensors(self):
        for name, x, y in [("rows", [1, 5], [2.5, 4.5]),
                           ("columns", [[3], [4]], [[3.5], [4]]),
                           ("v2", [7, 9], [5.5, 6.5])]:
            with self.subTest(name):
                log = self.logged[name].predict_log
                self.assertEqual(log.request.model_spec, spec(MODEL, "serving_default", 123))
                self.assertEqual(log.response.model_spec, spec(MODEL, "serving_default", 123))
                for tensors, alias, values in [(log.request.inputs, "x", x),
                                               (log.response.outputs, "y", y)]:
                    self.assertEqual(list(tensors), [alias])
                    array = tf.make_ndarray(tensors[alias])
                    self.assertEqual(array.dtype, np.float32)
                    np.testing.assert_array_equal(array, np.array(values, np.float32))

    def test_rest_examples_are_logged_as_messages(self):
        log = self.logged["rest_classify"].classify_log
        self.assertEqual([one.features.feature["x"].float_list.value[0]
                          for one in log.request.input.example_list.examples], [2.0, 4.0])
        self.assertEqual(log.response, self.sent["classify"][1])
        log = self.logged["rest_regress"].regress_log
        self.assertEqual(log.request.model_spec, spec(MODEL, SIGNATURES["regress"], 123))
        self.assertEqual(log.response, self.sent["regress"][1])

    def test_the_answers_are_right(self):
        """What was compared says something."""
        classes = self.sent["classify"][1].result.classifications
        self.assertEqual([row.classes[0].score for row in classes], [3.0, 4.0])
        rows = self.sent["regress"][1].result.regressions
        self.assertEqual([row.value for row in rows], [4.0, 5.0])
        self.assertEqual(len(self.sent["multi_inference"][1].results), 2)
        self.assertEqual(self.sent["rest_regress"][1], {"results": [4.0, 5.0]})

    def test_every_record_says_whose_it_is(self):
        for name, logged in self.logged.items():
            with self.subTest(name):
                metadata = logged.log_metadata
                self.assertEqual(metadata.model_spec, spec(MODEL, version=123))
                self.assertEqual(metadata.sampling_config.sampling_rate, 1)
                self.assertLess(abs(metadata.timestamp_secs - time.time()), 600)


if __name__ == "__main__":
    unittest.main()
