// libFuzzer target for the V2 REST codec with binary tensor data. The first byte chooses the model
// as in json_v2_fuzz.cc, the next two are the length of the JSON (little-endian; 0 is the raw
// form), and the rest is the body. Seeds: corpus/binary_v2.
#include <cstdio>
#include <cstdlib>

#include "../native/support/json_v2_compare.h"

namespace {

void require(const std::string& fault) {
  if (fault.empty()) return;
  std::fprintf(stderr, "%s\n", fault.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace serval;
  if (size < 3) return 0;
  const bool two = (data[0] & 0x20u) == 0;
  Signature signature = test::one_input(static_cast<DType>(1 + (data[0] - 1u) % 32 % 14));
  if (two) signature.inputs.push_back(test::spec("b", DType::Bytes, {-1}));
  const int64_t json_bytes = data[1] + 256 * data[2];
  const std::string_view body(reinterpret_cast<const char*>(data + 3), size - 3);
  require(test::compare_decoders(body, json_bytes, signature).fault);
  require(test::answer_with_inputs(body, json_bytes, signature, true));
  return 0;
}
