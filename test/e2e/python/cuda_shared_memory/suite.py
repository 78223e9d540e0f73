"""What Triton's examples for CUDA shared memory do (simple_{http,grpc}_cudashm_client.py), with the
clients' own tools, written once for HTTP and gRPC, and what such clients may get wrong.
test_http.py and test_grpc.py fill in the client. SERVAL_CUDA_MODELS names the suffixes of the
models: on a GPU, on the CPU. `simple`: sum and difference of two [n, 16] of INT32; `half`:
x / 2 + 3 of FP32; `chosen`: the elements of x that are not 0; `negated`: -x of INT64. With
SERVAL_CUDA_PROCESSES the models of a GPU are in a process of its own. Test time only.
Source: v2-protocol.md 2, 11; tritonclient.utils.cuda_shared_memory."""
import os
import re
import signal
import threading
import time
import urllib.error
import urllib.request

import numpy as np
from serval_case import HTTP, ServalCase
from tritonclient.utils import cuda_shared_memory as shm

COUNT = 16
SIZE = COUNT * 4
SUFFIXES = os.environ["SERVAL_CUDA_MODELS"].split(",")
DEVICES = int(os.environ.get("SERVAL_CUDA_DEVICES", "1"))
WAIT_SECONDS = 60


def page(path):
    """{status, text} of the server's answer."""
    try:
        with urllib.request.urlopen(f"http://{HTTP}{path}", timeout=WAIT_SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def pid_of_device():
    """Of GPU 0's process; 0 where there is none."""
    pattern = r'^serval_isolated_pid\{[^}]*device="0"[^}]*\} (\d+)$'
    found = re.search(pattern, page("/metrics")[1], re.MULTILINE)
    return int(found.group(1)) if found else 0


class CudaSharedMemorySuite(ServalCase):
    """Needs of the client: `triton` (the module), `client`, make_client(), status(),
    extensions(), INVALID."""

    def setUp(self):
        self.client.unregister_cuda_shared_memory()
        self.handles = []

    def tearDown(self):
        self.client.unregister_cuda_shared_memory()
        for handle in self.handles:
            shm.destroy_shared_memory_region(handle)
        self.handles.clear()
        self.assertEqual(shm.allocated_shared_memory_regions(), [])

    def region(self, name, size, device=0, register=True):
        handle = shm.create_shared_memory_region(name, size, device)
        self.handles.append(handle)
        if register:
            self.client.register_cuda_shared_memory(name, shm.get_raw_handle(handle), device, size)
        return handle

    def input_at(self, name, datatype, shape, region, size, offset=0):
        tensor = self.triton.InferInput(name, list(shape), datatype)
        tensor.set_shared_memory(region, size, offset)
        return tensor

    def output_at(self, name, region, size, offset=0):
        output = self.triton.InferRequestedOutput(name)
        output.set_shared_memory(region, size, offset)
        return output

    def floats(self, handle, count, first=0):
        whole = shm.get_contents_as_numpy(handle, np.float32, [first + count])
        return whole[first:]

    def half(self, suffix, place, answer, size, offset=0, to=0):
        shape = [size // 4]
        return self.client.infer(
            f"half_{suffix}", [self.input_at("x", "FP32", shape, place, size, offset)],
            outputs=[self.output_at("y", answer, size, to)])

    # -- the examples' flow

    def test_example(self):
        first = np.arange(COUNT, dtype=np.int32).reshape(1, COUNT)
        second = np.full((1, COUNT), 3, dtype=np.int32)
        places = [self.region(f"input{i}_data", SIZE) for i in range(2)]
        answers = [self.region(f"output{i}_data", SIZE) for i in range(2)]
        inputs = [self.input_at(f"INPUT{i}", "INT32", (1, COUNT), f"input{i}_data", SIZE)
                  for i in range(2)]
        outputs = [self.output_at(f"OUTPUT{i}", f"output{i}_data", SIZE) for i in range(2)]
        for suffix in SUFFIXES:
            for times in (1, 2, 3):
                with self.subTest(suffix, times=times):
                    shm.set_shared_memory_region(places[0], [first * times])
                    shm.set_shared_memory_region(places[1], [second])
                    self.client.infer(f"simple_{suffix}", inputs, outputs=outputs)
                    got = [shm.get_contents_as_numpy(each, np.int32, [1, COUNT])
                           for each in answers]
                    self.same(got[0], first * times + second)
                    self.same(got[1], first * times - second)
        self.assertEqual({each["name"]: (int(each.get("device_id", 0)), int(each["byte_size"]))
                          for each in self.status()},
                         {name: (0, SIZE) for name in
                          ("input0_data", "input1_data", "output0_data", "output1_data")})
        self.client.unregister_cuda_shared_memory("input0_data")
        self.assertEqual(len(self.status()), 3)
        self.client.unregister_cuda_shared_memory()
        self.assertEqual(self.status(), [])

    def test_places_in_one_region(self):
        """Aligned and not; in and out of the same region."""
        handle = self.region("r", 1 << 16)
        for suffix in SUFFIXES:
            for offset, to in ((0, 4096), (256, 512), (4, 8196), (4096, 20), (256, 256),
                               (0, 16)):
                with self.subTest(suffix, offset=offset, to=to):
                    values = np.zeros(1 << 14, dtype=np.float32)
                    values[offset // 4:offset // 4 + 8] = np.arange(8) + offset
                    shm.set_shared_memory_region(handle, [values])
                    self.half(suffix, "r", "r", 32, offset, to)
                    self.same(self.floats(handle, 8, to // 4),
                              (np.arange(8, dtype=np.float32) + offset) / 2 + 3)

    def test_shapes_change(self):
        place, answer = self.region("in", 4096), self.region("out", 4096)
        for suffix in SUFFIXES:
            for kept in (3, 0, 1, 8, 8, 2):
                values = np.array([i + 1 if i < kept else 0 for i in range(8)], dtype=np.float32)
                shm.set_shared_memory_region(place, [values])
                self.client.infer(f"chosen_{suffix}",
                                  [self.input_at("x", "FP32", [8], "in", 32)],
                                  outputs=[self.output_at("y", "out", 64)])
                self.same(self.floats(answer, kept), values[:kept])
            for count in (1, 700, 700, 2, 1024):
                values = np.arange(count, dtype=np.float32)
                shm.set_shared_memory_region(place, [values])
                self.half(suffix, "in", "out", count * 4)
                self.same(self.floats(answer, count), values / 2 + 3)

    def test_int64(self):
        self.region("in", 4096)
        self.region("out", 4096)
        place, answer = self.handles
        for suffix in SUFFIXES:
            for values in ([1, -2**63 + 1, 2**63 - 1], list(range(200)), [-7]):
                array = np.array(values, dtype=np.int64)
                shm.set_shared_memory_region(place, [array])
                self.client.infer(
                    f"negated_{suffix}",
                    [self.input_at("x", "INT64", array.shape, "in", array.nbytes)],
                    outputs=[self.output_at("y", "out", 4096)])
                self.same(shm.get_contents_as_numpy(answer, np.int64, array.shape), -array)

    def test_beside_plain_tensors(self):
        values = np.arange(8, dtype=np.float32)
        place, answer = self.region("in", 32), self.region("out", 32)
        shm.set_shared_memory_region(place, [values])
        for suffix in SUFFIXES:
            result = self.client.infer(f"half_{suffix}",
                                       [self.input_at("x", "FP32", [8], "in", 32)])
            self.same(result.as_numpy("y"), values / 2 + 3)
            plain = self.triton.InferInput("x", [8], "FP32")
            plain.set_data_from_numpy(values * 2)
            self.client.infer(f"half_{suffix}", [plain],
                              outputs=[self.output_at("y", "out", 32)])
            self.same(self.floats(answer, 8), values + 3)

    def test_other_devices(self):
        if DEVICES < 2:
            self.skipTest("one GPU")
        place, answer = self.region("in", 4096, 1), self.region("out", 4096, 1)
        values = np.arange(8, dtype=np.float32)
        shm.set_shared_memory_region(place, [values])
        for suffix in SUFFIXES:
            for _ in range(3):
                self.half(suffix, "in", "out", 32)
                self.same(self.floats(answer, 8), values / 2 + 3)

    def test_many_requests_at_once(self):
        """Each thread has regions of its own."""
        wrong = []
        handles = [(self.region(f"in{i}", 4096), self.region(f"out{i}", 4096)) for i in range(8)]

        def ask(which, suffix):
            place, answer = handles[which]
            with self.make_client() as client:
                for value in range(20):
                    array = np.full(1024, which * 100 + value, dtype=np.float32)
                    shm.set_shared_memory_region(place, [array])
                    client.infer(
                        f"half_{suffix}",
                        [self.input_at("x", "FP32", [1024], f"in{which}", 4096)],
                        outputs=[self.output_at("y", f"out{which}", 4096)])
                    if not (self.floats(answer, 1024) == array / 2 + 3).all():
                        wrong.append((which, value))

        for suffix in SUFFIXES:
            threads = [threading.Thread(target=ask, args=(which, suffix)) for which in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(wrong, [])

    # -- refusals

    def test_registrations_that_are_refused(self):
        handle = self.region("r", 1 << 21)
        raw = shm.get_raw_handle(handle)

        def register(name, raw, device, size):
            return lambda: self.client.register_cuda_shared_memory(name, raw, device, size)

        self.refused(register("r", raw, 0, 64), self.INVALID, "already in manager")
        self.refused(register("s", raw, 0, (1 << 40)), self.INVALID,
                     f"bytes that were allocated, got {1 << 40}")
        self.refused(register("s", raw, 0, 0), self.INVALID, "byte_size: expected 1 or more, got 0")
        self.refused(register("s", raw, 99, 64), self.INVALID, "device_id: expected less than")
        self.refused(register("s", b"AAAA", 0, 64), self.INVALID,
                     "raw_handle: expected 64 bytes, got 3")
        self.refused(register("s", b"A" * 84 + b"AA==", 0, 64), self.INVALID, "the handle: ")
        self.refused(lambda: self.client.get_cuda_shared_memory_status("s"), self.INVALID,
                     "Unable to find cuda shared memory region: 's'")
        self.refused(lambda: self.client.get_system_shared_memory_status("r"), self.INVALID,
                     "is registered as CUDA shared memory, not system shared memory")
        self.client.unregister_cuda_shared_memory("s")
        self.client.unregister_system_shared_memory()
        self.assertEqual([each["name"] for each in self.status()], ["r"])

    def test_places_that_are_refused(self):
        self.region("r", 64)
        for suffix in SUFFIXES:
            self.refused(lambda: self.half(suffix, "nope", "r", 32), self.INVALID,
                         "Unable to find shared memory region: 'nope'")
            self.refused(lambda: self.half(suffix, "r", "r", 32, 36), self.INVALID,
                         "Invalid offset + byte size for shared memory region: 'r'")
            for _ in range(3):
                wrong = [self.output_at("y", "r", 16, 32)]
                self.refused(lambda: self.client.infer(
                    f"half_{suffix}", [self.input_at("x", "FP32", [8], "r", 32)], outputs=wrong),
                    self.INVALID, "should be at least 32 bytes to hold the results")
            self.half(suffix, "r", "r", 32, 0, 32)

    def test_unregistered_while_it_is_used(self):
        stop, outcomes = threading.Event(), set()
        place = self.region("in", 4096)
        self.region("out", 4096)
        raw = shm.get_raw_handle(place)

        def ask():
            with self.make_client() as client:
                while not stop.is_set():
                    try:
                        client.infer(f"half_{SUFFIXES[0]}",
                                     [self.input_at("x", "FP32", [1024], "in", 4096)],
                                     outputs=[self.output_at("y", "out", 4096)])
                        outcomes.add("answered")
                    except Exception as error:
                        outcomes.add(str(error).split(":")[0].split("] ")[-1])

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(50):
            self.client.unregister_cuda_shared_memory("in")
            self.client.register_cuda_shared_memory("in", raw, 0, 4096)
        stop.set()
        for thread in threads:
            thread.join()
        self.assertLessEqual(outcomes, {"answered", "Unable to find shared memory region"})
        self.assertIn("answered", outcomes)

    def test_regions_outlive_the_process_of_their_device(self):
        if "SERVAL_CUDA_PROCESSES" not in os.environ:
            self.skipTest("there is none")
        place, answer = self.region("in", 32), self.region("out", 32)
        values = np.arange(8, dtype=np.float32)
        shm.set_shared_memory_region(place, [values])
        self.half(SUFFIXES[0], "in", "out", 32)
        before = pid_of_device()
        os.kill(before, signal.SIGKILL)
        models = [f"{name}_{SUFFIXES[0]}" for name in ("half", "chosen", "negated", "simple")]
        end = time.monotonic() + WAIT_SECONDS
        while pid_of_device() in (0, before) or any(
                page(f"/v2/models/{name}/ready")[0] != 200 for name in models):
            self.assertLess(time.monotonic(), end, "its models came back")
            time.sleep(0.02)
        for times in (2, 3):
            shm.set_shared_memory_region(place, [values * times])
            self.half(SUFFIXES[0], "in", "out", 32)
            self.same(self.floats(answer, 8), values * times / 2 + 3)
        self.assertEqual(len(self.status()), 2)

    def test_extension(self):
        self.assertIn("cuda_shared_memory", self.extensions())
