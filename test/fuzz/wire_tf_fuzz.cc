// libFuzzer target: TensorFlow Serving's requests. Whatever is accepted must be tensors as large as
// their shapes say, and a PredictRequest written again from them (both forms) must read back the
// same. The first input byte picks the request (bits 0-1: predict, classify, regress, a TensorProto
// alone) and where the message starts (bits 5-7: 0 to 7 bytes past an aligned place); the rest is
// the message, with nothing readable behind it.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "codec/serving/wire_tensor.h"
#include "support/json_v1_support.h"
#include "support/wire_tf_support.h"

namespace serval::test {
namespace {

using Bytes = std::span<const uint8_t>;
using serval::testing::tensor_difference;
using serval::testing::tensor_fault;

// Over this the last value of a tensor does not repeat: 2 GiB each would be the fuzzer's end.
constexpr uint64_t kFillBytesMax = 1 << 16;

void require_same(const std::string& difference, const char* what) {
  if (difference.empty()) return;
  std::fprintf(stderr, "wire_tf: %s: %s\n", what, difference.c_str());
  std::abort();
}

// A signature that takes every dtype: inputs a to n, of which all but `a` have an empty default.
Signature wide_signature() {
  Signature signature = tf_signature({}, {tf_spec("y", DType::Fp32), tf_spec("z", DType::Bytes)});
  for (uint8_t i = 1; i <= 14; ++i) {
    TensorSpec spec =
        tf_spec(std::string(1, static_cast<char>('a' + i - 1)), static_cast<DType>(i));
    TensorView empty;
    empty.dtype = spec.dtype;
    (void)empty.shape.push_back(0);
    if (i != 1) spec.default_value = std::make_shared<const TensorView>(empty);
    signature.inputs.push_back(spec);
  }
  return signature;
}

void read_again(const TensorView& tensor) {
  for (TfTensorForm form : {TfTensorForm::Typed, TfTensorForm::Content}) {
    const WireTensorBytes sizes = wire_tensor_bytes(tensor, form);
    std::vector<uint8_t> proto(sizes.proto);
    WireWriter writer{proto.data()};
    write_wire_tensor(writer, tensor, form, sizes);
    if (writer.at != proto.data() + proto.size()) require_same("size", "written");
    Arena arena;
    TensorView again;
    const Status status = decode_tensor_proto(proto, "x", arena, again);
    require_same(status.ok() ? "" : status.error().detail, "read again");
    require_same(tensor_difference(tensor, again), "read again");
  }
}

void check(const TensorView& tensor) {
  require_same(tensor_fault(tensor), "decoded");
  read_again(tensor);
}

Limits small_limits() {
  Limits limits;
  limits.body_bytes_max = kFillBytesMax;
  return limits;
}

void fuzz_proto(Bytes message) {
  WireTensor wire;
  WireFault fault;
  wire.message = message;
  if (!read_wire_tensor(message, message.data(), fault, wire)) return;
  Arena arena;
  TensorView tensor;
  uint64_t fill_left = kFillBytesMax;
  if (decode_wire_tensor(wire, "x", fill_left, arena, tensor).ok()) check(tensor);
}

void fuzz_request(unsigned which, Bytes message) {
  TfModelRef model;
  (void)peek_tf(message, model);
  Arena arena;
  DecodedRequest request;
  Status status;
  if (which == 0) {
    const std::vector<Signature> signatures{wide_signature()};
    status = decode_tf_predict(message, signatures, small_limits(), arena, request);
  } else {
    const std::vector<Signature> signatures{
        tf_signature({tf_spec("inputs", DType::Bytes)},
                     {tf_spec(which == 1 ? "scores" : "outputs", DType::Fp32)})};
    status = decode_tf_examples(message, which == 1 ? Method::Classify : Method::Regress, false,
                                signatures, small_limits(), arena, request);
  }
  if (!status.ok()) return;
  for (const TensorView& input : request.inputs) check(input);
}

}  // namespace
}  // namespace serval::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t offset = data[0] >> 5;
  std::vector<uint8_t> memory(offset + size - 1);
  std::copy(data + 1, data + size, memory.begin() + static_cast<std::ptrdiff_t>(offset));
  const auto message = std::span<const uint8_t>(memory).subspan(offset);
  const unsigned which = data[0] & 3u;
  if (which == 3) {
    serval::test::fuzz_proto(message);
  } else {
    serval::test::fuzz_request(which, message);
  }
  return 0;
}
