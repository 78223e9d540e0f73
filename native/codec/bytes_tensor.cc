// Reads and writes the raw form of BYTES tensors, and writes that of any tensor. Hot path, any
// thread.
// Source: v2-protocol.md 1.3 "layout".
#include "codec/bytes_tensor.h"

#include <cstring>
#include <string>

#include "base/copies.h"

namespace serval {

namespace {

constexpr size_t kPrefixBytes = 4;

Error bad_raw(std::string_view input, const std::string& what) {
  std::string text = "input '";
  text.append(input.substr(0, kErrorValueBytesMax));
  return invalid_argument(text + "': BYTES " + what);
}

inline uint32_t load_length(const uint8_t* at) {
  uint32_t length = 0;
  std::memcpy(&length, at, kPrefixBytes);
  return length;
}

std::string missing(uint64_t found, uint64_t elements, size_t size) {
  return "data of " + std::to_string(size) + " bytes ends after element " + std::to_string(found) +
         ": expected " + std::to_string(elements) + " elements";
}

}  // namespace

Status decode_raw_bytes(std::span<const uint8_t> raw, uint64_t elements, std::string_view input,
                        Arena& arena, TensorView& out) {
  const size_t size = raw.size();
  // Every element takes at least four bytes, so the input's size bounds the array.
  if (elements > size / kPrefixBytes) {
    return bad_raw(input, "data: expected " + std::to_string(elements) +
                              " elements of 4 bytes or more, got " + std::to_string(size) +
                              " bytes");
  }
  auto* strings = arena.allocate_array<std::string_view>(static_cast<size_t>(elements));
  if (strings == nullptr) {
    return make_error(ErrorCode::MemoryFull, "no memory for the elements of a BYTES tensor");
  }
  size_t at = 0;
  for (uint64_t i = 0; i < elements; ++i) {
    if (size - at < kPrefixBytes) return bad_raw(input, missing(i, elements, size));
    const uint32_t length = load_length(raw.data() + at);
    at += kPrefixBytes;
    if (length > size - at) {
      return bad_raw(input, "element " + std::to_string(i) + ": length " + std::to_string(length) +
                                " at byte " + std::to_string(at - kPrefixBytes) +
                                " overruns the data: " + std::to_string(size - at) + " bytes left");
    }
    strings[i] = {reinterpret_cast<const char*>(raw.data() + at), length};
    at += length;
  }
  if (at != size) {
    return bad_raw(input, "data: " + std::to_string(size - at) + " bytes left over after " +
                              std::to_string(elements) + " elements at byte " + std::to_string(at));
  }
  out.dtype = DType::Bytes;
  out.data = nullptr;
  out.bytes = 0;
  out.strings = {strings, static_cast<size_t>(elements)};
  count_viewed(size);
  return {};
}

uint64_t raw_bytes_size(const TensorView& tensor) {
  uint64_t size = 0;
  for (std::string_view element : tensor.strings) size += kPrefixBytes + element.size();
  return size;
}

uint64_t raw_tensor_size(const TensorView& tensor) {
  return dtype_is_text(tensor.dtype) ? raw_bytes_size(tensor) : tensor.bytes;
}

uint8_t* write_raw_tensor(uint8_t* out, const TensorView& tensor) {
  if (!dtype_is_text(tensor.dtype)) {
    if (tensor.bytes != 0) std::memcpy(out, tensor.data, tensor.bytes);
    return out + tensor.bytes;
  }
  for (std::string_view element : tensor.strings) {
    const auto length = static_cast<uint32_t>(element.size());
    std::memcpy(out, &length, kPrefixBytes);
    out += kPrefixBytes;
    if (length != 0) std::memcpy(out, element.data(), length);
    out += length;
  }
  return out;
}

}  // namespace serval
