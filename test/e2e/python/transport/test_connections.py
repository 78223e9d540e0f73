"""Flags of connections as grpcio's clients meet them: pings, ages, packed answers. Each class is
for a server with flags of its own: tritonclient-transport.test.ts. Test time only."""
import socket
import threading
import unittest

import grpc
import numpy as np
import tritonclient.grpc as triton
from transport.case import ALONE, GRPC, WAIT_SECONDS, Background, TransportCase

PING_FRAME = 6
PING_BYTES = 9 + 8
PINGS = triton.KeepAliveOptions(
    keepalive_time_ms=100, keepalive_timeout_ms=20_000, keepalive_permit_without_calls=True,
    http2_max_pings_without_data=0)


class Counted:
    """A way to the server that counts what it says, and how often it is called."""

    def __init__(self):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listening.getsockname()[1]
        self.received = 0
        self.pings = threading.Semaphore(0)
        self.connections = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listening.accept()
            except OSError:
                return
            self.connections += 1
            host, port = GRPC.rsplit(":", 1)
            far = socket.create_connection((host, int(port)))
            for args in ((near, far, False), (far, near, True)):
                threading.Thread(target=self.carry, args=args, daemon=True).start()

    def carry(self, source, target, counts):
        try:
            while part := source.recv(65536):
                if counts:
                    self.received += len(part)
                    if len(part) == PING_BYTES and part[3] == PING_FRAME:
                        self.pings.release()
                target.sendall(part)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listening.close()


class CountedCase(TransportCase):
    def way(self):
        counted = Counted()
        self.addCleanup(counted.close)
        return counted


class Pings(CountedCase):
    def test_a_client_that_pings_while_it_waits_is_kept(self):
        way = self.way()
        client = self.plain_client(way.address, keepalive_options=PINGS)
        self.answers(client)
        for _ in range(3):  # answers to them, without any call
            self.assertTrue(way.pings.acquire(timeout=WAIT_SECONDS))
        self.answers(client)
        self.assertEqual(way.connections, 1)


class Strikes(CountedCase):
    def test_a_client_that_pings_too_often_is_sent_away_and_may_come_again(self):
        way = self.way()
        options = [*ALONE, ("grpc.keepalive_time_ms", 100),
                   ("grpc.keepalive_permit_without_calls", 1),
                   ("grpc.http2.max_pings_without_data", 0)]
        channel = grpc.insecure_channel(way.address, options=options)
        self.addCleanup(channel.close)
        gone = threading.Event()
        ready = threading.Event()

        def changed(state):
            if state == grpc.ChannelConnectivity.READY:
                ready.set()
            elif ready.is_set():
                gone.set()

        channel.subscribe(changed, try_to_connect=True)
        self.assertTrue(ready.wait(WAIT_SECONDS))
        self.assertTrue(gone.wait(WAIT_SECONDS), "never sent away")
        live = channel.unary_unary("/inference.GRPCInferenceService/ServerLive")
        self.assertEqual(live(b"", timeout=WAIT_SECONDS, wait_for_ready=True), b"\x08\x01")


class ServerPings(CountedCase):
    def test_a_client_that_waits_is_pinged(self):
        way = self.way()
        client = self.plain_client(way.address)
        self.answers(client)
        for _ in range(3):
            self.assertTrue(way.pings.acquire(timeout=WAIT_SECONDS))
        self.answers(client)
        self.assertEqual(way.connections, 1)


class Ages(CountedCase):
    def test_no_call_is_lost_while_connections_are_retired(self):
        way = self.way()
        client = self.plain_client(way.address, channel_args=ALONE)
        x = np.float32([1, 1])
        inputs = [triton.InferInput("x", [2], "FP32").set_data_from_numpy(x)]
        answered = 0
        while way.connections < 5:
            result = client.infer("half_plus_three", inputs, client_timeout=WAIT_SECONDS)
            self.assertEqual(result.as_numpy("y")[0], 3.5)
            answered += 1
        self.assertGreater(answered, 5)


class Packed(CountedCase):
    def test_answers_are_packed(self):
        way = self.way()
        client = self.plain_client(way.address)
        zeros = np.zeros((1, 250_000), dtype=np.float32)
        tensor = triton.InferInput("input", list(zeros.shape), "FP32").set_data_from_numpy(zeros)
        for algorithm in (None, "gzip", "deflate"):
            before = way.received
            result = client.infer("identity_fp32", [tensor], compression_algorithm=algorithm)
            np.testing.assert_array_equal(result.as_numpy("output"), zeros)
            self.assertLess(way.received - before, zeros.nbytes / 10)
        with Background(client) as stream:
            stream.wait_for(20)


if __name__ == "__main__":
    unittest.main()
