// The CUDA runtime of test/e2e/gpu/fakes/fake_cudart.cc in a native test. Test code.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace serval {

// The fake's additional queries and settings. It is opened once, before anything looks for
// libcudart.so.13, with the driver's library beside it.
struct FakeCuda {
  static const FakeCuda& get() {
    static const FakeCuda one;
    return one;
  }
  uint64_t (*calls)(const char* name);
  uint64_t (*device_bytes)();
  void (*limit)(uint64_t bytes);
  void (*fail_copy)(int status);
  void (*stick)(int status);
  void (*refuse_handles)(int count);
  int (*begin_recording)();
  int (*end_recording)();
  void (*meet_recording)(int count);
  const void* (*last_source)();

 private:
  FakeCuda() {
    void* library = dlopen(FAKE_CUDART, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(library, nullptr) << dlerror();
    void* driver = dlopen(FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
    EXPECT_NE(driver, nullptr) << dlerror();
    find(library, "fake_cuda_calls", calls);
    find(library, "fake_cuda_device_bytes", device_bytes);
    find(library, "fake_cuda_limit", limit);
    find(library, "fake_cuda_fail_copy", fail_copy);
    find(library, "fake_cuda_stick", stick);
    find(library, "fake_cuda_refuse_handles", refuse_handles);
    find(library, "fake_cuda_begin_recording", begin_recording);
    find(library, "fake_cuda_end_recording", end_recording);
    find(library, "fake_cuda_meet_recording", meet_recording);
    find(library, "fake_cuda_last_source", last_source);
  }
  template <typename Call>
  static void find(void* library, const char* name, Call& call) {
    call = reinterpret_cast<Call>(dlsym(library, name));
  }
};

}  // namespace serval
