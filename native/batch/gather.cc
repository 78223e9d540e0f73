// Gathers requests into batches. Hot path; thread: instance. Elements are copied by free functions
// over units: bytes for fixed-size dtypes, string views for BYTES.
#include "batch/gather.h"

#include <algorithm>
#include <cassert>
#include <exception>
#include <type_traits>

namespace serval {

namespace {

// The layout of one input in the batch. Lengths in units.
struct Layout {
  Shape shape;                               // of the batch
  std::array<size_t, kRankMax> out_steps{};  // distance between two entries of a dim, in units
  size_t units = 0;                          // of the whole batch
};

// The units of one element.
size_t units_of(DType dtype) { return dtype_is_text(dtype) ? 1 : dtype_bytes(dtype); }

// steps[i] = units of one entry of dim i. Only wraps for tensors without elements.
void set_steps(std::span<const int64_t> dims, size_t element_units, size_t* steps) {
  size_t units = element_units;
  for (size_t i = dims.size(); i-- > 0;) {
    steps[i] = units;
    units *= static_cast<size_t>(dims[i]);
  }
}

// Errors: internal if the number of elements or bytes of the batch overflows.
Status lay_out(std::span<const BatchPart> parts, size_t input, uint32_t rows_out, Layout& layout) {
  const TensorView& first = parts[0].inputs[input];
  layout.shape = first.shape;
  layout.shape.set(0, rows_out);
  for (const BatchPart& part : parts.subspan(1)) {
    const Shape& shape = part.inputs[input].shape;
    assert(shape.rank() == first.shape.rank() && part.inputs[input].dtype == first.dtype);
    for (size_t i = 1; i < shape.rank(); ++i) {
      layout.shape.set(i, std::max(layout.shape[i], shape[i]));
    }
  }
  const std::optional<uint64_t> elements = layout.shape.elements();
  const size_t element_units = units_of(first.dtype);
  if (!elements || __builtin_mul_overflow(*elements, element_units, &layout.units)) {
    return make_error(ErrorCode::Internal, "batch: input " + std::to_string(input) + " of shape " +
                                               layout.shape.to_string() + " is too large");
  }
  set_steps(layout.shape.dims(), element_units, layout.out_steps.data());
  return ok_status();
}

// Copies one part's block: from `from` dims into `to` dims, filling the rest with Unit{}.
template <typename Unit>
struct PaddedCopy {
  std::span<const int64_t> from, to;
  const size_t* from_steps;
  const size_t* to_steps;
  size_t flat = 0;  // from this dim on a block is contiguous in both

  void run(const Unit* source, Unit* target, size_t dim) const {
    const auto count = static_cast<size_t>(from[dim]);
    const size_t to_units = static_cast<size_t>(to[dim]) * to_steps[dim];
    const size_t used_units = count * to_steps[dim];
    if (dim == flat) {
      std::copy_n(source, used_units, target);
    } else {
      for (size_t i = 0; i < count; ++i) {
        run(source + i * from_steps[dim], target + i * to_steps[dim], dim + 1);
      }
    }
    std::fill_n(target + used_units, to_units - used_units, Unit{});
  }
};

// Copies rows [first_row, first_row + rows) to `target`, with trailing dims enlarged to those of
// the batch.
template <typename Unit>
void copy_part(const BatchPart& part, size_t input, const Layout& layout, Unit* target) {
  const TensorView& tensor = part.inputs[input];
  std::array<size_t, kRankMax> from_steps{};
  set_steps(tensor.shape.dims(), units_of(tensor.dtype), from_steps.data());
  Shape from = tensor.shape, to = layout.shape;
  from.set(0, part.rows);
  to.set(0, part.rows);
  PaddedCopy<Unit> copy{from.dims(), to.dims(), from_steps.data(), layout.out_steps.data()};
  for (size_t i = 1; i < from.rank(); ++i) {
    if (from[i] != to[i]) copy.flat = i;
  }
  const Unit* source = nullptr;
  if constexpr (std::is_same_v<Unit, std::string_view>) {
    source = tensor.strings.data();
  } else {
    source = tensor.data;
  }
  copy.run(source + part.first_row * from_steps[0], target, 0);
}

// Fills `target`, layout.units of it.
template <typename Unit>
void fill_batch(std::span<const BatchPart> parts, size_t input, const Layout& layout,
                Unit* target) {
  Unit* const end = target + layout.units;
  const size_t row_units = layout.out_steps[0];
  const Unit* repeated = nullptr;  // first row of the last part with rows
  for (const BatchPart& part : parts) {
    if (part.rows == 0) continue;
    repeated = target;
    copy_part(part, input, layout, target);
    target += part.rows * row_units;
  }
  if (repeated == nullptr) {
    std::fill(target, end, Unit{});
    return;
  }
  while (target < end) target = std::copy_n(repeated, row_units, target);
}

Error out_of_memory(size_t input) {
  return make_error(ErrorCode::MemoryFull,
                    "batch: out of memory for input " + std::to_string(input));
}

// Only grows, so that the elements of an earlier batch are not cleared for the next.
bool grow_strings(std::vector<std::string_view>& strings, size_t count) {
  if (strings.size() >= count) return true;
  try {
    strings.resize(count);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

Status gather_input(std::span<const BatchPart> parts, size_t input, uint32_t rows_out,
                    GatherMemory& memory, TensorView& out) {
  Layout layout;
  Status laid = lay_out(parts, input, rows_out, layout);
  if (!laid.ok()) return laid;
  out = TensorView{parts[0].inputs[input].dtype, layout.shape, nullptr, 0, {}};
  out.precision = parts[0].inputs[input].precision;
  out.scale = parts[0].inputs[input].scale;
  if (dtype_is_text(out.dtype)) {
    std::vector<std::string_view>& strings = memory.strings[input];
    if (!grow_strings(strings, layout.units)) return out_of_memory(input);
    if (layout.units != 0) fill_batch(parts, input, layout, strings.data());
    out.strings = {strings.data(), layout.units};
    return ok_status();
  }
  uint8_t* place = nullptr;
  if (memory.places != nullptr) place = memory.places->input_place(input, layout.units);
  if (place == nullptr) {
    ByteBuffer& bytes = memory.bytes[input];
    bytes.clear();
    place = bytes.grow(layout.units);
  }
  if (place == nullptr) return out_of_memory(input);
  if (layout.units != 0) fill_batch(parts, input, layout, place);
  out.data = place;
  out.bytes = layout.units;
  return ok_status();
}

// Slices the elements of rows [first_row, first_row + rows), and their lengths.
void slice_ragged(const TensorView& tensor, uint32_t first_row, uint32_t rows, TensorView& slice) {
  size_t begin = 0, count = 0;
  for (uint32_t row = 0; row < first_row; ++row) begin += tensor.lengths[row];
  for (uint32_t row = first_row; row < first_row + rows; ++row) count += tensor.lengths[row];
  slice.lengths = tensor.lengths + first_row;
  if (dtype_is_text(tensor.dtype)) {
    slice.strings = tensor.strings.subspan(begin, count);
    return;
  }
  const size_t size = dtype_bytes(tensor.dtype);
  if (tensor.data != nullptr) slice.data = tensor.data + begin * size;
  slice.bytes = count * size;
}

bool same_inner_dims(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.dims().subspan(1), b.dims().subspan(1));
}

}  // namespace

bool same_batch(std::span<const TensorView> a, std::span<const TensorView> b, bool pad_inner) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const Shape& shape = a[i].shape;
    if (a[i].dtype != b[i].dtype) return false;
    if (a[i].dtype == DType::Invalid) continue;  // both requests omit it
    if (shape.rank() == 0) return false;         // a scalar has no rows
    if (is_ragged(a[i]) != is_ragged(b[i]) || a[i].precision != b[i].precision ||
        a[i].scale != b[i].scale) {
      return false;
    }
    if (shape.rank() != b[i].shape.rank()) return false;
    if (!pad_inner && !same_inner_dims(shape, b[i].shape)) return false;
  }
  return true;
}

// Hot path: run. See gather.h.
Status gather(std::span<const BatchPart> parts, uint32_t rows_out, [[maybe_unused]] bool pad_inner,
              GatherMemory& memory, std::vector<TensorView>& out) {
  assert(!parts.empty());
  [[maybe_unused]] uint64_t rows = 0;
  for (const BatchPart& part : parts) {
    assert(same_batch(parts[0].inputs, part.inputs, pad_inner));
    rows += part.rows;
  }
  assert(rows <= rows_out);
  const size_t inputs = parts[0].inputs.size();
  out.resize(inputs);
  if (parts.size() == 1 && parts[0].rows == rows_out) {
    for (size_t i = 0; i < inputs; ++i) {
      out[i] = slice_rows(parts[0].inputs[i], parts[0].first_row, rows_out);
    }
    return ok_status();
  }
  while (memory.bytes.size() < inputs) memory.bytes.emplace_back().charge_to(memory.budget);
  if (memory.strings.size() < inputs) memory.strings.resize(inputs);
  for (size_t i = 0; i < inputs; ++i) {
    if (parts[0].inputs[i].dtype == DType::Invalid) {
      out[i] = TensorView();
      continue;
    }
    Status gathered = is_ragged(parts[0].inputs[i])
                          ? gather_ragged(parts, i, rows_out, memory, out[i])
                          : gather_input(parts, i, rows_out, memory, out[i]);
    if (gathered.ok()) gathered = gather_states(parts, i, rows_out, memory, out[i]);
    if (!gathered.ok()) return gathered;
  }
  return ok_status();
}

TensorView slice_rows(const TensorView& tensor, uint32_t first_row, uint32_t rows) {
  if (tensor.dtype == DType::Invalid) return tensor;
  assert(tensor.shape.rank() >= 1);
  assert(uint64_t{first_row} + rows <= static_cast<uint64_t>(tensor.shape[0]));
  TensorView slice = tensor;
  slice.shape.set(0, rows);
  if (slice.states != nullptr) slice.states += first_row;
  if (is_ragged(tensor)) {
    slice_ragged(tensor, first_row, rows, slice);
    return slice;
  }
  const auto rows_all = static_cast<size_t>(tensor.shape[0]);
  if (rows_all == 0) return slice;
  if (dtype_is_text(tensor.dtype)) {
    const size_t row_strings = tensor.strings.size() / rows_all;
    slice.strings = tensor.strings.subspan(first_row * row_strings, rows * row_strings);
    return slice;
  }
  const size_t row_bytes = tensor.bytes / rows_all;
  if (row_bytes != 0) slice.data = tensor.data + first_row * row_bytes;
  slice.bytes = rows * row_bytes;
  return slice;
}

bool outputs_have_rows(std::span<const TensorView> outputs, uint32_t rows) {
  return std::ranges::all_of(outputs, [rows](const TensorView& output) {
    return output.shape.rank() >= 1 && output.shape[0] == int64_t{rows};
  });
}

}  // namespace serval
