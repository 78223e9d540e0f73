"""TensorFlow Serving's official stubs over what --ssl_config_file and --grpc_socket_path of a
server make: each class has a server of its own (tfserving-transport.test.ts), whose address
SERVAL_SERVERS has by the name of the class. Source: tfserving.md 3.8."""
import json
import os
import threading
import unittest

import grpc
import numpy as np
from tensorflow_serving.apis import (
    classification_pb2, get_model_status_pb2, model_service_pb2_grpc, predict_pb2,
    prediction_service_pb2_grpc)
from tf_tensors import array_of, example, tensor_of

SERVERS = json.loads(os.environ["SERVAL_SERVERS"])
# Written by test/e2e/support/certificates.ts.
TLS = os.environ["SERVAL_TLS"]
WAIT_SECONDS = 60
CODES = grpc.StatusCode
OPTIONS = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]


def bytes_of(name):
    with open(os.path.join(TLS, name), "rb") as file:
        return file.read()


def credentials(root="authority", pair=None):
    own = (None, None) if pair is None else (bytes_of(f"{pair}.key"), bytes_of(f"{pair}.pem"))
    return grpc.ssl_channel_credentials(bytes_of(f"{root}.pem"), *own)


class TransportCase(unittest.TestCase):
    def secured(self, options=(), **who):
        options = [*OPTIONS, *options]
        return self.kept(grpc.secure_channel(self.address(), credentials(**who), options))

    def plain(self, of=None):
        return self.kept(grpc.insecure_channel(self.address(of), OPTIONS))

    def address(self, of=None):
        return SERVERS[of or type(self).__name__]

    def kept(self, channel):
        self.addCleanup(channel.close)
        return channel

    def predict(self, channel, values):
        request = predict_pb2.PredictRequest()
        request.model_spec.name = "half_plus_three"
        request.inputs["x"].CopyFrom(tensor_of(np.array(values, np.float32)))
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        return array_of(stub.Predict(request, timeout=WAIT_SECONDS).outputs["y"])

    def works(self, channel):
        """Calls of the engine and of the shell, small and large, and one that fails."""
        np.testing.assert_array_equal(self.predict(channel, [1, 2, 5]), [3.5, 4, 5.5])
        many = np.arange(500_000, dtype=np.float32)
        np.testing.assert_array_equal(self.predict(channel, many), many / 2 + np.float32(3))
        status = get_model_status_pb2.GetModelStatusRequest()
        status.model_spec.name = "half_plus_three"
        models = model_service_pb2_grpc.ModelServiceStub(channel)
        (one,) = models.GetModelStatus(status, timeout=WAIT_SECONDS).model_version_status
        self.assertEqual(one.state, 30)
        asked = classification_pb2.ClassificationRequest()
        asked.model_spec.name = "half_plus_three"
        asked.input.example_list.examples.append(example(x=1.0))
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        with self.assertRaises(grpc.RpcError) as caught:
            stub.Classify(asked, timeout=WAIT_SECONDS)
        self.assertEqual(caught.exception.code(), CODES.INVALID_ARGUMENT)

    def unreachable(self, channel):
        with self.assertRaises(grpc.RpcError) as caught:
            self.predict(channel, [1])
        self.assertEqual(caught.exception.code(), CODES.UNAVAILABLE, caught.exception.details())


class Tls(TransportCase):
    def test_calls(self):
        self.works(self.secured())

    def test_a_certificate_that_nobody_asked_for(self):
        self.works(self.secured(pair="stranger"))

    def test_who_is_not_let_in(self):
        self.unreachable(self.secured(root="unknown"))
        self.unreachable(self.plain())
        self.works(self.secured())


class Mutual(TransportCase):
    def test_calls(self):
        self.works(self.secured(pair="client"))

    def test_who_is_not_let_in(self):
        self.unreachable(self.secured())
        self.unreachable(self.secured(pair="stranger"))
        self.unreachable(self.plain())
        self.works(self.secured(pair="client"))


class Unix(TransportCase):
    def test_calls_beside_tcp(self):
        channels = [self.plain(), self.plain("UnixsTcp")]
        for channel in channels:
            self.works(channel)
        failures = []

        def many(channel):
            try:
                for number in range(200):
                    np.testing.assert_array_equal(self.predict(channel, [number]), [number / 2 + 3])
            except Exception as error:  # of another thread
                failures.append(error)

        threads = [threading.Thread(target=many, args=(one,)) for one in channels]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])


class UnixTls(TransportCase):
    def test_calls(self):
        # The certificate is for localhost; a path has no name.
        self.works(self.secured([("grpc.ssl_target_name_override", "localhost")]))
        self.unreachable(self.plain())


if __name__ == "__main__":
    unittest.main()
