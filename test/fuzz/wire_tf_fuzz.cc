// libFuzzer target for TensorFlow Serving's requests. Accepted tensors must have the size of their
// shapes, and a PredictRequest written from them (in both forms) must be read back unchanged. Each
// task of a MultiInferenceRequest must decode like a separate request built from the task's
// ModelSpec and the message's Inputs. The first input byte chooses the request (bits 0-1: predict,
// classify, regress, a TensorProto alone; bit 2: MultiInference instead) and where the message
// starts (bits 5-7: 0 to 7 bytes past an aligned address); the rest is the message, with nothing
// readable after it.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "codec/examples/multi.h"
#include "codec/serving/wire_tensor.h"
#include "support/json_v1_support.h"
#include "support/wire_tf_support.h"

namespace serval::test {
namespace {

using Bytes = std::span<const uint8_t>;
using serval::testing::tensor_difference;
using serval::testing::tensor_fault;

// Above this size the last value of a tensor is not repeated: 2 GiB each would stop the fuzzer.
constexpr uint64_t kFillBytesMax = 1 << 16;

// Each task is decoded twice; more tasks of one request show nothing new.
constexpr size_t kTasksDecoded = 4;

void require_same(const std::string& difference, const char* what) {
  if (difference.empty()) return;
  std::fprintf(stderr, "wire_tf: %s: %s\n", what, difference.c_str());
  std::abort();
}

// A signature with inputs of every dtype: a to n, of which all but `a` have an empty default.
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

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Signatures for MultiInference.
const std::vector<Signature>& signatures() {
  static const std::vector<Signature> all{
      tf_signature({tf_spec("inputs", DType::Bytes)}, {tf_spec("scores", DType::Fp32)}, "c"),
      tf_signature({tf_spec("inputs", DType::Bytes)}, {tf_spec("outputs", DType::Fp32)}, "r"),
      tf_signature({tf_spec("x", DType::Fp32)}, {tf_spec("y", DType::Fp32)})};
  return all;
}

// The task as a separate request.
std::string plain_request(Bytes message, const TfTask& task) {
  WireBuilder spec, request;
  spec.bytes(1, task.model.name).bytes(3, task.signature());
  request.message(1, spec);
  WireFault none;
  WireReader reader(message, message.data(), none);
  WireField field;
  while (reader.next(field)) {
    if (field.tag == wire_tag(2, WireType::Bytes)) request.bytes(2, text_of(field.bytes));
  }
  return request.str();
}

void compare(Bytes message, const TfTask& task) {
  const std::string plain = plain_request(message, task);
  Arena arena, plain_arena;
  DecodedRequest request, plain_decoded;
  const Status status = decode_tf_task(message, task.method(), task.signature(), false,
                                       signatures(), Limits(), arena, request);
  const Status expected = decode_tf_examples(as_bytes(plain), task.method(), false, signatures(),
                                             Limits(), plain_arena, plain_decoded);
  if (status.ok() != expected.ok() ||
      (!status.ok() && status.error().code != expected.error().code)) {
    require_same("decoded: " + (status.ok() ? "well" : status.error().message) +
                     ", alone: " + (expected.ok() ? "well" : expected.error().message),
                 "outcome");
  }
  if (!status.ok()) return;
  require_same(request.signature_index == plain_decoded.signature_index ? "" : "differs",
               "signature");
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    require_same(tensor_fault(request.inputs[i]), "decoded");
    require_same(tensor_difference(request.inputs[i], plain_decoded.inputs[i]), "inputs");
  }
}

// Uses arbitrary bytes as a task's response: joins two of them, and expects as many entries in the
// result.
void put_together(Bytes message) {
  ByteBuffer out;
  if (!append_tf_result(Method::Classify, message, Limits(), out).ok()) return;
  const size_t first = out.size();
  if (!append_tf_result(Method::Regress, message, Limits(), out).ok()) return;
  require_same(out.size() == 2 * first ? "" : "differs", "size");
  WireFault fault;
  WireReader reader(out.bytes(), out.data(), fault);
  WireField field;
  size_t entries = 0;
  while (reader.next(field)) entries += field.tag == wire_tag(1, WireType::Bytes);
  require_same(fault.reason == nullptr && entries == 2 ? "" : "not two entries", "answer");
}

void fuzz_multi(Bytes message) {
  put_together(message);
  std::vector<TfTask> tasks;
  if (!read_tf_tasks(message, tasks).ok()) return;
  if (!check_tf_tasks(tasks, signatures()).ok()) return;
  if (tasks.size() > kTasksDecoded) tasks.resize(kTasksDecoded);
  for (const TfTask& task : tasks) compare(message, task);
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
  if ((data[0] & 4u) != 0) {
    serval::test::fuzz_multi(message);
  } else if (which == 3) {
    serval::test::fuzz_proto(message);
  } else {
    serval::test::fuzz_request(which, message);
  }
  return 0;
}
