// libFuzzer target for REST bodies of classify and regress. An accepted body must result in
// Examples that are well-formed protobuf, one per element of the list. The first input byte chooses
// the method and the bytes after the body; the rest is the body.
#include <cstdio>
#include <cstdlib>

#include "base/bytes/wire_reader.h"
#include "codec/examples/json.h"
#include "support/json_v1_support.h"
#include "support/wire_tf_support.h"

namespace serval::test {
namespace {

using serval::testing::PaddedBody;
using serval::testing::sample_padding;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "json_examples: %s\n", what);
  std::abort();
}

// Example > Features > entry > Feature > list: every field is length-delimited down to the lists.
void check_message(std::span<const uint8_t> bytes, int levels) {
  WireFault fault;
  WireReader reader(bytes, bytes.data(), fault);
  WireField field;
  while (reader.next(field)) {
    require(field.type() == WireType::Bytes, "a field that is not length-delimited");
    const bool key = levels == 2 && field.number() == 1;
    if (levels > 0 && !key) check_message(field.bytes, levels - 1);
  }
  require(fault.reason == nullptr, "an Example that is not well-formed");
}

}  // namespace
}  // namespace serval::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace serval;
  using namespace serval::test;
  if (size == 0) return 0;
  const bool classify = (data[0] & 1u) != 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const PaddedBody body(text, sample_padding(data[0] >> 1));
  const std::vector<Signature> signatures{tf_signature(
      {tf_spec("inputs", DType::Bytes)}, {tf_spec(classify ? "scores" : "outputs", DType::Fp32)})};
  Limits limits;
  limits.body_bytes_max = 1 << 20;
  Arena arena;
  DecodedRequest request;
  const Method method = classify ? Method::Classify : Method::Regress;
  const Status status =
      decode_v1_examples(body.span(), method, false, signatures, limits, arena, request);
  if (!status.ok()) return 0;
  require(!request.inputs.at(0).strings.empty(), "no examples");
  for (std::string_view example : request.inputs[0].strings) check_message(as_bytes(example), 4);
  return 0;
}
