"""suite.py over tritonclient.grpc."""
import unittest

import tritonclient.grpc as grpc
from cuda_shared_memory.suite import CudaSharedMemorySuite
from serval_case import GRPC


class CudaSharedMemoryOverGrpc(CudaSharedMemorySuite):
    triton = grpc
    INVALID = "StatusCode.INVALID_ARGUMENT"

    @staticmethod
    def make_client():
        return grpc.InferenceServerClient(GRPC)

    @classmethod
    def setUpClass(cls):
        cls.client = cls.make_client()

    @classmethod
    def tearDownClass(cls):
        cls.client.close()

    def status(self):
        regions = self.client.get_cuda_shared_memory_status(as_json=True).get("regions", {})
        return [regions[name] for name in sorted(regions)]

    def extensions(self):
        return list(self.client.get_server_metadata().extensions)


del CudaSharedMemorySuite

if __name__ == "__main__":
    unittest.main()
