"""What CUDA promises those who share memory of a device, as far as the server relies on it: asked
of the library that test/gpu runs over, the real one or test/e2e/gpu/fakes/fake_cudart.cc, by
Triton's client and by its own processes. No server. Test time only.
Source: CUDA Runtime API, CUDA Driver API; tritonclient.utils.cuda_shared_memory."""
import base64
import os
import signal
import subprocess
import sys
import threading
import unittest

import cuda.bindings.driver as driver
import cuda.bindings.runtime as cudart
import numpy as np
from tritonclient.utils import cuda_shared_memory as shm

IS_FAKE = "SERVAL_TEST_CUDA_IS_FAKE" in os.environ
SIZE = 4096
ANYWHERE = cudart.cudaMemcpyKind.cudaMemcpyDefault
LAZY = 1  # cudaIpcMemLazyEnablePeerAccess

# Run by another process with a handle in base64: opens it and executes the request.
OPENED = """
import base64, sys
import numpy as np
import cuda.bindings.driver as driver
import cuda.bindings.runtime as cudart
cudart.cudaSetDevice(0)
_, stream = cudart.cudaStreamCreate()
def open_it():
    handle = cudart.cudaIpcMemHandle_t(base64.b64decode(sys.argv[1]))
    return cudart.cudaIpcOpenMemHandle(handle, 1)
def copy(to, source, size):
    status = cudart.cudaMemcpyAsync(to, source, size, cudart.cudaMemcpyKind.cudaMemcpyDefault,
                                    stream)[0]
    return int(status) or int(cudart.cudaStreamSynchronize(stream)[0])
"""


def in_another_process(handle, script):
    """What it prints, in lines."""
    raw = handle if isinstance(handle, bytes) else shm.get_raw_handle(handle)
    done = subprocess.run([sys.executable, "-c", OPENED + script, raw.decode()], timeout=60,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout.split("\n")[:-1]


class CudaRuntime(unittest.TestCase):
    def setUp(self):
        self.region = shm.create_shared_memory_region("r", SIZE, 0)
        shm.set_shared_memory_region(self.region, [np.arange(8, dtype=np.float32),
                                                   np.arange(8, dtype=np.int32)])

    def tearDown(self):
        shm.destroy_shared_memory_region(self.region)
        del self.region

    def contents(self, dtype=np.float32):
        return shm.get_contents_as_numpy(self.region, dtype, [16])

    def test_the_client_reads_what_it_wrote(self):
        self.assertEqual(self.contents()[:8].tolist(), list(range(8)))
        self.assertEqual(self.contents(np.int32)[8:].tolist(), list(range(8)))
        self.assertEqual(len(base64.b64decode(shm.get_raw_handle(self.region))), 64)

    def test_another_process_reads_and_writes(self):
        told = in_another_process(self.region, """
status, there = open_it()
values = np.zeros(8, dtype=np.float32)
print(int(status), copy(values.ctypes.data, there, 32), values.tolist())
values += 100
print(copy(there + 32, values.ctypes.data, 32))
""")
        self.assertEqual(told, ["0 0 [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]", "0"])
        self.assertEqual(self.contents()[8:].tolist(), [100.0 + i for i in range(8)])

    def test_a_handle_is_opened_more_than_once(self):
        told = in_another_process(self.region, """
first, second = open_it(), open_it()
value = np.zeros(1, dtype=np.float32)
print(first[0], second[0], first[1] == second[1])
print(int(cudart.cudaIpcCloseMemHandle(first[1])[0]), copy(value.ctypes.data, first[1] + 12, 4))
print(int(cudart.cudaIpcCloseMemHandle(first[1])[0]), value[0])
print(int(cudart.cudaIpcCloseMemHandle(first[1])[0]) != 0)
""")
        self.assertEqual(told, ["0 0 True", "0 0", "0 3.0", "True"])

    def test_the_driver_knows_the_allocation(self):
        told = in_another_process(self.region, """
_, there = open_it()
status, base, size = driver.cuMemGetAddressRange(there + 256)
print(int(status), there - base, size >= 4096)
""")
        self.assertEqual(told, ["0 0 True"])
        self.assertNotEqual(int(driver.cuMemGetAddressRange(id(self))[0]), 0)

    def test_threads_share_a_stream(self):
        """Triton's client has one for all of its threads."""
        count = 1 << 18
        regions = [shm.create_shared_memory_region(f"r{i}", count * 4, 0) for i in range(8)]
        wrong = []

        def ask(which):
            for value in range(20):
                array = np.full(count, which * 1000 + value, dtype=np.float32)
                shm.set_shared_memory_region(regions[which], [array])
                got = shm.get_contents_as_numpy(regions[which], np.float32, [count])
                if not (got == array).all():
                    wrong.append((which, value))

        threads = [threading.Thread(target=ask, args=(which,)) for which in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for region in regions:
            shm.destroy_shared_memory_region(region)
        self.assertEqual(wrong, [])

    def test_handles_that_are_refused(self):
        own = cudart.cudaIpcMemHandle_t(base64.b64decode(shm.get_raw_handle(self.region)))
        self.assertNotEqual(int(cudart.cudaIpcOpenMemHandle(own, LAZY)[0]), 0)
        told = in_another_process(base64.b64encode(bytes(64)), "print(int(open_it()[0]) != 0)")
        self.assertEqual(told, ["True"])

    @unittest.skipUnless(IS_FAKE, "undefined")
    def test_memory_that_was_freed(self):
        region = shm.create_shared_memory_region("freed", SIZE, 0)
        raw = shm.get_raw_handle(region)
        shm.destroy_shared_memory_region(region)
        del region
        other = shm.create_shared_memory_region("other", SIZE, 0)  # with the same descriptor
        self.assertEqual(in_another_process(raw, "print(int(open_it()[0]))"), ["400"])
        shm.destroy_shared_memory_region(other)

    @unittest.skipUnless(IS_FAKE, "the driver's to say")
    def test_beyond_the_allocation_nothing_is_copied(self):
        values = np.full(SIZE // 4 + 1, 5, dtype=np.float32)
        _, stream = cudart.cudaStreamCreate()
        for to, source, size in ((self.region._base_addr, values.ctypes.data, SIZE + 4),
                                 (self.region._base_addr + SIZE - 4, values.ctypes.data, 8),
                                 (values.ctypes.data, self.region._base_addr + 4, SIZE)):
            self.assertEqual(int(cudart.cudaMemcpyAsync(to, source, size, ANYWHERE, stream)[0]), 1)
            cudart.cudaStreamSynchronize(stream)
        self.assertEqual(self.contents()[:8].tolist(), list(range(8)))
        self.assertTrue((values == 5).all())

    @unittest.skipUnless(IS_FAKE, "who waits for a real one sees no more")
    def test_copies_are_made_when_they_are_waited_for(self):
        value = np.full(1, -1, dtype=np.float32)
        _, stream = cudart.cudaStreamCreate()
        cudart.cudaMemcpyAsync(value.ctypes.data, self.region._base_addr + 8, 4, ANYWHERE, stream)
        self.assertEqual(value[0], -1)
        cudart.cudaStreamSynchronize(stream)
        self.assertEqual(value[0], 2)

    @unittest.skipUnless(IS_FAKE, "some machines have memory in common")
    def test_the_host_cannot_touch_it(self):
        reads = "ctypes.string_at(there, 1)"
        writes = "ctypes.memset(there, 0, 1)"
        for touch in (reads, writes):
            for take in ("_, there = cudart.cudaMalloc(64)", "_, there = open_it()"):
                script = f"{OPENED}\nimport ctypes\n{take}\nprint('there', flush=True)\n{touch}"
                raw = shm.get_raw_handle(self.region).decode()
                done = subprocess.run([sys.executable, "-c", script, raw], timeout=60,
                                      capture_output=True, text=True, check=False)
                self.assertEqual((done.stdout, done.returncode), ("there\n", -signal.SIGSEGV))


if __name__ == "__main__":
    unittest.main()
