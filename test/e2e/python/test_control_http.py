"""control_suite.py through tritonclient's HTTP client, unmodified."""
import json
import unittest

import gevent
import numpy as np
import tritonclient.http as http
from control_suite import WAIT_SECONDS, ControlSuite
from serval_case import HTTP


class Begun:
    def __init__(self, request):
        self.request = request

    def result(self):
        return self.request.get_result(timeout=WAIT_SECONDS)

    def done(self):
        return self.request._greenlet.ready()


class Http(ControlSuite):
    NOT_FOUND, INVALID, UNAVAILABLE = "404", "400", "503"
    UNIMPLEMENTED = "501"

    WRONG_LOG_TYPES = ({"log_info": "loud"},)

    def setUp(self):
        self.client = http.InferenceServerClient(
            HTTP, concurrency=8, network_timeout=WAIT_SECONDS)
        self.addCleanup(self.client.close)

    def make_input(self, name, array, datatype):
        return http.InferInput(name, list(array.shape), datatype).set_data_from_numpy(array)

    def class_output(self, name, count):
        return http.InferRequestedOutput(name, class_count=count)

    def begin(self, model, name, array, **more):
        begun = Begun(self.client.async_infer(
            model, [self.make_input(name, array, "FP32")], **more))
        self.pause()
        return begun

    # The client only works while its own event loop runs.
    pause = staticmethod(lambda: gevent.sleep(0.02))

    def extensions(self):
        return set(self.client.get_server_metadata()["extensions"])

    def is_ready(self, model):
        return self.client.is_model_ready(model)

    def index(self):
        return self.client.get_model_repository_index()

    def config(self, model, version=""):
        return self.client.get_model_config(model, version)

    def stats(self, model, version=""):
        return self.client.get_inference_statistics(model, version)["model_stats"][0]

    def all_stats(self):
        return self.client.get_inference_statistics()["model_stats"]

    def log_settings(self):
        return self.client.get_log_settings()

    def update_logs(self, change):
        return self.client.update_log_settings(change)

    def trace_settings(self, model=None):
        return self.client.get_trace_settings(model)

    def update_traces(self, change, model=None):
        return self.client.update_trace_settings(model, change)

    # -- features of HTTP only

    def test_classes_as_json(self):
        self.client.load_model("labelled")
        self.addCleanup(self.client.unload_model, "labelled")
        output = http.InferRequestedOutput("output", binary_data=False, class_count=1)
        array = self.make_input("input", np.float32([[1, 2]]), "FP32")
        answer = self.client.infer("labelled", [array], outputs=[output]).get_response()
        tensor = answer["outputs"][0]
        self.assertEqual((tensor["datatype"], tensor["shape"]), ("BYTES", [1, 1]))
        value, index, label = tensor["data"][0].split(":")
        self.assertEqual((float(value), index, label), (2.0, "1", "second"))

    def test_index_of_what_is_ready(self):
        reply = self.client._post("v2/repository/index", '{"ready":true}', {}, None)
        names = [each["name"] for each in json.loads(reply.read())]
        self.assertIn("half_plus_three", names)
        self.assertNotIn("corrupt", names)

    def test_bodies_that_make_no_sense(self):
        for path, body in (("v2/repository/index", "{"), ("v2/repository/index", '{"ready":1}'),
                           ("v2/repository/models/mlp/load", "[]"),
                           ("v2/repository/models/mlp/load", '{"parameters":{"config":7}}'),
                           ("v2/repository/models/mlp/unload", '{"parameters":'),
                           ("v2/logging", "[1]")):
            with self.subTest(path=path, body=body):
                reply = self.client._post(path, body, {}, None)
                self.assertEqual(reply.status_code, 400, reply.read())


del ControlSuite

if __name__ == "__main__":
    unittest.main()
