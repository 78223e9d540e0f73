// Hot path. Decodes REST bodies of classify and regress with TensorFlow Serving's checks, in its
// order and words; writes the Examples into one block of the arena. Any thread.
// Source: tfserving.md 1.3, 1.7; upstream's util/json_tensor.cc.
#include "codec/examples/json.h"

#include "base/copies.h"
#include "codec/examples/named_inputs.h"
#include "codec/examples/signature.h"
#include "codec/examples/writer.h"

namespace serval {

namespace {

constexpr std::string_view kContextKey = "context";
constexpr std::string_view kExamplesKey = "examples";

// The body after the checks that precede those of a model: parsed and valid.
struct ExampleBody {
  const JsonNode* context = nullptr;
  const JsonNode* examples = nullptr;
};

Status check_body(PlainBody& body, ExampleBody& out) {
  JsonDocument& document = body.document;
  const JsonNode& root = document.root();
  out.context = document.member(root, kContextKey);
  if (out.context != nullptr) {
    Status status = check_example(body, *out.context);
    if (!status.ok()) return status;
  }
  out.examples = document.member(root, kExamplesKey);
  if (out.examples == nullptr) {
    return body.format_error(
        "When method is classify, key 'examples' is expected and was not found");
  }
  if (out.examples->kind != JsonKind::Array) {
    return body.format_error("Expecting 'examples' value to be an list/array");
  }
  if (out.examples->children == 0) {
    return body.format_error("'examples' value is an empty array");
  }
  const JsonNode* example = document.child(*out.examples);
  for (; example != nullptr; example = document.sibling(*example)) {
    Status status = check_example(body, *example);
    if (!status.ok()) return status;
  }
  return {};
}

// Total bytes of all Examples, each with the context before it; false if they exceed the limit. A
// document has at most kJsonNodesMax values and comes from one body, so no sum overflows.
bool total_bytes(const JsonDocument& document, const ExampleBody& wanted, uint64_t context,
                 uint64_t bytes_max, uint64_t& total) {
  total = context * wanted.examples->children;
  const JsonNode* example = document.child(*wanted.examples);
  for (; example != nullptr && total <= bytes_max; example = document.sibling(*example)) {
    total += example_bytes(document, *example);
  }
  return total <= bytes_max;
}

Status write_examples(const PlainBody& body, const ExampleBody& wanted, const Limits& limits,
                      DecodedRequest& out) {
  const JsonDocument& document = body.document;
  const size_t count = wanted.examples->children;
  const uint64_t context = wanted.context == nullptr ? 0 : example_bytes(document, *wanted.context);
  uint64_t total = 0;
  if (!total_bytes(document, wanted, context, limits.body_bytes_max, total)) {
    return make_error(ErrorCode::BodyTooLarge,
                      std::to_string(count) + " examples with a context of " +
                          std::to_string(context) + " bytes each are over the limit of " +
                          std::to_string(limits.body_bytes_max) + " bytes");
  }
  auto* views = body.arena.allocate_array<std::string_view>(count);
  auto* memory = body.arena.allocate_array<uint8_t>(total);
  if (views == nullptr || memory == nullptr) {
    return make_error(ErrorCode::MemoryFull, "out of memory for the examples of a request");
  }
  WireWriter writer{memory};
  const JsonNode* example = document.child(*wanted.examples);
  const uint8_t* const first_context = memory;
  for (size_t i = 0; i < count; ++i, example = document.sibling(*example)) {
    const uint8_t* const begin = writer.at;
    if (context != 0 && i != 0) {
      writer.raw(first_context, context);
    } else if (context != 0) {
      write_example(writer, document, *wanted.context);
    }
    write_example(writer, document, *example);
    views[i] = {reinterpret_cast<const char*>(begin), static_cast<size_t>(writer.at - begin)};
  }
  count_copied(total);
  set_example_input({views, count}, out);
  return {};
}

// The most Example bytes per byte of JSON: "-1," in a list becomes ten and a half, `"":[],` with
// its surroundings less.
constexpr uint64_t kWireBytesPerByte = 8;

// Whether the inputs could be filled without Examples. `body_bytes_max` bounds the size that these
// would have.
bool fill_named(const PlainBody& body, const ExampleBody& wanted,
                std::span<const Signature> signatures, const Limits& limits, DecodedRequest& out) {
  const Signature& signature = signatures[out.signature_index];
  return wanted.context == nullptr && find_named_scores(signature) >= 0 &&
         body.text.size() <= limits.body_bytes_max / kWireBytesPerByte &&
         json_to_inputs(body.document, *wanted.examples, signature, body.arena, out);
}

// `named`: see decode_v1_classify(); null: Examples are required.
Status decode(std::span<const uint8_t> body, Method method, bool check_method,
              std::span<const Signature> signatures, const Limits& limits, Arena& arena,
              DecodedRequest& out, bool* named) {
  out.clear();
  const std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
  PlainBody plain{text, arena};
  if (Status status = plain.read(); !status.ok()) return status;
  ExampleBody wanted;
  if (Status status = check_body(plain, wanted); !status.ok()) return status;
  if (signatures.empty()) return make_error(ErrorCode::ModelNotFound, "");
  Status status =
      choose_example_signature(signatures, plain.signature_name, method, check_method, out);
  if (!status.ok()) return status;
  if (named != nullptr) *named = fill_named(plain, wanted, signatures, limits, out);
  return named != nullptr && *named ? Status() : write_examples(plain, wanted, limits, out);
}

}  // namespace

Status decode_v1_examples(std::span<const uint8_t> body, Method method, bool check_method,
                          std::span<const Signature> signatures, const Limits& limits, Arena& arena,
                          DecodedRequest& out) {
  return decode(body, method, check_method, signatures, limits, arena, out, nullptr);
}

Status decode_v1_classify(std::span<const uint8_t> body, bool check_method,
                          std::span<const Signature> signatures, const Limits& limits, Arena& arena,
                          DecodedRequest& out, bool& named) {
  named = false;
  return decode(body, Method::Classify, check_method, signatures, limits, arena, out, &named);
}

}  // namespace serval
