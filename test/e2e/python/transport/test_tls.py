"""tritonclient's gRPC clients over TLS, unmodified: a server with a certificate, which asks clients
for none. Source: v2-protocol.md 11."""
import asyncio
import queue
import unittest

import grpc
import numpy as np
import tritonclient.grpc as triton
import tritonclient.grpc.aio as triton_aio
from transport.case import (
    ALONE, GRPC, WAIT_SECONDS, Background, TransportCase, bytes_of, pem, plus_three)


class Tls(TransportCase):
    def test_every_kind_of_call(self):
        client = self.client()
        self.assertTrue(client.is_server_live())
        self.assertTrue(client.is_server_ready())
        self.assertEqual(client.get_server_metadata().name, "serval")
        self.assertEqual(client.get_model_metadata("half_plus_three").inputs[0].name, "x")
        self.answers(client)
        self.streams(client)
        done = queue.Queue()
        for number in range(20):
            client.async_infer("half_plus_three", plus_three(number),
                               lambda result, error: done.put(error or result), request_id="1")
        for _ in range(20):
            self.assertEqual(done.get(timeout=WAIT_SECONDS).get_response().id, "1")

    def test_large_and_packed_messages(self):
        client = self.client()
        large = np.random.default_rng(1).random((1, 5_000_000), dtype=np.float32)
        tensor = triton.InferInput("input", list(large.shape), "FP32").set_data_from_numpy(large)
        result = client.infer("identity_fp32", [tensor])
        np.testing.assert_array_equal(result.as_numpy("output"), large)
        for algorithm in ("gzip", "deflate"):
            self.answers(client, compression_algorithm=algorithm)

    def test_many_connections(self):
        for number in range(20):
            self.answers(self.client(), number)

    def test_credentials_of_grpc(self):
        credentials = grpc.ssl_channel_credentials(bytes_of(pem("authority")))
        self.answers(self.kept(triton.InferenceServerClient(GRPC, creds=credentials)))
        # A certificate that the server did not request does no harm.
        self.answers(self.client(pair="stranger"))

    def test_keepalive_options(self):
        options = triton.KeepAliveOptions(keepalive_time_ms=500, http2_max_pings_without_data=0)
        self.answers(self.client(keepalive_options=options))

    def test_asyncio(self):
        async def run():
            async with triton_aio.InferenceServerClient(
                    GRPC, ssl=True, root_certificates=pem("authority")) as client:
                calls = [client.infer("half_plus_three", plus_three(n)) for n in range(20)]
                return [result.as_numpy("y")[0] for result in await asyncio.gather(*calls)]

        self.assertEqual(asyncio.run(run()), [n / 2 + 3 for n in range(20)])

    def test_who_is_not_let_in_harms_nobody(self):
        with Background(self.client()) as others:
            others.wait_for(5)
            self.unreachable(self.client(root="unknown"))  # trusts somebody else
            self.unreachable(self.plain_client(channel_args=ALONE))  # no TLS
            others.wait_for(50)


if __name__ == "__main__":
    unittest.main()
