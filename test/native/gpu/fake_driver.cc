// The driver library for test/e2e/gpu/fakes/fake_cudart.cc, which knows the allocations. It is a
// separate library, so that it is found by its name once it is open. Source: CUDA Driver API.
#include <dlfcn.h>

#include <cstddef>

extern "C" int cuMemGetAddressRange_v2(void** base, std::size_t* bytes, void* address) {
  constexpr int kNotInitialized = 3;
  void* const cuda = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  if (cuda == nullptr) return kNotInitialized;
  using Call = int (*)(void**, std::size_t*, void*);
  const auto call = reinterpret_cast<Call>(dlsym(cuda, "cuMemGetAddressRange_v2"));
  const int status = call(base, bytes, address);
  dlclose(cuda);
  return status;
}
