"""requests and aiohttp against REST, as programs use them: sessions, JSON, bodies in chunks, gzip,
many calls at once, errors. Test time only."""
import asyncio
import gzip
import json
import os
import unittest

import aiohttp
import requests

BASE = f"http://{os.environ['SERVAL_HTTP']}"
PREDICT = f"{BASE}/v1/models/half_plus_three:predict"
WAIT_SECONDS = 60


def answer(numbers):
    return {"predictions": [number / 2 + 3 for number in numbers]}


class Requests(unittest.TestCase):
    def setUp(self):
        self.session = requests.Session()
        self.addCleanup(self.session.close)

    def post(self, **more):
        return self.session.post(PREDICT, timeout=WAIT_SECONDS, **more)

    def test_session_keeps_its_connection(self):
        ports = set()
        for number in range(20):
            with self.post(json={"instances": [number]}, stream=True) as response:
                ports.add(response.raw._connection.sock.getsockname())
                self.assertEqual(response.json(), answer([number]))
        self.assertEqual(len(ports), 1)

    def test_generator_is_sent_in_chunks(self):
        text = json.dumps({"instances": list(range(1000))}).encode()
        pieces = (text[at:at + 97] for at in range(0, len(text), 97))
        self.assertEqual(self.post(data=pieces).json(), answer(range(1000)))
        self.assertEqual(self.post(json={"instances": [1]}).json(), answer([1]))

    def test_gzip_both_ways(self):
        numbers = list(range(5000))
        body = gzip.compress(json.dumps({"instances": numbers}).encode())
        packed = {"Content-Encoding": "gzip"}
        self.assertEqual(self.post(data=body, headers=packed).json(), answer(numbers))
        tensor = {"name": "x", "datatype": "FP32", "shape": [5000], "data": numbers}
        response = self.session.post(f"{BASE}/v2/models/half_plus_three/infer",
                                     json={"inputs": [tensor]}, timeout=WAIT_SECONDS)
        self.assertEqual(response.headers["Content-Encoding"], "gzip")
        self.assertEqual(response.json()["outputs"][0]["data"], answer(numbers)["predictions"])

    def test_large_body_and_answer(self):
        numbers = list(range(300_000))
        self.assertEqual(self.post(json={"instances": numbers}).json(), answer(numbers))

    def test_errors_leave_the_session_usable(self):
        response = self.session.get(f"{BASE}/v1/models/none", timeout=WAIT_SECONDS)
        self.assertEqual(response.status_code, 404)
        self.assertIn("error", response.json())
        self.assertEqual(self.post(data="{").status_code, 400)
        self.assertEqual(self.post(json={"instances": [1]}).json(), answer([1]))


class Aiohttp(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        limit = aiohttp.ClientTimeout(total=WAIT_SECONDS)
        self.session = aiohttp.ClientSession(timeout=limit)
        self.addAsyncCleanup(self.session.close)

    async def post(self, **more):
        async with self.session.post(PREDICT, **more) as response:
            return response.status, await response.json()

    async def test_many_at_once(self):
        calls = [self.post(json={"instances": [number]}) for number in range(500)]
        for number, got in enumerate(await asyncio.gather(*calls)):
            self.assertEqual(got, (200, answer([number])))

    async def test_generator_is_sent_in_chunks(self):
        async def pieces():
            for piece in (b'{"insta', b'nces":[1', b".0,2.0", b"]}"):
                yield piece
                await asyncio.sleep(0)

        self.assertEqual(await self.post(data=pieces()), (200, answer([1, 2])))

    async def test_compressed_and_with_expect(self):
        more = {"json": {"instances": [4]}}
        self.assertEqual(await self.post(compress="gzip", **more), (200, answer([4])))
        self.assertEqual(await self.post(expect100=True, **more), (200, answer([4])))
        self.assertEqual(await self.post(expect100=True, chunked=True, **more), (200, answer([4])))

    async def test_errors_leave_the_session_usable(self):
        status, _ = await self.post(data=b"{")
        self.assertEqual(status, 400)
        self.assertEqual(await self.post(json={"instances": [1]}), (200, answer([1])))
