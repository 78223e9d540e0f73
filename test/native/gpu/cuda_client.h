// A client that shares device memory. It is a separate process, because CUDA cannot open a handle
// in the process that made it. Runs over test/e2e/gpu/fakes/fake_cudart.cc. Test code.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <vector>

#include "gpu/fake_cuda.h"
#include "gpu/shared_memory.h"

namespace serval {

class CudaClient {
 public:
  // Allocates `bytes` of device memory.
  explicit CudaClient(size_t bytes, int device = 0) {
    FakeCuda::get();
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe(ends), 0);
    pid_ = fork();
    if (pid_ == 0) live(bytes, device, ends[1]);
    close(ends[1]);
    spec_.device = device;
    spec_.bytes = bytes;
    EXPECT_EQ(read(ends[0], spec_.handle.reserved, gpu::kIpcHandleBytes), 64);
    close(ends[0]);
  }
  CudaClient(const CudaClient&) = delete;
  CudaClient& operator=(const CudaClient&) = delete;
  ~CudaClient() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  const gpu::SharedMemorySpec& spec() const { return spec_; }
  std::shared_ptr<gpu::SharedMemory> open() const {
    auto opened = gpu::SharedMemory::open(spec_);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return opened.ok() ? opened.value() : nullptr;
  }

 private:
  [[noreturn]] static void live(size_t bytes, int device, int out) {
    void* const cuda = dlopen(FAKE_CUDART, RTLD_NOW | RTLD_NOLOAD);
    const auto call = [cuda](const char* name) { return dlsym(cuda, name); };
    void* memory = nullptr;
    gpu::CudaIpcHandle handle{};
    reinterpret_cast<int (*)(int)>(call("cudaSetDevice"))(device);
    const bool made =
        reinterpret_cast<int (*)(void**, size_t)>(call("cudaMalloc"))(&memory, bytes) == 0 &&
        reinterpret_cast<int (*)(gpu::CudaIpcHandle*, void*)>(call("cudaIpcGetMemHandle"))(
            &handle, memory) == 0;
    if (!made || write(out, handle.reserved, gpu::kIpcHandleBytes) < 0) _exit(1);
    for (;;) pause();
  }

  pid_t pid_ = 0;
  gpu::SharedMemorySpec spec_;
};

template <typename T>
void put(const gpu::SharedMemory& memory, uint64_t offset, const std::vector<T>& values) {
  const Status done = memory.write(offset, values.data(), values.size() * sizeof(T));
  EXPECT_TRUE(done.ok()) << done.error().message;
}

template <typename T>
std::vector<T> get(const gpu::SharedMemory& memory, uint64_t offset, size_t count) {
  std::vector<T> values(count);
  const Status done = memory.read(values.data(), offset, count * sizeof(T));
  EXPECT_TRUE(done.ok()) << done.error().message;
  return values;
}

}  // namespace serval
