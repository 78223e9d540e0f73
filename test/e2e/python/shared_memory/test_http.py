"""suite.py over tritonclient.http."""
import unittest

import tritonclient.http as http
from serval_case import HTTP
from shared_memory.suite import SharedMemorySuite


class SharedMemoryOverHttp(SharedMemorySuite):
    triton = http
    INVALID = "400"
    UNIMPLEMENTED = "501"

    @staticmethod
    def make_client():
        return http.InferenceServerClient(HTTP, concurrency=1)

    @classmethod
    def setUpClass(cls):
        cls.client = cls.make_client()

    @classmethod
    def tearDownClass(cls):
        cls.client.close()

    def status(self):
        return self.client.get_system_shared_memory_status()

    def cuda_status(self):
        return self.client.get_cuda_shared_memory_status()

    def extensions(self):
        return self.client.get_server_metadata()["extensions"]

    def plain_output(self, name):
        return http.InferRequestedOutput(name, binary_data=True)

    def check_place(self, output, region, size, offset):
        """Triton's C++ client takes an output's parameters for those of binary data."""
        self.assertEqual(set(output), {"name", "datatype", "shape"})


del SharedMemorySuite

if __name__ == "__main__":
    unittest.main()
