// Functions that a CPU may have instructions for, in plain C++ for any CPU; this file says what
// each of them does. Hot path; any thread. Borrows the bytes; any alignment.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

namespace serval::cpu {

// Row n moves n digits to the right end of a register and clears the bytes before them.
inline constexpr auto kAlignRight = [] {
  std::array<uint8_t, 32> table{};
  for (size_t i = 0; i < 16; ++i) {
    table[i] = 0x80;
    table[i + 16] = static_cast<uint8_t>(i);
  }
  return table;
}();

}  // namespace serval::cpu

namespace serval::cpu::scalar {

// A bit for each of the 32 bytes at `text` that ends the plain part of a JSON string: a quotation
// mark, a backslash or a control character.
inline uint32_t string_stops(const char* text) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    mask |= static_cast<uint32_t>(byte <= 0x1f || byte == '"' || byte == '\\') << i;
  }
  return mask;
}

// A bit for each of the 32 bytes at `text` that is a quotation mark, or that equals `mark` in the
// bits of `same`.
template <uint8_t same, uint8_t mark>
uint32_t marks_and_quotes(const char* text) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < 32; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    mask |= static_cast<uint32_t>((byte & same) == (mark & same) || byte == '"') << i;
  }
  return mask;
}

// Whether each of the 32 bytes is 0 or 1.
inline bool all_bools(const uint8_t* bytes) {
  uint8_t all = 0;
  for (uint32_t i = 0; i < 32; ++i) all = static_cast<uint8_t>(all | bytes[i]);
  return all <= 1;
}

// A bit for each of the 16 bytes at `text` that is not a decimal digit; bits 16 to 31 are set.
inline uint32_t not_digits(const char* text) {
  uint32_t mask = 0xffff0000u;
  for (uint32_t i = 0; i < 16; ++i)
    mask |= static_cast<uint32_t>(text[i] < '0' || text[i] > '9') << i;
  return mask;
}

// The place of the lowest bit of a mask that is not 0. Unsigned, unlike std::countr_zero(): a sign
// extension costs a cycle.
inline uint32_t first_bit(uint32_t mask) { return static_cast<uint32_t>(__builtin_ctz(mask)); }

// The value of `count` digits at `first`, of which the first `whole` are before a point (which is
// skipped). At most 15 bytes in all; 16 bytes are read.
inline uint64_t gather_digits(const char* first, uint32_t count, uint32_t whole) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < count; ++i) {
    value = value * 10 + static_cast<uint64_t>(first[i + static_cast<uint32_t>(i >= whole)] - '0');
  }
  return value;
}

using Bytes16 = std::array<uint8_t, 16>;

// The bytes of two words; the lowest byte of `low` comes first.
inline Bytes16 two_words(uint64_t low, uint64_t high) {
  Bytes16 bytes;
  for (uint32_t i = 0; i < 8; ++i) {
    bytes[i] = static_cast<uint8_t>(low >> (8 * i));
    bytes[i + 8] = static_cast<uint8_t>(high >> (8 * i));
  }
  return bytes;
}

// The decimal digits of two values below 10^8 as bytes 0..9, those of `high` first.
inline Bytes16 sixteen_digits(uint32_t high, uint32_t low) {
  Bytes16 digits;
  for (size_t i = 8; i-- > 0; high /= 10, low /= 10) {
    digits[i] = static_cast<uint8_t>(high % 10);
    digits[i + 8] = static_cast<uint8_t>(low % 10);
  }
  return digits;
}

// The text of digits 0..9.
inline Bytes16 to_text(Bytes16 digits) {
  for (uint8_t& digit : digits) digit = static_cast<uint8_t>(digit | '0');
  return digits;
}

// A bit for each byte that is not 0. Bytes are below 128.
inline uint32_t not_zero(const Bytes16& bytes) {
  uint32_t mask = 0;
  for (uint32_t i = 0; i < 16; ++i) mask |= static_cast<uint32_t>(bytes[i] != 0) << i;
  return mask;
}

// Byte i of the result is the one that places[i] names; 0 for a place of 0x80. Other places are
// below 16.
inline Bytes16 pick(const Bytes16& bytes, const uint8_t* places) {
  Bytes16 picked;
  for (size_t i = 0; i < 16; ++i) picked[i] = places[i] < 16 ? bytes[places[i]] : uint8_t{0};
  return picked;
}

inline void store(char* out, const Bytes16& bytes) { std::memcpy(out, bytes.data(), 16); }

inline constexpr auto kCrc32cTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0x82f63b78u : value >> 1;
    table[i] = value;
  }
  return table;
}();

// The state of a CRC-32C after one more byte.
inline uint32_t crc32c_byte(uint32_t state, uint8_t byte) {
  return kCrc32cTable[(state ^ byte) & 0xff] ^ state >> 8;
}

// The same after the eight bytes of a word, the lowest first. The upper half of the state is 0: one
// of 64 bits needs no instruction between two words on x86-64.
inline uint64_t crc32c_word(uint64_t state, uint64_t word) {
  auto lower = static_cast<uint32_t>(state);
  for (int i = 0; i < 8; ++i, word >>= 8) lower = crc32c_byte(lower, static_cast<uint8_t>(word));
  return lower;
}

// Makes this thread flush denormal inputs and results to 0, if the CPU can. Returns what
// restore_float_mode() needs to end that.
inline uint64_t flush_denormals() { return 0; }
inline void restore_float_mode(uint64_t) {}

// Waits for a moment between two polls.
inline void pause() { std::atomic_signal_fence(std::memory_order_seq_cst); }

}  // namespace serval::cpu::scalar
