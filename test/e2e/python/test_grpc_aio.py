"""tritonclient's asyncio gRPC client, unmodified. Source: seeds 000 and 002."""
import asyncio
import unittest

import numpy as np
import tritonclient.grpc.aio as triton
from serval_case import BINARY, DTYPES, GRPC, ServalCase, values
from tritonclient.utils import InferenceServerException


def make_input(name, array, datatype):
    return triton.InferInput(name, list(array.shape), datatype).set_data_from_numpy(array)


class GrpcAio(ServalCase, unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.client = triton.InferenceServerClient(GRPC)
        self.addAsyncCleanup(self.client.close)

    async def test_documents(self):
        self.assertTrue(await self.client.is_server_live())
        self.assertTrue(await self.client.is_server_ready())
        self.assertTrue(await self.client.is_model_ready("half_plus_three"))
        self.assertEqual((await self.client.get_server_metadata()).name, "serval")
        metadata = await self.client.get_model_metadata("scalar")
        self.assertEqual(list(metadata.inputs[0].shape), [])

    async def test_every_datatype_at_once(self):
        async def one(datatype):
            array = values(datatype, BINARY)
            result = await self.client.infer(f"identity_{datatype.lower()}",
                                             [make_input("input", array, datatype)])
            self.same(result.as_numpy("output"), array, datatype)

        await asyncio.gather(*(one(datatype) for datatype in DTYPES for _ in range(4)))

    async def test_stream(self):
        async def requests():
            for number in range(60):
                array = np.full((2,), number, dtype=np.float32)
                yield {"model_name": "nope" if number % 10 == 5 else "half_plus_three",
                       "inputs": [make_input("x", array, "FP32")], "request_id": str(number)}

        number = 0
        async for result, error in self.client.stream_infer(requests()):
            if number % 10 == 5:
                self.assertIn("'nope'", error.message())
            else:
                self.assertIsNone(error)
                self.assertEqual(result.get_response().id, str(number))
                expected = np.full((2,), number / 2 + 3, dtype=np.float32)
                self.same(result.as_numpy("y"), expected)
            number += 1
        self.assertEqual(number, 60)

    async def test_errors_and_cancellation(self):
        x = make_input("x", np.float32([1]), "FP32")
        with self.assertRaises(InferenceServerException) as caught:
            await self.client.infer("nope", [x])
        self.assertEqual(caught.exception.status(), "StatusCode.NOT_FOUND")
        slow = [make_input("input", np.float32([1]), "FP32")]
        call = asyncio.ensure_future(self.client.infer("slow_second", slow))
        await asyncio.sleep(0)
        call.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await call
        with self.assertRaises(InferenceServerException) as caught:
            await self.client.infer("slow_second", slow, client_timeout=0.02)
        self.assertEqual(caught.exception.status(), "StatusCode.DEADLINE_EXCEEDED")
        result = await self.client.infer("half_plus_three", [x])
        self.same(result.as_numpy("y"), np.float32([3.5]))


if __name__ == "__main__":
    unittest.main()
