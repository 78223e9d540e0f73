"""suite.py over tritonclient.grpc, and its streams."""
import queue
import unittest

import numpy as np
import tritonclient.grpc as grpc
from serval_case import GRPC
from shared_memory.suite import COUNT, SharedMemorySuite
from tritonclient.utils import shared_memory as shm

WAIT_SECONDS = 60


class SharedMemoryOverGrpc(SharedMemorySuite):
    triton = grpc
    INVALID = "StatusCode.INVALID_ARGUMENT"
    UNIMPLEMENTED = "StatusCode.UNIMPLEMENTED"

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
        regions = self.client.get_system_shared_memory_status(as_json=True).get("regions", {})
        return [regions[name] for name in sorted(regions)]

    def cuda_status(self):
        return list(self.client.get_cuda_shared_memory_status().regions)

    def extensions(self):
        return list(self.client.get_server_metadata().extensions)

    def plain_output(self, name):
        return grpc.InferRequestedOutput(name)

    def check_place(self, output, region, size, offset):
        place = output.parameters
        self.assertEqual((place["shared_memory_region"].string_param,
                          place["shared_memory_byte_size"].int64_param,
                          place["shared_memory_offset"].int64_param), (region, size, offset))

    def test_a_stream(self):
        first, second, answer, inputs, outputs = self.simple_request()
        answers = queue.Queue()
        with self.make_client() as client:
            client.start_stream(lambda result, error: answers.put((result, error)))
            for id in ("a", "b"):
                client.async_stream_infer("simple", inputs, outputs=outputs, request_id=id)
                result, error = answers.get(timeout=WAIT_SECONDS)
                self.assertIsNone(error)
                self.assertEqual(result.get_response().id, id)
                self.same(self.contents(answer, result, "OUTPUT0"), first + second)
                shm.set_shared_memory_region(answer, [np.zeros(COUNT * 2, dtype=np.int32)])
            wrong = self.input_at("INPUT1", "INT32", (1, COUNT), "none", COUNT * 4)
            client.async_stream_infer("simple", [inputs[0], wrong], outputs=outputs)
            _, error = answers.get(timeout=WAIT_SECONDS)
            self.assertIn("Unable to find shared memory region: 'none'", str(error))
            client.stop_stream()


del SharedMemorySuite

if __name__ == "__main__":
    unittest.main()
