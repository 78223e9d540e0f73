// Copies tensors. Hot path.
#include "base/memory/tensor_copy.h"

#include <cstring>
#include <new>

namespace serval {

namespace {

constexpr size_t kPartAlignment = 64;

constexpr size_t part_bytes(size_t bytes) {
  return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

size_t rows_of(const TensorView& view) {
  return view.shape.rank() == 0 ? 1 : static_cast<size_t>(view.shape[0]);
}

size_t text_bytes(const TensorView& view) {
  size_t bytes = 0;
  for (const std::string_view text : view.strings) bytes += text.size();
  return bytes;
}

// Copies `bytes` bytes and returns the address of the next part.
uint8_t* copy_part(const void* from, size_t bytes, uint8_t* to) {
  if (bytes != 0) std::memcpy(to, from, bytes);
  return to + part_bytes(bytes);
}

uint8_t* copy_texts(TensorView& view, uint8_t* to) {
  const size_t count = view.strings.size();
  auto* views = reinterpret_cast<std::string_view*>(to);
  char* text = reinterpret_cast<char*>(to) + part_bytes(count * sizeof(std::string_view));
  uint8_t* const end =
      to + part_bytes(count * sizeof(std::string_view)) + part_bytes(text_bytes(view));
  for (size_t i = 0; i < count; ++i) {
    const std::string_view from = view.strings[i];
    if (!from.empty()) std::memcpy(text, from.data(), from.size());
    new (&views[i]) std::string_view(text, from.size());
    text += from.size();
  }
  view.strings = {views, count};
  return end;
}

}  // namespace

size_t copy_bytes(const TensorView& view) {
  size_t bytes = 0;
  if (dtype_is_text(view.dtype)) {
    bytes =
        part_bytes(view.strings.size() * sizeof(std::string_view)) + part_bytes(text_bytes(view));
  } else {
    bytes = part_bytes(view.bytes);
  }
  if (view.states != nullptr) bytes += part_bytes(rows_of(view));
  if (view.lengths != nullptr) bytes += part_bytes(rows_of(view) * sizeof(uint32_t));
  return bytes;
}

void copy_tensor(TensorView& view, uint8_t* to) {
  if (dtype_is_text(view.dtype)) {
    to = copy_texts(view, to);
  } else {
    const uint8_t* const from = view.data;
    view.data = to;
    to = copy_part(from, view.bytes, to);
  }
  if (view.states != nullptr) {
    const uint8_t* const from = view.states;
    view.states = to;
    to = copy_part(from, rows_of(view), to);
  }
  if (view.lengths != nullptr) {
    const uint32_t* const from = view.lengths;
    view.lengths = reinterpret_cast<const uint32_t*>(to);
    copy_part(from, rows_of(view) * sizeof(uint32_t), to);
  }
}

}  // namespace serval
