// Writes V1 predict responses: {"predictions": ...} by row, {"outputs": ...} by column, compact.
// Hot path; pure, any thread. Recursion is bounded by kRankMax.
// Source: tfserving.md 1.6, 9 (bytes that are not UTF-8, compact JSON, all dtypes).
#include <algorithm>

#include "base/bytes/utf8.h"
#include "codec/json/reader.h"
#include "codec/json/text.h"
#include "codec/serving/json.h"

namespace serval {

namespace {

constexpr std::string_view kBytesSuffix = "_bytes";
constexpr uint64_t kShortRow = 64;            // shorter rows are written together
constexpr uint64_t kElementsPerStep = 65536;  // written between two checks of the limit
constexpr uint64_t kElementsMeasured = 4096;  // after these, the size of the rest is estimated

class AnswerWriter {
 public:
  AnswerWriter(const Limits& limits, ByteBuffer& out)
      : out_(out), start_(out.size()), bytes_max_(limits.response_bytes_max) {}

  // All return false when memory is out or the limit is exceeded; status() says which.
  bool raw(std::string_view text) { return check(out_.append(text)); }
  bool name(std::string_view text) { return check(append_json_string(out_, text)) && raw(":"); }
  // Writes the part of `tensor` below its dimension `dim`, from element `at`.
  bool nested(const TensorView& tensor, bool as_base64, size_t dim, uint64_t& at);
  // Writes a whole tensor.
  bool all(const TensorView& tensor, bool as_base64, uint64_t& at);
  Status status();

 private:
  bool short_rows(const TensorView& tensor, uint64_t rows, uint64_t row, uint64_t& at);
  bool elements(const TensorView& tensor, bool as_base64, uint64_t begin, uint64_t end);
  bool text(std::string_view bytes, bool as_base64);
  uint64_t step() const { return elements_ == 0 ? kElementsPerStep : kElementsMeasured; }
  void expect(uint64_t at);
  bool check(bool written) {
    no_memory_ |= !written;
    too_large_ |= out_.size() - start_ > bytes_max_;
    return !no_memory_ && !too_large_;
  }

  ByteBuffer& out_;
  size_t start_;
  uint64_t bytes_max_;
  uint64_t elements_ = 0;  // elements of the tensor being written whole; 0 = memory is reserved
  size_t elements_start_ = 0;
  bool no_memory_ = false;
  bool too_large_ = false;
};

bool AnswerWriter::text(std::string_view bytes, bool as_base64) {
  const bool base64 = as_base64 || !is_valid_utf8(bytes);
  return check(base64 ? append_b64_object(out_, bytes) : append_json_string(out_, bytes));
}

// Reserves memory for the rest of a tensor by the size of its first elements: growing step by step
// would copy a large response several times. If that fails, growth continues in steps.
void AnswerWriter::expect(uint64_t at) {
  if (at < kElementsMeasured || at >= elements_) return;
  const uint64_t each = (out_.size() - elements_start_) / at + 1;
  const uint64_t left = std::min(each * (elements_ - at), bytes_max_);
  (void)out_.reserve(out_.size() + static_cast<size_t>(left) + kElementsMeasured * kDoubleTextMax);
  elements_ = 0;
}

bool AnswerWriter::all(const TensorView& tensor, bool as_base64, uint64_t& at) {
  elements_ = tensor.dtype == DType::Bytes ? 0 : tensor.bytes / dtype_bytes(tensor.dtype);
  elements_start_ = out_.size();
  return nested(tensor, as_base64, 0, at);
}

bool AnswerWriter::elements(const TensorView& tensor, bool as_base64, uint64_t begin,
                            uint64_t end) {
  for (uint64_t at = begin; at < end;) {
    if (at != begin && !raw(",")) return false;
    if (tensor.dtype == DType::Bytes) {
      if (!text(tensor.strings[at], as_base64)) return false;
      ++at;
      continue;
    }
    const uint64_t stop = std::min(end, at + step());
    if (!check(append_elements(out_, tensor, at, stop))) return false;
    at = stop;
    expect(at);
  }
  return true;
}

// An image's last dimension has three elements: one call per row would waste five of eight lanes.
bool AnswerWriter::short_rows(const TensorView& tensor, uint64_t rows, uint64_t row, uint64_t& at) {
  const uint64_t end = at + rows * row;
  if (!raw("[")) return false;
  for (const uint64_t begin = at; at < end;) {
    if (at != begin && !raw(",")) return false;
    const uint64_t stop = std::min(end, at + std::max<uint64_t>(step() / row, 1) * row);
    if (!check(append_float_rows(out_, tensor, at, stop, row))) return false;
    at = stop;
    expect(at);
  }
  return raw("]");
}

bool AnswerWriter::nested(const TensorView& tensor, bool as_base64, size_t dim, uint64_t& at) {
  if (dim == tensor.shape.rank()) {
    ++at;
    return elements(tensor, as_base64, at - 1, at);
  }
  const auto count = static_cast<uint64_t>(tensor.shape[dim]);
  if (tensor.dtype == DType::Fp32 && dim + 2 == tensor.shape.rank() && count > 0) {
    const auto row = static_cast<uint64_t>(tensor.shape[dim + 1]);
    if (row > 0 && row < kShortRow) return short_rows(tensor, count, row, at);
  }
  if (!raw("[")) return false;
  if (dim + 1 == tensor.shape.rank()) {
    at += count;
    return elements(tensor, as_base64, at - count, at) && raw("]");
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (i != 0 && !raw(",")) return false;
    if (!nested(tensor, as_base64, dim + 1, at)) return false;
  }
  return raw("]");
}

Status AnswerWriter::status() {
  if (!no_memory_ && !too_large_) return {};
  out_.truncate(start_);
  if (no_memory_) return make_error(ErrorCode::MemoryFull, "out of memory for the response");
  return make_error(ErrorCode::BodyTooLarge,
                    "response is larger than " + std::to_string(bytes_max_) + " bytes");
}

// One output of the response.
struct Output {
  const TensorSpec* spec;
  const TensorView* tensor;
  bool as_base64;
  uint64_t at = 0;  // elements written so far
};

// Source: tfserving.md 1.6 "Row needs every output to have rank >= 1 and equal dimension 0".
Status check_batch(std::span<const Output> outputs, int64_t& batch) {
  batch = -1;
  for (const Output& output : outputs) {
    if (output.tensor->shape.rank() == 0) {
      return invalid_argument("Tensor name: " + output.spec->name + " has no shape information ");
    }
    const int64_t size = output.tensor->shape[0];
    if (batch >= 0 && batch != size) {
      return invalid_argument("Tensor name: " + output.spec->name +
                              " has inconsistent batch size: " + std::to_string(size) +
                              " expecting: " + std::to_string(batch));
    }
    batch = size;
  }
  return {};
}

// Checks that the backend's tensors match their shapes and have a type with a JSON form.
Status check_tensor(const Output& output) {
  const TensorView& tensor = *output.tensor;
  if (tensor.dtype == DType::Invalid) {
    return invalid_argument("Failed to write JSON value for tensor type: " +
                            std::string(dtype_tf_name(tensor.dtype)));
  }
  const std::optional<uint64_t> elements = tensor.shape.elements();
  const bool text = tensor.dtype == DType::Bytes;
  const size_t each = dtype_bytes(tensor.dtype);
  const uint64_t present = text ? tensor.strings.size() : tensor.bytes / each;
  if (elements == present) return {};
  return make_error(ErrorCode::Internal, "output '" + output.spec->name + "' has " +
                                             std::to_string(present) + " elements for shape " +
                                             tensor.shape.to_string());
}

bool write_row(AnswerWriter& writer, std::span<Output> outputs, int64_t batch) {
  if (!writer.raw("{\"predictions\":[")) return false;
  for (int64_t item = 0; item < batch; ++item) {
    if (item != 0 && !writer.raw(",")) return false;
    for (size_t i = 0; i < outputs.size(); ++i) {
      Output& output = outputs[i];
      if (!writer.raw(i == 0 ? "{" : ",") || !writer.name(output.spec->name)) return false;
      if (!writer.nested(*output.tensor, output.as_base64, 1, output.at)) return false;
    }
    if (!writer.raw("}")) return false;
  }
  return writer.raw("]}");
}

bool write_single(AnswerWriter& writer, Output& output, bool row_format) {
  return writer.raw(row_format ? "{\"predictions\":" : "{\"outputs\":") &&
         writer.all(*output.tensor, output.as_base64, output.at) && writer.raw("}");
}

bool write_columns(AnswerWriter& writer, std::span<Output> outputs) {
  if (!writer.raw("{\"outputs\":")) return false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Output& output = outputs[i];
    if (!writer.raw(i == 0 ? "{" : ",") || !writer.name(output.spec->name)) return false;
    if (!writer.all(*output.tensor, output.as_base64, output.at)) return false;
  }
  return writer.raw("}}");
}

}  // namespace

Status encode_v1_predict(const Signature& signature, const DecodedRequest& request,
                         std::span<const TensorView> outputs, const Limits& limits,
                         ByteBuffer& out) {
  if (outputs.empty()) return invalid_argument("Cannot convert empty tensor map to JSON");
  std::vector<Output> written;
  written.reserve(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const TensorSpec& spec = signature.outputs[request.outputs[i].index];
    written.push_back({&spec, &outputs[i], std::string_view(spec.name).ends_with(kBytesSuffix)});
    Status status = check_tensor(written.back());
    if (!status.ok()) return status;
  }
  AnswerWriter writer(limits, out);
  int64_t batch = 0;
  if (request.row_format) {
    Status status = check_batch(written, batch);
    if (!status.ok()) return status;
  }
  bool whole = false;
  if (written.size() == 1) {
    whole = write_single(writer, written[0], request.row_format);
  } else if (request.row_format) {
    whole = write_row(writer, written, batch);
  } else {
    whole = write_columns(writer, written);
  }
  return whole ? Status() : writer.status();
}

}  // namespace serval
