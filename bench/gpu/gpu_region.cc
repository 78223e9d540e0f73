// A client's tensors in GPU memory: one region with an input, one for an output. It holds both
// until stdin ends, so that a server can open them through their handles (CUDA shared memory).
//
// gpu_region --cuda PATH --input FILE --output-bytes N [--device N]
//
// PATH: CUDA's runtime library. Prints {"event":"ready","input":"...","output":"..."}: the handles
// in hexadecimal. For each line of stdin with a path, writes the output's bytes to that file and
// prints {"event":"written"}.
#include <dlfcn.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

namespace {

struct Handle {
  std::array<unsigned char, 64> bytes;  // cudaIpcMemHandle_t
};

constexpr int kToDevice = 1, kToHost = 2;

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "gpu_region: %s\n", text.c_str());
  std::exit(1);
}

// The functions of CUDA's runtime that are used here; 0 = success.
struct Cuda {
  int (*set_device)(int);
  int (*allocate)(void**, size_t);
  int (*copy)(void*, const void*, size_t, int);
  int (*handle_of)(Handle*, void*);
};

template <typename Call>
void find(void* library, const char* name, Call& call) {
  call = reinterpret_cast<Call>(dlsym(library, name));
  if (call == nullptr) fail(std::string("CUDA's library has no ") + name);
}

Cuda open_cuda(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(dlerror());
  Cuda cuda{};
  find(library, "cudaSetDevice", cuda.set_device);
  find(library, "cudaMalloc", cuda.allocate);
  find(library, "cudaMemcpy", cuda.copy);
  find(library, "cudaIpcGetMemHandle", cuda.handle_of);
  return cuda;
}

void check(int status, const char* what) {
  if (status != 0) fail(std::string(what) + ": CUDA error " + std::to_string(status));
}

struct Region {
  void* memory = nullptr;
  std::string handle;
};

// Allocates a region with this content.
Region make_region(const Cuda& cuda, const std::string& content) {
  Region region;
  check(cuda.allocate(&region.memory, content.size()), "cudaMalloc");
  check(cuda.copy(region.memory, content.data(), content.size(), kToDevice), "cudaMemcpy");
  Handle handle{};
  check(cuda.handle_of(&handle, region.memory), "cudaIpcGetMemHandle");
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const unsigned char byte : handle.bytes) {
    region.handle += kDigits[byte >> 4U];
    region.handle += kDigits[byte & 15U];
  }
  return region;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("cannot read " + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

int main(int count, char** arguments) {
  std::string path, input;
  size_t output_bytes = 0;
  int device = 0;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = arguments[i];
    const char* value = arguments[i + 1];
    if (name == "--cuda") path = value;
    else if (name == "--input") input = value;
    else if (name == "--output-bytes") output_bytes = std::strtoull(value, nullptr, 10);
    else if (name == "--device") device = std::atoi(value);
    else fail("unknown option " + std::string(name));
  }
  if (path.empty() || input.empty() || output_bytes == 0) {
    fail("expected --cuda, --input and --output-bytes");
  }
  const Cuda cuda = open_cuda(path);
  check(cuda.set_device(device), "cudaSetDevice");
  const Region in = make_region(cuda, read_file(input));
  const Region out = make_region(cuda, std::string(output_bytes, '\0'));
  std::printf("{\"event\":\"ready\",\"input\":\"%s\",\"output\":\"%s\"}\n", in.handle.c_str(),
              out.handle.c_str());
  std::fflush(stdout);
  std::string content(output_bytes, '\0');
  for (std::string line; std::getline(std::cin, line);) {
    check(cuda.copy(content.data(), out.memory, content.size(), kToHost), "cudaMemcpy");
    std::ofstream file(line, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!file.flush()) fail("cannot write " + line);
    std::printf("{\"event\":\"written\"}\n");
    std::fflush(stdout);
  }
  return 0;
}
