// libFuzzer target for the V2 REST codec, JSON only. The plain decoder accepts everything that the
// fast one accepts, with the same tensors; accepted bodies have the schedule that the peek finds;
// decoded tensors have the size of their shapes; they can be written as a response, or their
// classes if the request asks for them; nothing crashes. The first byte chooses the model: 'a' +
// datatype, 'A' + datatype for a model with a second input "b" (INT64). Seeds: corpus/json_v2.
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
  if (size == 0) return 0;
  const bool two = (data[0] & 0x20u) == 0;
  Signature signature = test::one_input(static_cast<DType>(1 + (data[0] - 1u) % 32 % 14));
  if (two) signature.inputs.push_back(test::spec("b", DType::Int64, {-1}));
  const std::string_view body(reinterpret_cast<const char*>(data + 1), size - 1);
  Limits limits;
  limits.json_depth_max = 16;
  require(test::compare_decoders(body, kNoJsonHeader, signature, limits).fault);
  require(test::answer_with_inputs(body, kNoJsonHeader, signature, two));
  return 0;
}
