// V2 and V1 answers of a tabular model as JSON. Hot path; any thread. Source: tabular.md 2.4, 2.5.
#include "codec/bytes_tensor.h"
#include "codec/json/text.h"
#include "codec/table/answer.h"
#include "codec/table/table.h"
#include "codec/table/tensor.h"
#include "codec/table/write_values.h"

namespace serval {

namespace {

using namespace table;

Error memory_out(const ByteBuffer& out) {
  return make_error(ErrorCode::MemoryFull,
                    "no memory for the response behind byte " + std::to_string(out.size()));
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

// Everything in front of an output's data.
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

bool append_front(ByteBuffer& out, const AnswerModel& model, const DecodedRequest& request) {
  if (!out.append("{\"model_name\":") || !append_json_string(out, model.name) ||
      !out.append(",\"model_version\":") || !append_json_string(out, model.version)) {
    return false;
  }
  if (request.has_id && (!out.append(",\"id\":") || !append_json_string(out, request.id))) {
    return false;
  }
  return out.append(",\"outputs\":[");
}

Status write_v2(ByteBuffer& out, const AnswerModel& model, const DecodedRequest& request,
                std::span<const AnswerTensor> tensors, uint64_t bytes_max, uint64_t& binary_bytes) {
  if (!append_front(out, model, request)) return memory_out(out);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const AnswerTensor& tensor = tensors[i];
    const uint64_t raw_bytes = tensor.binary ? raw_tensor_size(tensor.view) : 0;
    binary_bytes += raw_bytes;
    if (i != 0 && !out.append(",")) return memory_out(out);
    if (!append_head(out, tensor, raw_bytes)) return memory_out(out);
    if (!tensor.binary) {
      if (!out.append(",\"data\":[")) return memory_out(out);
      Status done =
          append_values(out, tensor, 0, elements_of(tensor.view), NumberForm::Strings, bytes_max);
      if (!done.ok()) return done;
      if (!out.append("]")) return memory_out(out);
    }
    if (!out.append("}")) return memory_out(out);
    if (out.size() + binary_bytes > bytes_max) {
      return make_error(ErrorCode::BodyTooLarge, "the response is over the limit of " +
                                                     std::to_string(bytes_max) + " bytes");
    }
  }
  return out.append("]}") ? Status() : Status(memory_out(out));
}

// A tensor whose rows are written one after the other.
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
    AnswerTensor present = tensor;
    present.nulls = nullptr;
    Status done = append_values(out, present, begin, at, NumberForm::Tokens, bytes_max);
    if (done.ok() && cells && !out.append("]")) return memory_out(out);
    return done;
  }
};

// All rows of one output. Numbers without nulls are written together.
Status write_column(ByteBuffer& out, const AnswerTensor& tensor, uint64_t bytes_max) {
  if (!out.append("[")) return memory_out(out);
  Status done;
  if (tensor.view.shape.rank() == 1) {
    done = append_values(out, tensor, 0, elements_of(tensor.view), NumberForm::Tokens, bytes_max);
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
  // Source: tfserving.md 1.6: one output goes without its name.
  if (tensors.size() == 1) done = write_column(out, tensors[0], bytes_max);
  else if (request.row_format) done = write_rows(out, tensors, bytes_max);
  else done = write_columns(out, tensors, bytes_max);
  if (done.ok() && !out.append("}")) done = memory_out(out);
  if (!done.ok()) out.truncate(start);
  return done;
}

}  // namespace serval
