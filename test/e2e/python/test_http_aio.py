"""tritonclient's asyncio HTTP client, unmodified. Source: seeds 000 and 001."""
import asyncio
import unittest

import numpy as np
import tritonclient.http.aio as http
from serval_case import DTYPES, HTTP, ServalCase, values
from tritonclient.utils import InferenceServerException


def make_input(name, array, datatype, binary=True):
    made = http.InferInput(name, list(array.shape), datatype)
    return made.set_data_from_numpy(array, binary_data=binary)


class HttpAio(ServalCase, unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.client = http.InferenceServerClient(HTTP)
        self.addAsyncCleanup(self.client.close)

    async def test_documents(self):
        self.assertTrue(await self.client.is_server_live())
        self.assertTrue(await self.client.is_server_ready())
        self.assertTrue(await self.client.is_model_ready("half_plus_three"))
        self.assertFalse(await self.client.is_model_ready("nope"))
        self.assertEqual((await self.client.get_server_metadata())["name"], "serval")
        metadata = await self.client.get_model_metadata("identity_bf16")
        self.assertEqual(metadata["inputs"][0]["datatype"], "BF16")

    async def test_every_datatype(self):
        async def one(datatype, binary):
            array = values(datatype)
            outputs = [http.InferRequestedOutput("output", binary_data=binary)]
            model = f"identity_{datatype.lower()}"
            inputs = [make_input("input", array, datatype, binary or datatype == "BF16")]
            result = await self.client.infer(model, inputs, outputs=outputs)
            self.same(result.as_numpy("output"), array, f"{datatype} {binary}")

        await asyncio.gather(*(one(d, b) for d in DTYPES for b in (True, False)))

    async def test_compression(self):
        array = np.arange(1000, dtype=np.float32)
        codings = (None, "gzip", "deflate")
        for request, response in ((a, b) for a in codings for b in codings):
            result = await self.client.infer(
                "half_plus_three", [make_input("x", array, "FP32")],
                request_compression_algorithm=request,
                response_compression_algorithm=response)
            self.same(result.as_numpy("y"), array / 2 + 3)

    async def test_many_at_once(self):
        async def one(number):
            array = np.full((2,), number, dtype=np.float32)
            result = await self.client.infer(
                "half_plus_three", [make_input("x", array, "FP32")], request_id=str(number))
            self.assertEqual(result.get_response()["id"], str(number))
            self.same(result.as_numpy("y"), array / 2 + 3)

        await asyncio.gather(*(one(number) for number in range(200)))

    async def test_errors(self):
        with self.assertRaises(InferenceServerException) as caught:
            await self.client.infer("nope", [make_input("x", np.float32([1]), "FP32")])
        self.assertEqual(caught.exception.status(), "404")
        self.assertIn("'nope'", caught.exception.message())

    async def test_a_cancelled_call_leaves_the_client_usable(self):
        array = np.float32([1])
        slow = [make_input("input", array, "FP32")]
        call = asyncio.ensure_future(self.client.infer("slow", slow))
        await asyncio.sleep(0)
        call.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await call
        result = await self.client.infer("half_plus_three", [make_input("x", array, "FP32")])
        self.same(result.as_numpy("y"), np.float32([3.5]))


if __name__ == "__main__":
    unittest.main()
