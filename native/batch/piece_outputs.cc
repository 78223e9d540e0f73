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

// Checks that dtype and trailing dimensions are those of the first piece, and dim 0 is the piece's.
// Errors: backend_failed.
Status check_piece(const TensorView& output, const TensorView& whole, size_t index, uint32_t rows,
                   bool tabular) {
  const Shape& shape = output.shape;
  Shape expected = whole.shape;
  if (tabular && shape.rank() == 2 && expected.rank() == 2) expected.set(1, shape[1]);
  expected.set(0, rows);
  if (output.dtype == whole.dtype && shape == expected) return ok_status();
  return make_error(ErrorCode::BackendFailed,
                    "split request: output " + std::to_string(index) +
                        " of a piece is expected to be " + std::string(dtype_name(whole.dtype)) +
                        " " + expected.to_string() + ", got " +
                        std::string(dtype_name(output.dtype)) + " " + shape.to_string());
}

// Refuses an output without rows, which cannot be concatenated.
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

// Appends the rows' states and, where a row is a vector or list, their lengths.
bool append_rows(const TensorView& output, uint32_t rows, ByteBuffer& states, ByteBuffer& lengths) {
  uint8_t* place = states.grow(rows);
  if (place == nullptr) return false;
  if (output.states != nullptr) std::copy_n(output.states, rows, place);
  else std::fill_n(place, rows, uint8_t{0});
  if (output.shape.rank() != 2) return true;
  auto* ends = reinterpret_cast<uint32_t*>(lengths.grow(rows * sizeof(uint32_t)));
  if (ends == nullptr) return false;
  if (is_ragged(output)) std::copy_n(output.lengths, rows, ends);
  else std::fill_n(ends, rows, static_cast<uint32_t>(output.shape[1]));
  return true;
}

// Sets states and lengths of all rows, once they are appended. Rows of equal length make no ragged
// tensor.
void set_rows(const ByteBuffer& states, const ByteBuffer& lengths, uint32_t rows,
              TensorView& view) {
  const auto missing = [](uint8_t state) { return state != 0; };
  if (std::any_of(states.data(), states.data() + rows, missing)) view.states = states.data();
  if (view.shape.rank() != 2 || rows == 0) return;
  const auto* sizes = reinterpret_cast<const uint32_t*>(lengths.data());
  const bool same = std::all_of(sizes, sizes + rows, [&](uint32_t size) { return size == *sizes; });
  view.shape.set(1, same ? int64_t{*sizes} : -1);
  if (!same) view.lengths = sizes;
}

// Appends the rows' bytes. The first rows reserve space for all, so that later ones do not move
// them.
bool append_fixed(const TensorView& output, uint32_t rows, uint32_t rows_total, ByteBuffer& bytes) {
  if (bytes.size() == 0 && rows != 0) {
    size_t bytes_total = 0;
    if (__builtin_mul_overflow(output.bytes / rows, rows_total, &bytes_total)) return false;
    if (!bytes.reserve(bytes_total)) return false;
  }
  return bytes.append(output.data, output.bytes);
}

}  // namespace

void PieceOutputs::begin(uint32_t rows_total, bool tabular) {
  views_.clear();  // empty = no piece yet
  rows_total_ = rows_total;
  rows_ = 0;
  tabular_ = tabular;
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
      outputs_[i].states.clear();
      outputs_[i].lengths.clear();
      outputs_[i].view.precision = outputs[i].precision;
      outputs_[i].view.scale = outputs[i].scale;
    }
  }
  if (outputs.size() != views_.size()) {
    return make_error(ErrorCode::BackendFailed,
                      "split request: a piece has " + std::to_string(outputs.size()) +
                          " outputs, expected " + std::to_string(views_.size()));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    Output& whole = outputs_[i];
    Status checked = check_piece(outputs[i], whole.view, i, rows, tabular_);
    if (!checked.ok()) return checked;
    if (tabular_ && !append_rows(outputs[i], rows, whole.states, whole.lengths)) {
      return out_of_memory(i);
    }
    const bool done = dtype_is_text(outputs[i].dtype)
                          ? append_strings(outputs[i].strings, whole.bytes, whole.ends)
                          : append_fixed(outputs[i], rows, rows_total_, whole.bytes);
    if (!done) return out_of_memory(i);
    whole.strings.resize(whole.ends.size());  // done here, because finish() cannot fail
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
    if (tabular_) set_rows(whole.states, whole.lengths, rows_, views_[i]);
    if (!dtype_is_text(whole.view.dtype)) {
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
