"""control_suite.py through tritonclient's gRPC client, unmodified."""
import threading
import unittest

import tritonclient.grpc as triton
from control_suite import WAIT_SECONDS, ControlSuite
from google.protobuf.json_format import MessageToDict
from serval_case import GRPC


def numbers(value):
    """A message as plain data; 64-bit numbers, which protobuf writes as text, as numbers."""
    if isinstance(value, dict):
        return {key: numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [numbers(each) for each in value]
    return int(value) if isinstance(value, str) and value.isdigit() else value


def plain(message):
    return MessageToDict(message, preserving_proto_field_name=True,
                         always_print_fields_with_no_presence=True)


class Begun:
    def __init__(self):
        self.over = threading.Event()
        self.outcome = None

    def callback(self, result, error):
        self.outcome = (result, error)
        self.over.set()

    def result(self):
        if not self.over.wait(WAIT_SECONDS):
            raise AssertionError(f"no answer in {WAIT_SECONDS} s")
        result, error = self.outcome
        if error is not None:
            raise error
        return result

    def done(self):
        return self.over.is_set()


class Grpc(ControlSuite):
    NOT_FOUND, INVALID = "StatusCode.NOT_FOUND", "StatusCode.INVALID_ARGUMENT"
    UNIMPLEMENTED = "StatusCode.UNIMPLEMENTED"
    UNAVAILABLE = "StatusCode.UNAVAILABLE"

    WRONG_LOG_TYPES = ()  # the client itself refuses them

    def setUp(self):
        self.client = triton.InferenceServerClient(GRPC)
        self.addCleanup(self.client.close)
        # Calls that wait for the connection may be sent in another order than they were made.
        self.client.is_server_live()

    def make_input(self, name, array, datatype):
        return triton.InferInput(name, list(array.shape), datatype).set_data_from_numpy(array)

    def class_output(self, name, count):
        return triton.InferRequestedOutput(name, class_count=count)

    def begin(self, model, name, array, **more):
        begun = Begun()
        self.client.async_infer(
            model, [self.make_input(name, array, "FP32")], begun.callback, **more)
        return begun

    def extensions(self):
        return set(self.client.get_server_metadata().extensions)

    def is_ready(self, model):
        return self.client.is_model_ready(model)

    def index(self):
        return plain(self.client.get_model_repository_index())["models"]

    def config(self, model, version=""):
        return plain(self.client.get_model_config(model, version))["config"]

    def stats(self, model, version=""):
        reply = plain(self.client.get_inference_statistics(model, version))
        return numbers(reply["model_stats"][0])

    def all_stats(self):
        return plain(self.client.get_inference_statistics())["model_stats"]

    def log_settings(self):
        settings = self.client.get_log_settings().settings
        return {name: getattr(value, value.WhichOneof("parameter_choice"))
                for name, value in settings.items()}

    def update_logs(self, change):
        return self.client.update_log_settings(change)

    @staticmethod
    def traces_of(reply):
        lists = {name: list(value.value) for name, value in reply.settings.items()}
        return {name: value if name == "trace_level" else value[0]
                for name, value in lists.items()}

    def trace_settings(self, model=None):
        return self.traces_of(self.client.get_trace_settings(model))

    def update_traces(self, change, model=None):
        return self.traces_of(self.client.update_trace_settings(model, change))


del ControlSuite

if __name__ == "__main__":
    unittest.main()
