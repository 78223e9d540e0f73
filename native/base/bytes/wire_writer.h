// Computes sizes and writes bytes of the protobuf wire format, for messages whose size is known
// before they are written. Hot path, any thread. Knows no message.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/bytes/wire_reader.h"

namespace serval {

// protobuf's own limit on a message.
inline constexpr uint64_t kWireMessageBytesMax = 2147483647;

constexpr uint64_t varint_bytes(uint64_t value) {
  return (static_cast<uint64_t>(std::bit_width(value | 1)) * 9 + 64) / 64;
}

// Size of a length-delimited field of `length` bytes, including tag and length. `number` is below
// 16: its tag takes one byte.
constexpr uint64_t wire_field_bytes(uint64_t length) { return 1 + varint_bytes(length) + length; }

// Size of a string field; proto3 omits empty ones.
constexpr uint64_t wire_text_bytes(std::string_view text) {
  return text.empty() ? 0 : wire_field_bytes(text.size());
}

// Writes at `at`, into space that has been reserved.
struct WireWriter {
  uint8_t* at;

  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) *at++ = static_cast<uint8_t>(value | 0x80u);
    *at++ = static_cast<uint8_t>(value);
  }
  void tag(uint32_t number, WireType type) { varint(wire_tag(number, type)); }
  void head(uint32_t number, uint64_t length) {
    tag(number, WireType::Bytes);
    varint(length);
  }
  void raw(const void* bytes, size_t count) {
    if (count != 0) std::memcpy(at, bytes, count);
    at += count;
  }
  // Written even if it is empty: elements of repeated fields, map keys.
  void bytes(uint32_t number, std::string_view text) {
    head(number, text.size());
    raw(text.data(), text.size());
  }
  void text(uint32_t number, std::string_view text) {
    if (!text.empty()) bytes(number, text);
  }
};

}  // namespace serval
