// Shared parts of the V2 JSON decoders. Hot path; pure, any thread.
#include "codec/v2/json_parts.h"

#include "base/copies.h"
#include "codec/bytes_tensor.h"
#include "codec/checked.h"
#include "codec/json/echo.h"

namespace serval::v2 {

namespace {

std::string number(uint64_t value) { return std::to_string(value); }

std::string input_text(const TensorSpec& spec) { return "input '" + echo_text(spec.name) + "'"; }

// Infers the tensor's shape for a raw body of `bytes`. Source: v2-protocol.md 1.3 "header value 0".
Status infer_shape(const TensorSpec& spec, size_t bytes, Shape& shape) {
  const size_t rank = spec.dims.size();
  size_t free_dims = 0;
  size_t last_free = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (spec.dims[i] >= 0) continue;
    ++free_dims;
    last_free = i;
  }
  const bool batch_is_one = free_dims == 2 && spec.dims[0] < 0;
  if (spec.unknown_rank || rank > kRankMax || (free_dims > 1 && !batch_is_one)) {
    return invalid_argument("raw request: " + input_text(spec) +
                            " has a shape that does not follow from the body's size; send the "
                            "JSON header with the shape");
  }
  for (int64_t dim : spec.dims) (void)shape.push_back(dim < 0 ? 1 : dim);
  const auto others = shape.elements();
  if (free_dims == 0 || spec.dtype == DType::Bytes) return {};
  uint64_t row = 0;
  if (!others || __builtin_mul_overflow(*others, dtype_bytes(spec.dtype), &row) || row == 0 ||
      bytes % row != 0) {
    return invalid_argument("raw request: " + input_text(spec) + ": expected a multiple of " +
                            number(row) + " bytes, got " + number(bytes));
  }
  shape.set(last_free, static_cast<int64_t>(bytes / row));
  return {};
}

}  // namespace

Status split_body(std::span<const uint8_t> body, int64_t json_bytes, Body& out) {
  if (json_bytes < kNoJsonHeader || json_bytes > static_cast<int64_t>(body.size())) {
    return malformed_body("Inference-Header-Content-Length: expected 0 to " + number(body.size()) +
                          " (the body's bytes), got " + std::to_string(json_bytes));
  }
  if (body.empty()) return malformed_body("the request body is empty: expected a JSON object");
  out.has_header = json_bytes != kNoJsonHeader;
  const size_t json = out.has_header ? static_cast<size_t>(json_bytes) : body.size();
  out.json = {reinterpret_cast<const char*>(body.data()), json};
  out.binary = body.subspan(json);
  return {};
}

Status decode_raw_form(std::span<const uint8_t> body, const Signature& signature, Arena& arena,
                       DecodedRequest& out) {
  if (signature.inputs.empty() || signature.required_inputs() > 1) {
    return invalid_argument(
        "raw request (Inference-Header-Content-Length: 0): the model must have "
        "1 input, it has " +
        number(signature.inputs.size()));
  }
  const TensorSpec& spec = signature.inputs[0];
  TensorView& tensor = out.inputs.emplace_back();
  tensor.dtype = spec.dtype;
  Shape shape;
  if (Status status = infer_shape(spec, body.size(), shape); !status.ok()) return status;
  tensor.shape = shape;
  choose_outputs(signature, {}, true, out);
  if (spec.dtype != DType::Bytes) {
    return raw_fixed_tensor(body, spec.dtype, shape, spec.name, arena, tensor);
  }
  if (shape.elements() != 1u) {
    return invalid_argument("raw request: " + input_text(spec) +
                            ": the body is one BYTES element, expected shape [1], the model has " +
                            shape.to_string());
  }
  auto* element = arena.allocate_array<std::string_view>(1);
  if (element == nullptr) return make_error(ErrorCode::MemoryFull, "no memory for the tensor");
  *element = {reinterpret_cast<const char*>(body.data()), body.size()};
  tensor.strings = {element, 1};
  count_viewed(body.size());
  return {};
}

Status read_binary_section(const Signature& signature, std::span<const BinaryInput> tensors,
                           const Body& body, Arena& arena, DecodedRequest& out) {
  std::span<const uint8_t> left = body.binary;
  for (const BinaryInput& binary : tensors) {
    const TensorSpec& spec = signature.inputs[binary.index];
    if (binary.bytes > left.size()) {
      return invalid_argument(
          input_text(spec) + ": binary_data_size " + number(binary.bytes) +
          " overruns the body: " + number(left.size()) + " bytes of binary data left" +
          (body.has_header ? "" : " (no Inference-Header-Content-Length header)"));
    }
    const auto raw = left.first(static_cast<size_t>(binary.bytes));
    left = left.subspan(raw.size());
    TensorView& tensor = out.inputs[binary.index];
    const Shape shape = tensor.shape;
    Status status = spec.dtype == DType::Bytes
                        ? decode_raw_bytes(raw, *shape.elements(), spec.name, arena, tensor)
                        : raw_fixed_tensor(raw, spec.dtype, shape, spec.name, arena, tensor);
    if (!status.ok()) return status;
  }
  if (left.empty()) return {};
  return invalid_argument("binary data: " + number(left.size()) +
                          " bytes left over after the last tensor");
}

bool whole_number(std::string_view text, uint64_t& out) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, out);
  return read.ec == std::errc{} && read.ptr == end && (!negative || out == 0);
}

Error not_whole(const std::string& where, std::string_view key, uint64_t least,
                std::string_view text) {
  return invalid_argument(where + " '" + std::string(key) + "': expected an integer from " +
                          number(least) + ", got " + echo_text(text));
}

void choose_outputs(const Signature& signature, std::span<const ListedOutput> listed,
                    bool binary_by_default, DecodedRequest& out) {
  for (const ListedOutput& output : listed) {
    out.outputs.push_back({output.index, output.has_binary ? output.binary : binary_by_default,
                           output.classes, output.shared});
  }
  if (!listed.empty()) return;
  for (uint32_t i = 0; i < signature.outputs.size(); ++i) {
    out.outputs.push_back({i, binary_by_default});
  }
}

}  // namespace serval::v2
