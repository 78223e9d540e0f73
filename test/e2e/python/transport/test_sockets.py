"""tritonclient's gRPC client over a unix socket, beside TCP; SERVAL_UNIX is its path."""
import os
import unittest

import tritonclient.grpc as triton
from transport.case import ALONE, Background, TransportCase, pem

UNIX = f"unix:{os.environ['SERVAL_UNIX']}"
# The certificate is for localhost; a path has no name.
NAMED = [*ALONE, ("grpc.ssl_target_name_override", "localhost")]


class Plain(TransportCase):
    def over_unix(self):
        return self.plain_client(UNIX)

    def over_tcp(self):
        return self.plain_client()

    def test_calls_and_streams(self):
        client = self.over_unix()
        self.assertTrue(client.is_server_ready())
        self.answers(client)
        self.streams(client)

    def test_tcp_beside(self):
        with Background(self.over_tcp()) as tcp, Background(self.over_unix()) as local:
            tcp.wait_for(20)
            local.wait_for(20)


class Secured(Plain):
    def over_unix(self):
        return self.kept(triton.InferenceServerClient(
            UNIX, ssl=True, root_certificates=pem("authority"), channel_args=NAMED))

    def over_tcp(self):
        return self.client()

    def test_tls_is_wanted_there_too(self):
        self.unreachable(self.plain_client(UNIX))


if __name__ == "__main__":
    unittest.main()
