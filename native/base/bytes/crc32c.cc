// Computes CRC-32C: about 8 bytes in three cycles if the CPU has the instruction.
#include "base/bytes/crc32c.h"

#include <array>
#include <cstring>

#ifdef __SSE4_2__
#include <nmmintrin.h>
#endif

namespace serval {

#ifdef __SSE4_2__

uint32_t crc32c(std::span<const uint8_t> bytes, uint32_t crc) {
  uint64_t state = ~crc;
  const uint8_t* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    state = _mm_crc32_u64(state, word);
  }
  uint32_t rest = static_cast<uint32_t>(state);
  for (; left > 0; ++at, --left) rest = _mm_crc32_u8(rest, *at);
  return ~rest;
}

#else

namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0x82f63b78u : value >> 1;
    table[i] = value;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = make_table();

}  // namespace

uint32_t crc32c(std::span<const uint8_t> bytes, uint32_t crc) {
  uint32_t state = ~crc;
  for (const uint8_t byte : bytes) state = kTable[(state ^ byte) & 0xff] ^ state >> 8;
  return ~state;
}

#endif

}  // namespace serval
