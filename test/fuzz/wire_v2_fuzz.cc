// libFuzzer target for ModelInferRequest bytes: the real decoder against the plain one, and the
// echoed response read back. The first input byte chooses the model and where the message starts (0
// to 7 bytes past an aligned address); the rest is the message, with nothing readable after it.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "support/wire_plain_decode.h"

namespace serval::test {
namespace {

TensorSpec spec(const std::string& name, DType dtype) { return {name, dtype, {-1}, {}, false}; }

// 1 to 14: one input "x" of that dtype. 15: none. Else: "a" FP32 and "b" INT8.
Signature signature_of(unsigned choice) {
  Signature signature{"s", {}, {}};
  if (choice == 15) return signature;
  if (choice >= 1 && choice <= 14) {
    signature.inputs = {spec("x", static_cast<DType>(choice))};
    signature.outputs = {spec("y", static_cast<DType>(choice))};
    return signature;
  }
  signature.inputs = {spec("a", DType::Fp32), spec("b", DType::Int8)};
  signature.outputs = {spec("c", DType::Fp32), spec("d", DType::Int8)};
  return signature;
}

}  // namespace
}  // namespace serval::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t offset = data[0] >> 5;
  std::vector<uint8_t> memory(offset + size - 1);
  std::copy(data + 1, data + size, memory.begin() + static_cast<std::ptrdiff_t>(offset));
  const auto message = std::span<const uint8_t>(memory).subspan(offset);
  const std::string difference =
      serval::test::compare_wire_v2(message, serval::test::signature_of(data[0] & 31u));
  if (difference.empty()) return 0;
  std::fprintf(stderr, "wire_v2: the decoders differ: %s\n", difference.c_str());
  std::abort();
}
