// Writes V2 and V1 responses of a tabular model as JSON. Hot path; any thread. Source: tabular.md
// 2.4, 2.5.
#include <cmath>
#include <cstring>

#include "base/bytes/utf8.h"
#include "codec/bytes_tensor.h"
#include "codec/json/text.h"
#include "codec/table/answer.h"
#include "codec/table/table.h"
#include "codec/table/tensor.h"
#include "codec/v2/json.h"

namespace serval {

namespace {

using namespace table;

Error memory_out(const ByteBuffer& out) {
  return make_error(ErrorCode::MemoryFull,
                    "no memory for the response after byte " + std::to_string(out.size()));
}

// The form of numbers that JSON cannot write: the strings "NaN", "Infinity" (V2: as accepted in
// inputs), or these tokens (V1: as TensorFlow Serving writes).
enum class NumberForm : uint8_t { Strings, Tokens };

constexpr size_t kStep = 65536;  // elements written between two checks of the limit

Error too_large(uint64_t bytes_max) {
  return make_error(ErrorCode::BodyTooLarge,
                    "the response is over the limit of " + std::to_string(bytes_max) + " bytes");
}

// Returns NaN or an infinity, or 0 for an ordinary number.
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

// Appends elements [begin, end) of a tensor, with commas between them and no brackets; those of
// missing rows (`nulls`, as in AnswerTensor) are null.
// Errors: invalid_argument (text that is not UTF-8), body_too_large, memory_full.
Status append_values(ByteBuffer& out, const AnswerTensor& tensor, size_t begin, size_t end,
                     NumberForm form, uint64_t bytes_max, const uint8_t* nulls) {
  const TensorView& view = tensor.view;
  const bool is_text = dtype_is_text(view.dtype);
  const bool looks = dtype_is_real(view.dtype) && form == NumberForm::Strings;
  const size_t width = nulls == nullptr ? 1 : tensor.width();
  const auto is_odd = [&](size_t i) {
    if (nulls != nullptr && nulls[i / width] != 0) return true;
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
    if (nulls != nullptr && nulls[at / width] != 0) {
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

bool append_integer(ByteBuffer& out, int64_t value) {
  auto* place = reinterpret_cast<char*>(out.room(kIntegerTextMax));
  if (place == nullptr) return false;
  out.set_end(reinterpret_cast<uint8_t*>(write_int64(place, value)));
  return true;
}

size_t elements_of(const TensorView& view) {
  return dtype_is_text(view.dtype) ? view.strings.size() : view.bytes / dtype_bytes(view.dtype);
}

// Appends everything before an output's data.
bool append_head(ByteBuffer& out, const AnswerTensor& tensor, uint64_t raw_bytes) {
  bool good = out.append("{\"name\":") && append_json_string(out, tensor.name) &&
              out.append(",\"datatype\":\"") && out.append(tensor.datatype) &&
              out.append("\",\"shape\":[");
  for (size_t i = 0; good && i < tensor.view.shape.rank(); ++i) {
    good = (i == 0 || out.append(",")) && append_integer(out, tensor.view.shape[i]);
  }
  good = good && out.append("]");
  if (tensor.parameter_count == 0 && !tensor.binary) return good;
  good = good && out.append(",\"parameters\":{");
  for (size_t i = 0; good && i < tensor.parameter_count; ++i) {
    good = (i == 0 || out.append(",")) && append_json_string(out, tensor.parameters[i].key) &&
           out.append(":") && append_json_string(out, tensor.parameters[i].text);
  }
  if (good && tensor.binary) {
    good = (tensor.parameter_count == 0 || out.append(",")) &&
           out.append("\"binary_data_size\":") &&
           append_integer(out, static_cast<int64_t>(raw_bytes));
  }
  return good && out.append("}");
}

Status write_v2(ByteBuffer& out, const AnswerModel& model, const DecodedRequest& request,
                std::span<const AnswerTensor> tensors, uint64_t bytes_max, uint64_t& binary_bytes) {
  if (!append_answer_front(out, model, request)) return memory_out(out);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const AnswerTensor& tensor = tensors[i];
    const uint64_t raw_bytes = tensor.binary ? raw_tensor_size(tensor.view) : 0;
    binary_bytes += raw_bytes;
    if (i != 0 && !out.append(",")) return memory_out(out);
    if (!append_head(out, tensor, raw_bytes)) return memory_out(out);
    if (!tensor.binary) {
      if (!out.append(",\"data\":[")) return memory_out(out);
      Status done = append_values(out, tensor, 0, elements_of(tensor.view), NumberForm::Strings,
                                  bytes_max, tensor.nulls);
      if (!done.ok()) return done;
      if (!out.append("]")) return memory_out(out);
    }
    if (!out.append("}")) return memory_out(out);
    if (out.size() + binary_bytes > bytes_max) {
      return too_large(bytes_max);
    }
  }
  return out.append("]}") ? Status() : Status(memory_out(out));
}

// Writes a tensor row by row.
struct RowWriter {
  const AnswerTensor& tensor;
  size_t at = 0;  // elements written

  Status write(ByteBuffer& out, size_t row, uint64_t bytes_max) {
    const TensorView& view = tensor.view;
    const bool cells = view.shape.rank() == 2;
    size_t count = 1;
    if (cells) count = is_ragged(view) ? view.lengths[row] : static_cast<size_t>(view.shape[1]);
    const size_t begin = at;
    at += count;
    if (tensor.nulls != nullptr && tensor.nulls[row] != 0) {
      return out.append("null") ? Status() : Status(memory_out(out));
    }
    if (cells && !out.append("[")) return memory_out(out);
    // Only whole rows are missing.
    Status done = append_values(out, tensor, begin, at, NumberForm::Tokens, bytes_max, nullptr);
    if (done.ok() && cells && !out.append("]")) return memory_out(out);
    return done;
  }
};

// Writes all rows of one output. Numbers without nulls are written together.
Status write_column(ByteBuffer& out, const AnswerTensor& tensor, uint64_t bytes_max) {
  if (!out.append("[")) return memory_out(out);
  Status done;
  if (tensor.view.shape.rank() == 1) {
    done = append_values(out, tensor, 0, elements_of(tensor.view), NumberForm::Tokens, bytes_max,
                         tensor.nulls);
  } else {
    RowWriter writer{tensor};
    for (int64_t row = 0; done.ok() && row < tensor.view.shape[0]; ++row) {
      if (row != 0 && !out.append(",")) return memory_out(out);
      done = writer.write(out, static_cast<size_t>(row), bytes_max);
    }
  }
  if (done.ok() && !out.append("]")) return memory_out(out);
  return done;
}

Status write_rows(ByteBuffer& out, std::span<const AnswerTensor> tensors, uint64_t bytes_max) {
  std::vector<RowWriter> writers;
  for (const AnswerTensor& tensor : tensors) writers.push_back({tensor});
  const int64_t rows = tensors[0].view.shape[0];
  if (!out.append("[")) return memory_out(out);
  for (int64_t row = 0; row < rows; ++row) {
    if (row != 0 && !out.append(",")) return memory_out(out);
    for (size_t i = 0; i < writers.size(); ++i) {
      const bool named = out.append(i == 0 ? "{" : ",") &&
                         append_json_string(out, tensors[i].name) && out.append(":");
      if (!named) return memory_out(out);
      Status done = writers[i].write(out, static_cast<size_t>(row), bytes_max);
      if (!done.ok()) return done;
    }
    if (!out.append("}")) return memory_out(out);
  }
  return out.append("]") ? Status() : Status(memory_out(out));
}

Status write_columns(ByteBuffer& out, std::span<const AnswerTensor> tensors, uint64_t bytes_max) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool named = out.append(i == 0 ? "{" : ",") && append_json_string(out, tensors[i].name) &&
                       out.append(":");
    if (!named) return memory_out(out);
    Status done = write_column(out, tensors[i], bytes_max);
    if (!done.ok()) return done;
  }
  return out.append("}") ? Status() : Status(memory_out(out));
}

}  // namespace

Status encode_table_v2_json(const AnswerModel& model, const TableSchema& table,
                            const Signature& signature, const DecodedRequest& request,
                            std::span<const TensorView> outputs, const Limits& limits, Arena& arena,
                            ByteBuffer& out, size_t& json_bytes_out) {
  json_bytes_out = 0;
  out.truncate(0);
  std::span<AnswerTensor> tensors;
  Status done = make_answer(table, signature, request, outputs, AnswerForm::V2Json, arena, tensors);
  uint64_t binary_bytes = 0;
  if (done.ok()) {
    done = write_v2(out, model, request, tensors, limits.response_bytes_max, binary_bytes);
  }
  bool any_binary = false;
  for (const AnswerTensor& tensor : tensors) any_binary |= tensor.binary;
  if (done.ok() && any_binary) {
    const size_t json_bytes = out.size();
    uint8_t* place = out.grow(static_cast<size_t>(binary_bytes));
    if (place == nullptr) done = memory_out(out);
    for (const AnswerTensor& tensor : tensors) {
      if (done.ok() && tensor.binary) place = write_raw_tensor(place, tensor.view);
    }
    if (binary_bytes != 0) json_bytes_out = json_bytes;
  }
  if (!done.ok()) {
    json_bytes_out = 0;
    out.truncate(0);
  }
  return done;
}

Status encode_table_v1(const TableSchema& table, const Signature& signature,
                       const DecodedRequest& request, std::span<const TensorView> outputs,
                       const Limits& limits, Arena& arena, ByteBuffer& out) {
  std::span<AnswerTensor> tensors;
  Status done = make_answer(table, signature, request, outputs, AnswerForm::V1, arena, tensors);
  if (!done.ok()) return done;
  const size_t start = out.size();
  const uint64_t bytes_max = limits.response_bytes_max;
  const bool begun = out.append(request.row_format ? "{\"predictions\":" : "{\"outputs\":");
  if (!begun) return memory_out(out);
  // Source: tfserving.md 1.6: a single output is written without its name.
  if (tensors.size() == 1) done = write_column(out, tensors[0], bytes_max);
  else if (request.row_format) done = write_rows(out, tensors, bytes_max);
  else done = write_columns(out, tensors, bytes_max);
  if (done.ok() && !out.append("}")) done = memory_out(out);
  if (!done.ok()) out.truncate(start);
  return done;
}

}  // namespace serval
