// Gathers the additional data of tabular batches: states, and lengths of ragged rows. See gather.h.
// Hot path; thread: instance.
#include <algorithm>
#include <exception>

#include "batch/gather.h"

namespace serval {

namespace {

Error out_of_memory(size_t input) {
  return make_error(ErrorCode::MemoryFull,
                    "batch: out of memory for input " + std::to_string(input));
}

// Memory for `bytes` of input `input`; null if memory is out.
uint8_t* make_room(std::vector<ByteBuffer>& buffers, size_t input, size_t bytes,
                   MemoryBudget* budget) {
  while (buffers.size() <= input) buffers.emplace_back().charge_to(budget);
  buffers[input].clear();
  return buffers[input].grow(bytes);
}

// Calls take(part, first row, rows) for each part that has rows, then for the padding row, the
// first of the last part, as often as it is repeated. False: no part has rows.
template <typename Take>
bool each_part(std::span<const BatchPart> parts, uint32_t rows_out, Take take) {
  const BatchPart* last = nullptr;
  uint32_t rows = 0;
  for (const BatchPart& part : parts) {
    if (part.rows == 0) continue;
    take(part, part.first_row, part.rows);
    rows += part.rows;
    last = &part;
  }
  for (; last != nullptr && rows < rows_out; ++rows) take(*last, last->first_row, 1);
  return last != nullptr;
}

}  // namespace

Status gather_states(std::span<const BatchPart> parts, size_t input, uint32_t rows_out,
                     GatherMemory& memory, TensorView& out) {
  const bool any = std::ranges::any_of(
      parts, [input](const BatchPart& part) { return part.inputs[input].states != nullptr; });
  if (!any) return ok_status();
  uint8_t* place = make_room(memory.states, input, rows_out, memory.budget);
  if (place == nullptr) return out_of_memory(input);
  out.states = place;
  const bool some =
      each_part(parts, rows_out, [&](const BatchPart& part, uint32_t first, uint32_t rows) {
        const uint8_t* states = part.inputs[input].states;
        place = states == nullptr ? std::fill_n(place, rows, uint8_t{0})
                                  : std::copy_n(states + first, rows, place);
      });
  if (!some) std::fill_n(place, rows_out, uint8_t{1});
  return ok_status();
}

Status gather_ragged(std::span<const BatchPart> parts, size_t input, uint32_t rows_out,
                     GatherMemory& memory, TensorView& out) try {
  const TensorView& like = parts[0].inputs[input];
  out = TensorView{like.dtype, like.shape, nullptr, 0, {}};
  out.shape.set(0, rows_out);
  const size_t lengths_bytes = size_t{rows_out} * sizeof(uint32_t);
  uint8_t* room = make_room(memory.lengths, input, lengths_bytes, memory.budget);
  if (room == nullptr) return out_of_memory(input);
  auto* lengths = reinterpret_cast<uint32_t*>(room);
  out.lengths = lengths;
  size_t count = 0;
  const auto take_lengths = [&](const BatchPart& part, uint32_t first, uint32_t rows) {
    const uint32_t* from = part.inputs[input].lengths + first;
    lengths = std::copy_n(from, rows, lengths);
    for (uint32_t row = 0; row < rows; ++row) count += from[row];
  };
  if (!each_part(parts, rows_out, take_lengths)) std::fill_n(lengths, rows_out, 0u);
  const bool is_text = dtype_is_text(like.dtype);
  std::string_view* strings = nullptr;
  uint8_t* bytes = nullptr;
  if (is_text) {
    if (memory.strings.size() <= input) memory.strings.resize(input + 1);
    if (memory.strings[input].size() < count) memory.strings[input].resize(count);
    strings = memory.strings[input].data();
    out.strings = {strings, count};
  } else {
    const size_t size = dtype_bytes(like.dtype);
    bytes = make_room(memory.bytes, input, count * size, memory.budget);
    if (bytes == nullptr) return out_of_memory(input);
    out.data = bytes;
    out.bytes = count * size;
  }
  each_part(parts, rows_out, [&](const BatchPart& part, uint32_t first, uint32_t rows) {
    const TensorView slice = slice_rows(part.inputs[input], first, rows);
    if (is_text) strings = std::copy(slice.strings.begin(), slice.strings.end(), strings);
    else bytes = std::copy_n(slice.data, slice.bytes, bytes);
  });
  return ok_status();
} catch (const std::exception&) {
  return out_of_memory(input);
}

}  // namespace serval
