"""What the suites of the transport share: TLS files, clients with them, calls that go on in the
background, who the server says it is. Test time only."""
import os
import socket
import ssl
import threading
import unittest

import grpc
import numpy as np
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

GRPC = os.environ["SERVAL_GRPC"]
# Written by test/e2e/support/certificates.ts.
TLS = os.environ.get("SERVAL_TLS", "")
WAIT_SECONDS = 60
UNAVAILABLE = "StatusCode.UNAVAILABLE"
# Otherwise a process shares its connections among clients of the same address. The lengths are
# tritonclient's own, which it omits if it is given arguments.
ALONE = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1),
         ("grpc.max_send_message_length", -1)]


def pem(name):
    return os.path.join(TLS, f"{name}.pem")


def key(name):
    return os.path.join(TLS, f"{name}.key")


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def plus_three(number, count=2):
    array = np.full((count,), number, dtype=np.float32)
    return [triton.InferInput("x", [count], "FP32").set_data_from_numpy(array)]


def refuses(path):
    """Whether the server's certificate is not one that the authority in `path` signed."""
    with triton.InferenceServerClient(GRPC, ssl=True, root_certificates=path,
                                      channel_args=ALONE) as client:
        try:
            return not client.is_server_live(client_timeout=WAIT_SECONDS)
        except InferenceServerException as error:
            assert error.status() == UNAVAILABLE, error
            return True


def presented():
    """The server's certificate as PEM text."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    host, port = GRPC.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=WAIT_SECONDS) as plain:
        with context.wrap_socket(plain) as secured:
            return ssl.DER_cert_to_PEM_cert(secured.getpeercert(binary_form=True))


class TransportCase(unittest.TestCase):
    def client(self, address=GRPC, root="authority", pair=None, **more):
        """Over TLS; `pair` names the client's own certificate."""
        files = {"root_certificates": pem(root)}
        if pair is not None:
            files |= {"private_key": key(pair), "certificate_chain": pem(pair)}
        return self.kept(triton.InferenceServerClient(
            address, ssl=True, channel_args=ALONE, **files, **more))

    def plain_client(self, address=GRPC, **more):
        return self.kept(triton.InferenceServerClient(address, **more))

    def kept(self, client):
        self.addCleanup(client.close)
        return client

    def answers(self, client, number=1, **more):
        result = client.infer("half_plus_three", plus_three(number),
                              client_timeout=WAIT_SECONDS, **more)
        np.testing.assert_array_equal(result.as_numpy("y"), np.float32([number / 2 + 3] * 2))

    def unreachable(self, client):
        with self.assertRaises(InferenceServerException) as caught:
            client.is_server_live(client_timeout=WAIT_SECONDS)
        self.assertEqual(caught.exception.status(), UNAVAILABLE, str(caught.exception))

    def streams(self, client, count=20):
        """Answers of a stream, in order."""
        replies = []
        done = threading.Semaphore(0)

        def take(result, error):
            replies.append(error or result.get_response().id)
            done.release()

        client.start_stream(take)
        for number in range(count):
            client.async_stream_infer("half_plus_three", plus_three(number),
                                      request_id=str(number))
        for _ in range(count):
            self.assertTrue(done.acquire(timeout=WAIT_SECONDS), replies)
        client.stop_stream()
        self.assertEqual(replies, [str(number) for number in range(count)])


class Background:
    """Calls of one client, one after the other, and a stream that is kept open. What fails is
    kept."""

    def __init__(self, client):
        self.client = client
        self.answered = 0
        self.failures = []
        self.more = threading.Condition()
        self.stopping = threading.Event()
        client.start_stream(self.take)
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopping.set()
        self.thread.join()
        self.client.stop_stream()

    def take(self, result, error):
        with self.more:
            if error is None:
                self.answered += 1
            else:
                self.failures.append(error)
            self.more.notify_all()

    def run(self):
        while not self.stopping.is_set():
            error = None
            try:
                self.client.infer("half_plus_three", plus_three(1), client_timeout=WAIT_SECONDS)
                self.client.async_stream_infer("half_plus_three", plus_three(1))
            except (InferenceServerException, grpc.RpcError) as caught:
                error = caught
            self.take(None, error)

    def wait_for(self, count):
        """Waits for so many more answers."""
        with self.more:
            wanted = self.answered + count
            done = self.more.wait_for(lambda: self.answered >= wanted or self.failures,
                                      WAIT_SECONDS)
        assert done and not self.failures, self.failures[:3]
