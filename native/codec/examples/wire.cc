// Hot path. Decodes a ClassificationRequest or RegressionRequest, or a task of a
// MultiInferenceRequest: its serialized Examples become the signature's only input. Any thread.
// Source: tfserving.md 1.7, 2; upstream's servables/util.cc.
#include "base/copies.h"
#include "codec/examples/multi.h"
#include "codec/examples/signature.h"
#include "codec/serving/wire_read.h"

namespace serval {

namespace {

using Bytes = std::span<const uint8_t>;

// Prepends `context` to each example: concatenated protobuf messages are merged.
bool prepend_context(std::string_view context, uint64_t total, std::span<std::string_view> examples,
                     Arena& arena) {
  auto* at = arena.allocate_array<char>(total);
  if (at == nullptr) return false;
  for (std::string_view& example : examples) {
    std::memcpy(at, context.data(), context.size());
    if (!example.empty()) std::memcpy(at + context.size(), example.data(), example.size());
    example = {at, context.size() + example.size()};
    at += example.size();
  }
  count_copied(total);
  return true;
}

Error memory_out(const char* name) {
  return make_error(ErrorCode::MemoryFull, "out of memory while reading a " + std::string(name));
}

Status take_examples(Bytes message, const char* name, const WireTfExamples& wire,
                     const Limits& limits, Arena& arena, DecodedRequest& out) {
  if (wire.examples == 0) return invalid_argument("Input is empty.");
  uint64_t total = 0;
  bool fits = !__builtin_mul_overflow(wire.examples, wire.context_bytes, &total);
  fits = fits && !__builtin_add_overflow(total, wire.example_bytes, &total);
  if (!fits || total > limits.body_bytes_max) {
    return make_error(ErrorCode::BodyTooLarge,
                      std::string(name) + ": " + std::to_string(wire.examples) +
                          " examples with a context of " + std::to_string(wire.context_bytes) +
                          " bytes each are over the limit of " +
                          std::to_string(limits.body_bytes_max) + " bytes");
  }
  auto* views = arena.allocate_array<std::string_view>(wire.examples);
  auto* context = arena.allocate_array<uint8_t>(wire.context_bytes);
  if (views == nullptr || context == nullptr) return memory_out(name);
  take_tf_examples(message, wire, views, context);
  const std::span<std::string_view> examples(views, wire.examples);
  if (wire.context_bytes == 0) {
    count_viewed(wire.example_bytes);
  } else if (!prepend_context({reinterpret_cast<char*>(context), wire.context_bytes}, total,
                              examples, arena)) {
    return memory_out(name);
  }
  set_example_input(examples, out);
  return {};
}

Status check_size(Bytes message, const char* name, const Limits& limits) {
  if (message.size() <= limits.body_bytes_max) return {};
  return make_error(ErrorCode::BodyTooLarge,
                    std::string(name) + " is " + std::to_string(message.size()) +
                        " bytes long; the limit is " + std::to_string(limits.body_bytes_max));
}

}  // namespace

Status decode_tf_examples(Bytes message, Method method, bool check_method,
                          std::span<const Signature> signatures, const Limits& limits, Arena& arena,
                          DecodedRequest& out) {
  out.clear();
  const char* name = method == Method::Classify ? "ClassificationRequest" : "RegressionRequest";
  Status status = check_size(message, name, limits);
  if (!status.ok()) return status;
  WireFault fault;
  TfModelRef model;
  bool found = false;
  if (!find_tf_model(message, fault, model, found)) return tf_fault_error(name, fault);
  WireTfExamples wire;
  status = read_tf_examples(message, name, wire);
  if (!status.ok()) return status;
  status = choose_example_signature(signatures, model.signature_name, method, check_method, out);
  if (status.ok()) status = take_examples(message, name, wire, limits, arena, out);
  return status;
}

Status decode_tf_task(Bytes message, Method method, std::string_view signature, bool check_method,
                      std::span<const Signature> signatures, const Limits& limits, Arena& arena,
                      DecodedRequest& out) {
  out.clear();
  constexpr const char* kName = "MultiInferenceRequest";
  WireTfExamples wire;
  Status status = check_size(message, kName, limits);
  if (status.ok()) status = read_tf_examples(message, kName, wire);
  if (status.ok()) {
    status = choose_example_signature(signatures, signature, method, check_method, out);
  }
  if (status.ok()) status = take_examples(message, kName, wire, limits, arena, out);
  return status;
}

}  // namespace serval
