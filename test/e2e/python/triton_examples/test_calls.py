"""The calls of Triton's public client examples (client/src/python/examples), with tritonclient
unmodified: simple_grpc_sequence_stream_infer_client, simple_grpc_sequence_sync_infer_client,
simple_http_sequence_sync_infer_client, their asyncio forms, and simple_grpc_custom_repeat with one
response. The wheels do not have the examples. The models are those of
test/e2e/sequences/triton-examples.test.ts."""
import asyncio
import queue
import unittest
import uuid

import numpy as np
import tritonclient.grpc
import tritonclient.grpc.aio
import tritonclient.http
import tritonclient.http.aio
from serval_case import GRPC, HTTP, ServalCase

VALUES = [11, 7, 5, 3, 2, 0, 1]
NEGATED = [-value for value in VALUES]
WAIT_SECONDS = 60


def request(triton, value):
    array = np.full([1, 1], value, np.int32)
    tensor = triton.InferInput("INPUT", list(array.shape), "INT32")
    tensor.set_data_from_numpy(array)
    return {"inputs": [tensor], "outputs": [triton.InferRequestedOutput("OUTPUT")]}


def expected(values, dyna, identifier):
    """The first request of a sequence gets 1 more; its last one, the id if the model is dyna."""
    sums = [values[0] + 1, *values[1:]]
    return [*sums[:-1], sums[-1] + identifier] if dyna else sums


def expected_of_text(values, identifier):
    """The model for ids of text adds up."""
    sums = list(np.cumsum(values))
    return [*sums[:-1], sums[-1] + int(identifier)]


def steps(values):
    """Each value with its place in the sequence."""
    last = len(values) - 1
    return [(value, {"sequence_start": i == 0, "sequence_end": i == last})
            for i, value in enumerate(values)]


class Sequences(ServalCase):
    def sequences(self, dyna):
        """(model, id, values, results) of three sequences: two with numbers, one with text."""
        number = "simple_dyna_sequence" if dyna else "simple_sequence"
        text = "simple_string_dyna_sequence" if dyna else "simple_sequence"
        name = "1002" if dyna else str(uuid.uuid4())
        texts = [20, *NEGATED]
        return [
            (number, 1000, [0, *VALUES], expected([0, *VALUES], dyna, 1000)),
            (number, 1001, [100, *NEGATED], expected([100, *NEGATED], dyna, 1001)),
            (text, name, texts,
             expected_of_text(texts, name) if dyna else expected(texts, False, 0)),
        ]

    def test_streams(self):
        for dyna in (False, True):
            with self.subTest(dyna=dyna):
                self.stream(dyna)

    def stream(self, dyna):
        replies = queue.Queue()
        results = {}
        with tritonclient.grpc.InferenceServerClient(GRPC) as client:
            client.start_stream(callback=lambda result, error: replies.put((result, error)))
            for model, identifier, values, _ in self.sequences(dyna):
                for i, (value, place) in enumerate(steps(values)):
                    client.async_stream_infer(
                        model_name=model, request_id=f"{identifier}_{i}",
                        sequence_id=identifier, **place, **request(tritonclient.grpc, value))
            for _ in range(3 * (len(VALUES) + 1)):
                result, error = replies.get(timeout=WAIT_SECONDS)
                self.assertIsNone(error)
                identifier = result.get_response().id.split("_")[0]
                results.setdefault(identifier, []).append(int(result.as_numpy("OUTPUT")[0][0]))
        by_value = [wanted for *_, wanted in self.sequences(dyna)]
        self.assertEqual(list(results.values()), by_value)

    def test_synchronous_calls(self):
        for triton, place in ((tritonclient.grpc, GRPC), (tritonclient.http, HTTP)):
            for dyna in (False, True):
                with self.subTest(client=triton.__name__, dyna=dyna):
                    client = triton.InferenceServerClient(place)
                    for model, identifier, values, wanted in self.sequences(dyna):
                        got = [client.infer(model, sequence_id=identifier, **at,
                                            **request(triton, value)).as_numpy("OUTPUT")[0][0]
                               for value, at in steps(values)]
                        self.assertEqual(got, wanted)
                    client.close()

    def test_interleaved_calls(self):
        client = tritonclient.grpc.InferenceServerClient(GRPC)
        all_steps = [(model, identifier, steps(values))
                     for model, identifier, values, _ in self.sequences(True)]
        got = [[] for _ in all_steps]
        for i in range(len(VALUES) + 1):
            for at, (model, identifier, of_one) in enumerate(all_steps):
                value, place = of_one[i]
                result = client.infer(model, sequence_id=identifier, **place,
                                      **request(tritonclient.grpc, value))
                got[at].append(result.as_numpy("OUTPUT")[0][0])
        self.assertEqual(got, [wanted for *_, wanted in self.sequences(True)])
        client.close()

    def test_asyncio(self):
        async def ask(triton, place):
            async with triton.InferenceServerClient(place) as client:
                async def one(model, identifier, values):
                    got = []
                    for value, at in steps(values):
                        result = await client.infer(model, sequence_id=identifier, **at,
                                                    **request(triton, value))
                        got.append(result.as_numpy("OUTPUT")[0][0])
                    return got
                wanted = self.sequences(True)
                got = await asyncio.gather(*(one(*each[:3]) for each in wanted))
                self.assertEqual(got, [each[3] for each in wanted])

        asyncio.run(ask(tritonclient.grpc.aio, GRPC))
        asyncio.run(ask(tritonclient.http.aio, HTTP))

    def test_asyncio_stream(self):
        async def ask():
            async with tritonclient.grpc.aio.InferenceServerClient(GRPC) as client:
                async def requests():
                    for model, identifier, values, _ in self.sequences(True):
                        for value, place in steps(values):
                            yield {"model_name": model, "sequence_id": identifier,
                                   "request_id": str(identifier), **place,
                                   **request(tritonclient.grpc.aio, value)}
                results = {}
                async for result, error in client.stream_infer(requests()):
                    self.assertIsNone(error)
                    of_one = results.setdefault(result.get_response().id, [])
                    of_one.append(int(result.as_numpy("OUTPUT")[0][0]))
                self.assertEqual(list(results.values()), [each[3] for each in self.sequences(True)])

        asyncio.run(ask())


class Decoupled(ServalCase):
    """The model repeat_int32: OUT = IN. It has one response for each request."""

    def repeat(self, values):
        array = np.array(values, np.int32)
        tensor = tritonclient.grpc.InferInput("IN", list(array.shape), "INT32")
        tensor.set_data_from_numpy(array)
        return {"inputs": [tensor], "outputs": [tritonclient.grpc.InferRequestedOutput("OUT")]}

    def stream(self, model, **more):
        """The replies to three requests."""
        replies = queue.Queue()
        with tritonclient.grpc.InferenceServerClient(GRPC) as client:
            client.start_stream(callback=lambda result, error: replies.put((result, error)))
            for value in (7, 8, 9):
                client.async_stream_infer(model, request_id=str(value), **self.repeat([value]),
                                          **more)
            got = [replies.get(timeout=WAIT_SECONDS) for _ in range(3)]
            client.stop_stream()
        self.assertTrue(replies.empty(), "one response to each request")
        return got

    def test_streams(self):
        for model in ("repeat_int32", "decoupled_ensemble", "not_decoupled"):
            for empty in (False, True):
                with self.subTest(model=model, empty=empty):
                    got = self.stream(model, enable_empty_final_response=empty)
                    for value, (result, error) in zip((7, 8, 9), got):
                        self.assertIsNone(error)
                        response = result.get_response()
                        self.assertEqual(response.id, str(value))
                        self.assertTrue(response.parameters["triton_final_response"].bool_param)
                        self.assertEqual(result.as_numpy("OUT").tolist(), [value])

    def test_an_error_is_final(self):
        with tritonclient.grpc.InferenceServerClient(GRPC) as client:
            replies = queue.Queue()
            client.start_stream(callback=lambda result, error: replies.put((result, error)))
            wrong = tritonclient.grpc.InferInput("WRONG", [1], "INT32")
            wrong.set_data_from_numpy(np.array([1], np.int32))
            client.async_stream_infer("repeat_int32", inputs=[wrong],
                                      enable_empty_final_response=True)
            client.async_stream_infer("repeat_int32", **self.repeat([5]),
                                      enable_empty_final_response=True)
            result, error = replies.get(timeout=WAIT_SECONDS)
            self.assertIsNone(result)
            self.assertIn("WRONG", error.message())
            result, error = replies.get(timeout=WAIT_SECONDS)
            self.assertIsNone(error)
            self.assertEqual(result.as_numpy("OUT").tolist(), [5])

    def test_asyncio_stream(self):
        async def ask():
            async with tritonclient.grpc.aio.InferenceServerClient(GRPC) as client:
                async def requests():
                    for value in range(10):
                        yield {"model_name": "repeat_int32", **self.repeat([value]),
                               "enable_empty_final_response": True}
                values = []
                async for result, error in client.stream_infer(requests()):
                    self.assertIsNone(error)
                    values.append(int(result.as_numpy("OUT")[0]))
                self.assertEqual(values, list(range(10)))

        asyncio.run(ask())

    def test_unary_calls_are_refused(self):
        text = "doesn't support models with decoupled transaction policy"
        for model in ("repeat_int32", "decoupled_ensemble"):
            for triton, place, status in ((tritonclient.grpc, GRPC, "StatusCode.UNIMPLEMENTED"),
                                          (tritonclient.http, HTTP, "501")):
                with self.subTest(model=model, client=triton.__name__):
                    client = triton.InferenceServerClient(place)
                    array = np.array([1], np.int32)
                    tensor = triton.InferInput("IN", [1], "INT32")
                    tensor.set_data_from_numpy(array)
                    self.refused(lambda: client.infer(model, [tensor]), status, text)
                    client.close()

    def test_the_configuration_says_so(self):
        client = tritonclient.grpc.InferenceServerClient(GRPC)
        for model, decoupled in (("repeat_int32", True), ("decoupled_ensemble", True),
                                 ("not_decoupled", False)):
            config = client.get_model_config(model).config
            self.assertEqual(config.model_transaction_policy.decoupled, decoupled)
        client.close()


if __name__ == "__main__":
    unittest.main()
