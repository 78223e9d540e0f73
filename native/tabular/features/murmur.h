// MurmurHash3 x86_32 with Spark's seed. Pure; any thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace serval::tabular {

namespace murmur {

constexpr uint32_t kSeed = 42;

constexpr uint32_t rotate(uint32_t value, int by) { return value << by | value >> (32 - by); }
constexpr uint32_t mix_word(uint32_t k) { return rotate(k * 0xcc9e2d51U, 15) * 0x1b873593U; }
constexpr uint32_t mix(uint32_t h, uint32_t k) {
  return rotate(h ^ mix_word(k), 13) * 5 + 0xe6546b64U;
}
constexpr uint32_t finish(uint32_t h, uint32_t bytes) {
  h ^= bytes;
  h = (h ^ h >> 16) * 0x85ebca6bU;
  h = (h ^ h >> 13) * 0xc2b2ae35U;
  return h ^ h >> 16;
}

}  // namespace murmur

// `whole_tail`: the bytes after the last full group of four form one word (the algorithm, and Spark
// since 3.0). Otherwise each of them is a separate, sign-extended word (earlier Spark).
inline int32_t murmur3(std::string_view bytes, bool whole_tail) {
  uint32_t h = murmur::kSeed;
  const size_t words = bytes.size() / 4;
  for (size_t i = 0; i < words; ++i) {
    uint32_t word = 0;
    std::memcpy(&word, bytes.data() + 4 * i, 4);
    h = murmur::mix(h, word);
  }
  uint32_t tail = 0;
  for (size_t i = 4 * words, shift = 0; i < bytes.size(); ++i, shift += 8) {
    if (whole_tail) tail |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[i])) << shift;
    else h = murmur::mix(h, static_cast<uint32_t>(static_cast<int8_t>(bytes[i])));
  }
  if (whole_tail) h ^= murmur::mix_word(tail);
  return static_cast<int32_t>(murmur::finish(h, static_cast<uint32_t>(bytes.size())));
}

inline int32_t murmur3_int(int32_t value) {
  return static_cast<int32_t>(
      murmur::finish(murmur::mix(murmur::kSeed, static_cast<uint32_t>(value)), 4));
}

inline int32_t murmur3_long(int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  const uint32_t low = murmur::mix(murmur::kSeed, static_cast<uint32_t>(bits));
  return static_cast<int32_t>(
      murmur::finish(murmur::mix(low, static_cast<uint32_t>(bits >> 32)), 8));
}

// hash modulo size, never negative.
inline int32_t hash_slot(int32_t hash, int32_t size) {
  const int32_t rest = hash % size;
  return rest < 0 ? rest + size : rest;
}

}  // namespace serval::tabular
