// Writes REST responses of classify and regress as compact JSON. Hot path; pure, any thread.
// Source: tfserving.md 1.6 (floats), 1.7, 9 (labels that are not UTF-8).
#include "base/bytes/utf8.h"
#include "codec/examples/json.h"
#include "codec/json/reader.h"
#include "codec/json/text.h"
#include "codec/serving/wire.h"

namespace serval {

namespace {

constexpr uint64_t kElementsPerStep = 65536;  // written between two checks of the limit

// The response being written: keeps the first failure, and then restores the buffer.
struct Answer {
  ByteBuffer& out;
  uint64_t bytes_max;
  size_t start = out.size();

  // `written`: false if memory was out.
  Status check(bool written) {
    if (written && out.size() - start <= bytes_max) return {};
    out.truncate(start);
    if (!written) return make_error(ErrorCode::MemoryFull, "out of memory for the response");
    return make_error(ErrorCode::BodyTooLarge,
                      "response is larger than " + std::to_string(bytes_max) + " bytes");
  }
};

bool write_label(ByteBuffer& out, std::string_view label) {
  return is_valid_utf8(label) ? append_json_string(out, label) : append_b64_object(out, label);
}

bool write_score(ByteBuffer& out, float score) {
  auto* place = reinterpret_cast<char*>(out.room(kFloatTextMax));
  if (place == nullptr) return false;
  out.set_end(reinterpret_cast<uint8_t*>(write_float(place, score)));
  return true;
}

// ["label",score]
bool write_class(ByteBuffer& out, const ClassifyView& view, size_t index) {
  return out.append("[") && write_label(out, view.label(index)) && out.append(",") &&
         write_score(out, view.score(index)) && out.append("]");
}

Status write_classes(const ClassifyView& view, Answer& answer) {
  ByteBuffer& out = answer.out;
  bool written = out.append("{\"results\":[");
  for (size_t row = 0; row < view.rows; ++row) {
    written = written && out.append(row == 0 ? "[" : ",[");
    for (size_t i = 0; i < view.classes && written; ++i) {
      written = (i == 0 || out.append(",")) && write_class(out, view, row * view.classes + i);
      if (out.size() - answer.start > answer.bytes_max) return answer.check(written);
    }
    written = written && out.append("]");
    if (Status status = answer.check(written); !status.ok()) return status;
  }
  written = written && out.append("]}");
  return answer.check(written);
}

Status write_values(std::span<const float> values, Answer& answer) {
  TensorView tensor;
  tensor.dtype = DType::Fp32;
  (void)tensor.shape.push_back(static_cast<int64_t>(values.size()));
  tensor.data = reinterpret_cast<const uint8_t*>(values.data());
  tensor.bytes = values.size_bytes();
  bool written = answer.out.append("{\"results\":[");
  for (uint64_t at = 0; at < values.size(); at += kElementsPerStep) {
    const uint64_t end = std::min<uint64_t>(at + kElementsPerStep, values.size());
    written = written && (at == 0 || answer.out.append(","));
    written = written && append_elements(answer.out, tensor, at, end);
    if (Status status = answer.check(written); !status.ok()) return status;
  }
  written = written && answer.out.append("]}");
  return answer.check(written);
}

}  // namespace

Status encode_v1_results(Method method, const Signature& signature, const DecodedRequest& request,
                         std::span<const TensorView> outputs, const Limits& limits,
                         ByteBuffer& out) {
  Answer answer{out, limits.response_bytes_max};
  if (method == Method::Classify) {
    ClassifyView view;
    Status status = view_classification(signature, request, outputs, view);
    if (!status.ok()) return status;
    if (view.rows == 0) {
      return invalid_argument("Cannot convert empty ClassificationResults to JSON");
    }
    return write_classes(view, answer);
  }
  std::span<const float> values;
  Status status = view_regression(signature, request, outputs, values);
  if (!status.ok()) return status;
  if (values.empty()) return invalid_argument("Cannot convert empty RegressionResults to JSON");
  return write_values(values, answer);
}

}  // namespace serval
