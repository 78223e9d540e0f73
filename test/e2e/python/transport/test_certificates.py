"""Certificates that change under a server with clients: who is connected goes on, who comes gets
the new ones. The server's files are `live.pem` and `live.key`."""
import os
import shutil
import signal
import time
import unittest

from transport.case import (
    WAIT_SECONDS, Background, TransportCase, bytes_of, key, pem, presented, refuses)


def put(name, suffixes=("key", "pem")):
    """Makes the files of `name` the server's, each at once, the key first."""
    for suffix in suffixes:
        source = key(name) if suffix == "key" else pem(name)
        beside = f"{source}.beside"
        shutil.copyfile(source, beside)
        os.replace(beside, key("live") if suffix == "key" else pem("live"))


class Certificates(TransportCase):
    def becomes(self, name):
        """Waits until who comes is shown the certificate of `name`."""
        wanted = bytes_of(pem(name)).decode().strip()
        limit = time.monotonic() + WAIT_SECONDS
        while presented().strip() != wanted:
            self.assertLess(time.monotonic(), limit, f"the server does not show {name}")
            time.sleep(0.02)

    def test_they_change(self):
        put("server")
        self.becomes("server")
        with Background(self.client(root="authority")) as others:
            others.wait_for(20)
            put("stranger")  # signed by somebody else
            self.becomes("stranger")
            others.wait_for(20)
            self.answers(self.client(root="unknown"))
            self.assertTrue(refuses(pem("authority")))
            put("server")
            self.becomes("server")
            self.assertTrue(refuses(pem("unknown")))
            others.wait_for(20)

    def test_sighup_and_bad_files(self):
        put("server")
        self.becomes("server")
        with Background(self.client(root="authority")) as others:
            for _ in range(3):
                os.kill(int(os.environ["SERVAL_PID"]), signal.SIGHUP)
                others.wait_for(20)
            put("stranger", ("key",))  # of no certificate that is there
            for _ in range(3):
                os.kill(int(os.environ["SERVAL_PID"]), signal.SIGHUP)
                others.wait_for(20)
            self.becomes("server")  # still
            self.answers(self.client(root="authority"))
            put("stranger")
            self.becomes("stranger")
            others.wait_for(20)


if __name__ == "__main__":
    unittest.main()
