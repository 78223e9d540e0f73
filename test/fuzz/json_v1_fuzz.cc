// libFuzzer target for the V1 predict codec. The plain decoder accepts everything that the fast one
// accepts, with the same tensors; decoded tensors have the size of their shapes; they can be
// written as a response; nothing crashes. The first byte chooses the model and the bytes after the
// body. Seeds: corpus/json_v1 (their first byte is a character from '0' on:
// testing::sample_signatures).
#include <cstdio>
#include <cstdlib>

#include "../native/support/json_v1_support.h"

namespace serval {
namespace {

void require(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what.c_str());
  std::abort();
}

// Answers with the inputs as outputs.
void write_back(std::span<const Signature> signatures, std::string_view text) {
  const testing::PaddedBody body(text);
  Limits limits;
  limits.response_bytes_max = 1 << 20;
  Arena arena;
  DecodedRequest request;
  if (!decode_v1_predict(body.span(), signatures, limits, arena, request).ok()) return;
  Signature echo = signatures[request.signature_index];
  echo.outputs = echo.inputs;
  request.outputs.clear();
  for (size_t i = 0; i < echo.outputs.size(); ++i) {
    request.outputs.push_back({static_cast<uint32_t>(i), false});
  }
  ByteBuffer out;
  const Status status = encode_v1_predict(echo, request, request.inputs, limits, out);
  require(status.ok() || out.size() == 0, "a failed answer left bytes");
  const bool refused = !status.ok() && status.error().code == ErrorCode::Internal;
  require(!refused, refused ? status.error().message : "");
}

}  // namespace
}  // namespace serval

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace serval;
  if (size == 0) return 0;
  const std::vector<Signature> signatures = testing::sample_signatures(data[0] - size_t{'0'});
  const std::string_view padding = testing::sample_padding(data[0] / 16 + 4);
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  const testing::FastAgainstPlain both = testing::compare_decoders(text, signatures, padding);
  require(both.difference.empty(), both.difference);
  if (both.plain_accepts) write_back(signatures, text);
  return 0;
}
