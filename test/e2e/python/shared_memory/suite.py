"""What Triton's examples for system shared memory do (simple_{http,grpc}_shm_client.py,
_shm_string_client.py), with the clients' own tools, written once for HTTP and gRPC, and what such
clients may get wrong. test_http.py and test_grpc.py fill in the client. The models: `simple`
(Triton's: sum and difference of two [1, 16] of INT32) and the fixtures identity_*. Test time only.
Source: v2-protocol.md 2, 11; tritonclient.utils.shared_memory."""
import os
import threading

import numpy as np
import tritonclient.utils as utils
from serval_case import DTYPES, ServalCase, values
from tritonclient.utils import shared_memory as shm

COUNT = 16
SIZE = COUNT * 4


class SharedMemorySuite(ServalCase):
    """Needs of the client: `triton` (the module), `client`, make_client(), check_place(),
    plain_output(), status(), cuda_status(), extensions(), INVALID, UNIMPLEMENTED."""

    def setUp(self):
        self.client.unregister_system_shared_memory()
        self.client.unregister_cuda_shared_memory()
        self.handles = []

    def tearDown(self):
        self.client.unregister_system_shared_memory()
        for handle in self.handles:
            shm.destroy_shared_memory_region(handle)
        self.assertEqual(shm.mapped_shared_memory_regions(), [])

    def region(self, name, size, register=True):
        key = f"/serval_{os.getpid()}_{name}"
        handle = shm.create_shared_memory_region(name, key, size)
        self.handles.append(handle)
        if register:
            self.client.register_system_shared_memory(name, key, size)
        return handle

    def input_at(self, name, datatype, shape, region, size, offset=0):
        tensor = self.triton.InferInput(name, list(shape), datatype)
        tensor.set_shared_memory(region, size, offset)
        return tensor

    def output_at(self, name, region, size, offset=0):
        output = self.triton.InferRequestedOutput(name)
        output.set_shared_memory(region, size, offset)
        return output

    def contents(self, handle, result, name, offset=0):
        output = result.get_output(name)
        datatype = output["datatype"] if isinstance(output, dict) else output.datatype
        shape = output["shape"] if isinstance(output, dict) else list(output.shape)
        return shm.get_contents_as_numpy(handle, utils.triton_to_np_dtype(datatype), shape, offset)

    def simple_request(self, **more):
        first = np.arange(COUNT, dtype=np.int32).reshape(1, COUNT)
        second = np.full((1, COUNT), 3, dtype=np.int32)
        place = self.region("input_data", SIZE * 2)
        answer = self.region("output_data", SIZE * 2)
        shm.set_shared_memory_region(place, [first])
        shm.set_shared_memory_region(place, [second], offset=SIZE)
        inputs = [self.input_at("INPUT0", "INT32", (1, COUNT), "input_data", SIZE),
                  self.input_at("INPUT1", "INT32", (1, COUNT), "input_data", SIZE, SIZE)]
        outputs = [self.output_at("OUTPUT0", "output_data", SIZE),
                   self.output_at("OUTPUT1", "output_data", SIZE, SIZE)]
        return first, second, answer, inputs, outputs

    # -- the examples' flow

    def test_example(self):
        first, second, answer, inputs, outputs = self.simple_request()
        result = self.client.infer("simple", inputs, outputs=outputs)
        self.same(self.contents(answer, result, "OUTPUT0"), first + second)
        self.same(self.contents(answer, result, "OUTPUT1", SIZE), first - second)
        self.check_place(result.get_output("OUTPUT1"), "output_data", SIZE, SIZE)
        names = {each["name"]: int(each["byte_size"]) for each in self.status()}
        self.assertEqual(names, {"input_data": SIZE * 2, "output_data": SIZE * 2})
        self.client.unregister_system_shared_memory("input_data")
        self.assertEqual([each["name"] for each in self.status()], ["output_data"])
        self.client.unregister_system_shared_memory()
        self.assertEqual(self.status(), [])

    def test_example_with_strings(self):
        texts = [str(i).encode() for i in range(COUNT)]
        array = np.array(texts, dtype=np.object_).reshape(1, COUNT)
        serialized = utils.serialize_byte_tensor(array)
        size = utils.serialized_byte_size(serialized)
        place = self.region("strings_in", size)
        answer = self.region("strings_out", size + 8)
        shm.set_shared_memory_region(place, [serialized])
        result = self.client.infer(
            "identity_bytes", [self.input_at("input", "BYTES", (1, COUNT), "strings_in", size)],
            outputs=[self.output_at("output", "strings_out", size + 8)])
        self.same(self.contents(answer, result, "output"), array)
        self.check_place(result.get_output("output"), "strings_out", size, 0)

    # -- every datatype, and data beside it

    def test_every_datatype(self):
        for datatype in DTYPES:
            with self.subTest(datatype):
                array = values(datatype)
                raw = array if datatype != "BYTES" else utils.serialize_byte_tensor(array)
                size = len(raw.item()) if datatype == "BYTES" else raw.nbytes
                place = self.region(f"in_{datatype}", size)
                answer = self.region(f"out_{datatype}", size)
                held = raw if datatype in ("BYTES",) else raw.view(np.uint8).reshape(-1)
                shm.set_shared_memory_region(place, [held])
                self.client.infer(
                    f"identity_{datatype.lower()}",
                    [self.input_at("input", datatype, array.shape, f"in_{datatype}", size)],
                    outputs=[self.output_at("output", f"out_{datatype}", size)])
                got = bytes(answer._mpsm_handle.buf[:size])
                self.assertEqual(got, bytes(place._mpsm_handle.buf[:size]))

    def test_beside_plain_tensors(self):
        first = np.arange(COUNT, dtype=np.int32).reshape(1, COUNT)
        second = first * 10
        place = self.region("input_data", SIZE)
        answer = self.region("output_data", SIZE)
        shm.set_shared_memory_region(place, [second])
        plain = self.triton.InferInput("INPUT0", [1, COUNT], "INT32")
        plain.set_data_from_numpy(first)
        at = self.input_at("INPUT1", "INT32", (1, COUNT), "input_data", SIZE)
        for inputs in ([plain, at], [at, plain]):
            result = self.client.infer(
                "simple", inputs, outputs=[self.plain_output("OUTPUT0"),
                                           self.output_at("OUTPUT1", "output_data", SIZE)])
            self.same(result.as_numpy("OUTPUT0"), first + second)
            self.same(self.contents(answer, result, "OUTPUT1"), first - second)

    def test_many_requests_at_once(self):
        """Each thread has a place of its own in one region."""
        place = self.region("in", 4096 * 8)
        answer = self.region("out", 4096 * 8)
        wrong = []

        def ask(which):
            with self.make_client() as client:
                for value in range(20):
                    array = np.full((1, 1024), which * 100 + value, dtype=np.float32)
                    shm.set_shared_memory_region(place, [array], offset=which * 4096)
                    result = client.infer(
                        "identity_fp32",
                        [self.input_at("input", "FP32", (1, 1024), "in", 4096, which * 4096)],
                        outputs=[self.output_at("output", "out", 4096, which * 4096)])
                    if not (self.contents(answer, result, "output", which * 4096) == array).all():
                        wrong.append((which, value))

        threads = [threading.Thread(target=ask, args=(which,)) for which in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    # -- refusals

    def test_registrations_that_are_refused(self):
        handle = self.region("r", 100)
        key = handle._shm_key

        def register(name, key, size, offset=0):
            return lambda: self.client.register_system_shared_memory(name, key, size, offset)

        self.refused(register("r", key, 100), self.INVALID, "already in manager")
        for size, offset in ((101, 0), (100, 1), (1, 100), (2**53 - 1, 1)):
            self.refused(register("s", key, size, offset), self.INVALID, "invalid args")
        self.refused(register("s", "/serval_no_such", 1), self.INVALID,
                     "Unable to open shared memory region: '/serval_no_such'")
        self.refused(register("s", "/../../etc/passwd", 1), self.INVALID, "a shared memory object")
        self.refused(lambda: self.client.get_system_shared_memory_status("s"), self.INVALID,
                     "Unable to find system shared memory region: 's'")
        self.client.unregister_system_shared_memory("s")

    def test_places_that_are_refused(self):
        first, second, answer, inputs, outputs = self.simple_request()

        def at(region, size, offset=0):
            wrong = self.input_at("INPUT1", "INT32", (1, COUNT), region, size, offset)
            return lambda: self.client.infer("simple", [inputs[0], wrong], outputs=outputs)

        def into(size, offset=0):
            wrong = self.output_at("OUTPUT0", "output_data", size, offset)
            return lambda: self.client.infer("simple", inputs, outputs=[wrong])

        self.refused(at("nope", SIZE), self.INVALID, "Unable to find shared memory region: 'nope'")
        self.refused(at("input_data", SIZE, SIZE * 2), self.INVALID,
                     "Invalid offset for shared memory region: 'input_data'")
        self.refused(at("input_data", SIZE, SIZE + 4), self.INVALID,
                     "Invalid offset + byte size for shared memory region: 'input_data'")
        self.refused(at("input_data", SIZE - 4), self.INVALID, "expected 64 bytes")
        self.refused(into(SIZE - 4), self.INVALID,
                     "should be at least 64 bytes to hold the results")
        self.refused(into(SIZE, SIZE + 4), self.INVALID, "Invalid offset + byte size")
        result = self.client.infer("simple", inputs, outputs=outputs)
        self.same(self.contents(answer, result, "OUTPUT0"), first + second)

    def test_cuda(self):
        self.client.unregister_cuda_shared_memory()
        self.client.unregister_cuda_shared_memory("c")
        self.assertEqual(self.cuda_status(), [])
        self.refused(lambda: self.client.register_cuda_shared_memory("c", b"AAAA", 0, 64),
                     self.UNIMPLEMENTED, "this server takes system shared memory only: CUDA")

    def test_extension(self):
        self.assertIn("system_shared_memory", self.extensions())
        self.assertNotIn("cuda_shared_memory", self.extensions())
