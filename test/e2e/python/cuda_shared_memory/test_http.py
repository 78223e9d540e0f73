"""suite.py over tritonclient.http."""
import unittest

import tritonclient.http as http
from cuda_shared_memory.suite import CudaSharedMemorySuite
from serval_case import HTTP


class CudaSharedMemoryOverHttp(CudaSharedMemorySuite):
    triton = http
    INVALID = "400"

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
        return self.client.get_cuda_shared_memory_status()

    def extensions(self):
        return self.client.get_server_metadata()["extensions"]


del CudaSharedMemorySuite

if __name__ == "__main__":
    unittest.main()
