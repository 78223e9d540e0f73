// See write_values.h. Hot path; any thread.
#include "codec/table/write_values.h"

#include <cmath>
#include <cstring>

#include "base/bytes/utf8.h"
#include "codec/json/text.h"
#include "codec/table/tensor.h"

namespace serval::table {

namespace {

constexpr size_t kStep = 65536;  // elements written between two looks at the limit

Error too_large(uint64_t bytes_max) {
  return make_error(ErrorCode::BodyTooLarge,
                    "the response is over the limit of " + std::to_string(bytes_max) + " bytes");
}

Error memory_out(const ByteBuffer& out) {
  return make_error(ErrorCode::MemoryFull,
                    "no memory for the response behind byte " + std::to_string(out.size()));
}

// 0: an ordinary number.
double odd_number(const TensorView& view, size_t at) {
  return visit(view.dtype, [&]<typename T>(TypeTag<T>) -> double {
    if constexpr (IsReal<T>) {
      T value;
      std::memcpy(&value, view.data + at * sizeof(T), sizeof(T));
      const auto wide = static_cast<double>(value);
      return std::isfinite(wide) ? 0 : wide;
    } else {
      return 0;
    }
  });
}

std::string_view odd_text(double value) {
  if (std::isnan(value)) return "\"NaN\"";
  return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
}

Status append_text(ByteBuffer& out, const AnswerTensor& tensor, size_t at) {
  const std::string_view text = tensor.view.strings[at];
  if (is_valid_utf8(text)) {
    return append_json_string(out, text) ? Status() : Status(memory_out(out));
  }
  if (tensor.view.dtype == DType::Bytes) {
    return append_b64_object(out, text) ? Status() : Status(memory_out(out));
  }
  return invalid_argument("output " + quoted(tensor.name) + ", element " + std::to_string(at) +
                          ": not valid UTF-8, so it cannot be written as JSON");
}

}  // namespace

Status append_values(ByteBuffer& out, const AnswerTensor& tensor, size_t begin, size_t end,
                     NumberForm form, uint64_t bytes_max) {
  const TensorView& view = tensor.view;
  const bool is_text = dtype_is_text(view.dtype);
  const bool looks = dtype_is_real(view.dtype) && form == NumberForm::Strings;
  const size_t width = tensor.nulls == nullptr ? 1 : tensor.width();
  const auto is_odd = [&](size_t i) {
    if (tensor.nulls != nullptr && tensor.nulls[i / width] != 0) return true;
    return is_text || (looks && odd_number(view, i) != 0);
  };
  for (size_t at = begin; at < end;) {
    if (at != begin && !out.append(",")) return memory_out(out);
    if (out.size() > bytes_max) return too_large(bytes_max);
    if (!is_odd(at)) {
      size_t stop = at + 1;
      while (stop < end && stop - at < kStep && !is_odd(stop)) ++stop;
      if (!append_elements(out, view, at, stop)) return memory_out(out);
      at = stop;
      continue;
    }
    if (tensor.nulls != nullptr && tensor.nulls[at / width] != 0) {
      if (!out.append("null")) return memory_out(out);
    } else if (is_text) {
      if (Status done = append_text(out, tensor, at); !done.ok()) return done;
    } else if (!out.append(odd_text(odd_number(view, at)))) {
      return memory_out(out);
    }
    ++at;
  }
  return out.size() > bytes_max ? Status(too_large(bytes_max)) : Status();
}

}  // namespace serval::table
