"""tritonclient's gRPC clients against a server that lets in whose certificate its authority signed,
and nobody else."""
import asyncio
import unittest

import tritonclient.grpc.aio as triton_aio
from transport.case import (
    ALONE, GRPC, Background, TransportCase, key, pem, plus_three)
from tritonclient.utils import InferenceServerException


class MutualTls(TransportCase):
    def test_a_client_of_the_authority(self):
        client = self.client(pair="client")
        self.answers(client)
        self.streams(client)

    def test_nobody_else(self):
        with Background(self.client(pair="client")) as others:
            others.wait_for(5)
            for who in (None, "stranger"):
                with self.subTest(who=who):
                    self.unreachable(self.client(pair=who))
            self.unreachable(self.plain_client(channel_args=ALONE))
            others.wait_for(50)

    def test_asyncio(self):
        async def run(pair):
            async with triton_aio.InferenceServerClient(
                    GRPC, ssl=True, root_certificates=pem("authority"), channel_args=ALONE,
                    private_key=key(pair), certificate_chain=pem(pair)) as client:
                return (await client.infer("half_plus_three", plus_three(1))).as_numpy("y")[0]

        self.assertEqual(asyncio.run(run("client")), 3.5)
        with self.assertRaises(InferenceServerException) as caught:
            asyncio.run(run("stranger"))
        self.assertEqual(caught.exception.status(), "StatusCode.UNAVAILABLE")


if __name__ == "__main__":
    unittest.main()
