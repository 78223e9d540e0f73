// Outputs of a request that ran in pieces; see gather.h. Hot path; thread: instance.
#include <algorithm>
#include <cassert>
#include <exception>

#include "batch/gather.h"

namespace serval {

namespace {

Error out_of_memory(size_t output) {
  return make_error(ErrorCode::MemoryFull,
                    "split request: out of memory for output " + std::to_string(output));
}

// Dtype and inner dims are those of the first piece; dim 0 is the piece's.
// Errors: backend_failed.
Status check_piece(const TensorView& output, const TensorView& whole, size_t index, uint32_t rows) {
  const Shape& shape = output.shape;
  Shape expected = whole.shape;
  expected.set(0, rows);
  if (output.dtype == whole.dtype && shape == expected) return ok_status();
  return make_error(ErrorCode::BackendFailed,
                    "split request: output " + std::to_string(index) +
                        " of a piece is expected to be " + std::string(dtype_name(whole.dtype)) +
                        " " + expected.to_string() + ", got " +
                        std::string(dtype_name(output.dtype)) + " " + shape.to_string());
}

// An output without rows cannot be put together.
Status check_first(const TensorView& output, size_t index) {
  if (output.shape.rank() >= 1) return ok_status();
  return make_error(ErrorCode::BackendFailed, "split request: output " + std::to_string(index) +
                                                  " is a scalar; expected a batch dim");
}

// Appends the elements' bytes and ends.
bool append_strings(std::span<const std::string_view> strings, ByteBuffer& bytes,
                    std::vector<size_t>& ends) {
  for (const std::string_view string : strings) {
    if (!bytes.append(string)) return false;
    ends.push_back(bytes.size());
  }
  return true;
}

// Appends the rows' bytes. The first rows make room for all, so that the rest does not move them.
bool append_fixed(const TensorView& output, uint32_t rows, uint32_t rows_total, ByteBuffer& bytes) {
  if (bytes.size() == 0 && rows != 0) {
    size_t bytes_total = 0;
    if (__builtin_mul_overflow(output.bytes / rows, rows_total, &bytes_total)) return false;
    if (!bytes.reserve(bytes_total)) return false;
  }
  return bytes.append(output.data, output.bytes);
}

}  // namespace

void PieceOutputs::begin(uint32_t rows_total) {
  views_.clear();  // empty = no piece yet
  rows_total_ = rows_total;
  rows_ = 0;
}

Status PieceOutputs::append(std::span<const TensorView> outputs, uint32_t rows) try {
  assert(uint64_t{rows_} + rows <= rows_total_);
  if (views_.empty()) {
    views_.resize(outputs.size());
    if (outputs_.size() < outputs.size()) outputs_.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      Status first = check_first(outputs[i], i);
      if (!first.ok()) return first;
      outputs_[i].view = TensorView{outputs[i].dtype, outputs[i].shape, nullptr, 0, {}};
      outputs_[i].bytes.clear();
      outputs_[i].ends.clear();
    }
  }
  if (outputs.size() != views_.size()) {
    return make_error(ErrorCode::BackendFailed,
                      "split request: a piece has " + std::to_string(outputs.size()) +
                          " outputs, expected " + std::to_string(views_.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Output& whole = outputs_[i];
    Status checked = check_piece(outputs[i], whole.view, i, rows);
    if (!checked.ok()) return checked;
    const bool done = outputs[i].dtype == DType::Bytes
                          ? append_strings(outputs[i].strings, whole.bytes, whole.ends)
                          : append_fixed(outputs[i], rows, rows_total_, whole.bytes);
    if (!done) return out_of_memory(i);
    whole.strings.resize(whole.ends.size());  // here, because finish() cannot fail
  }
  rows_ += rows;
  return ok_status();
} catch (const std::exception&) {
  return make_error(ErrorCode::MemoryFull, "split request: out of memory");
}

std::span<const TensorView> PieceOutputs::finish() {
  for (size_t i = 0; i < views_.size(); ++i) {
    Output& whole = outputs_[i];
    views_[i] = whole.view;
    views_[i].shape.set(0, rows_);
    const auto* text = reinterpret_cast<const char*>(whole.bytes.data());
    if (whole.view.dtype != DType::Bytes) {
      views_[i].data = whole.bytes.data();
      views_[i].bytes = whole.bytes.size();
      continue;
    }
    size_t start = 0;
    for (size_t at = 0; at < whole.ends.size(); ++at) {
      whole.strings[at] = {text + start, whole.ends[at] - start};
      start = whole.ends[at];
    }
    views_[i].strings = whole.strings;
  }
  return views_;
}

}  // namespace serval
