// Implements the keyed hash. Hot path (models with a response cache); any thread.
#include "engine/cache/keyed_hash.h"

#include <cstring>
#include <random>

namespace serval {

namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr size_t kBlockBytes = KeyedHash::kBlockWords * sizeof(uint64_t);
constexpr Uint128 kPrime = (Uint128{1} << 127) - 1;
// A block's sum is cut to this length, so that it is less than the prime.
constexpr Uint128 kSumMask = (Uint128{1} << 126) - 1;
constexpr uint64_t kPointHighMask = (uint64_t{1} << 60) - 1;

uint64_t word_at(const uint8_t* bytes) {
  uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Returns a number below 2^127 + 1 with the same remainder modulo the prime.
Uint128 fold(Uint128 number) { return (number & kPrime) + (number >> 127); }

// Returns sum * point + term modulo the prime, at most 2^127; `sum` likewise.
Uint128 step(Uint128 sum, const std::array<uint64_t, 2>& point, Uint128 term) {
  const auto low = static_cast<uint64_t>(sum);
  const auto high = static_cast<uint64_t>(sum >> 64);
  const Uint128 mid = Uint128{high} * point[0] + Uint128{low} * point[1];
  const Uint128 parts = fold(Uint128{low} * point[0]) + fold(mid << 64);
  // 2^128 is 2 modulo the prime.
  const Uint128 carried = 2 * (Uint128{high} * point[1]) + 2 * (mid >> 64);
  return fold(fold(parts) + carried + term);
}

struct Sums {
  Uint128 first = 0, second = 0;
};

// Adds the products of `pairs` pairs of words, each word with its key added.
void add_products(const uint8_t* bytes, size_t pairs, const uint64_t* key, Sums& sums) {
  for (size_t i = 0; i < pairs; ++i, bytes += 16, key += 2) {
    const uint64_t even = word_at(bytes);
    const uint64_t odd = word_at(bytes + 8);
    sums.first += Uint128{even + key[0]} * (odd + key[1]);
    sums.second += Uint128{even + key[2]} * (odd + key[3]);
  }
}

uint64_t mixed(uint64_t& state) {  // splitmix64
  uint64_t word = state += 0x9e3779b97f4a7c15u;
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9u;
  word = (word ^ (word >> 27)) * 0x94d049bb133111ebu;
  return word ^ (word >> 31);
}

uint64_t random_word(std::random_device& device) { return uint64_t{device()} << 32 | device(); }

}  // namespace

KeyedHash::KeyedHash() {
  std::random_device device;
  for (uint64_t& word : key_) word = random_word(device);
  for (auto& point : points_) {
    for (uint64_t& word : point) word = random_word(device);
  }
  limit_points();
}

KeyedHash::KeyedHash(uint64_t seed) {
  for (uint64_t& word : key_) word = mixed(seed);
  for (auto& point : points_) {
    for (uint64_t& word : point) word = mixed(seed);
  }
  limit_points();
}

void KeyedHash::limit_points() {
  for (auto& point : points_) point[1] &= kPointHighMask;
}

CacheKey KeyedHash::operator()(std::span<const uint8_t> bytes) const {
  Uint128 first = 1, second = 1;  // the polynomial's leading coefficient
  const uint8_t* at = bytes.data();
  size_t left = bytes.size();
  while (left != 0) {
    const size_t size = left < kBlockBytes ? left : kBlockBytes;
    Sums sums;
    add_products(at, size / 16, key_.data(), sums);
    if (size % 16 != 0) {
      std::array<uint8_t, 16> tail{};
      std::memcpy(tail.data(), at + size - size % 16, size % 16);
      add_products(tail.data(), 1, key_.data() + size / 16 * 2, sums);
    }
    first = step(first, points_[0], sums.first & kSumMask);
    second = step(second, points_[1], sums.second & kSumMask);
    at += size;
    left -= size;
  }
  // The length tells contents apart that differ in zeros at their end.
  first = step(first, points_[0], bytes.size());
  second = step(second, points_[1], bytes.size());
  if (first >= kPrime) first -= kPrime;
  if (second >= kPrime) second -= kPrime;
  return {{static_cast<uint64_t>(first), static_cast<uint64_t>(first >> 64),
           static_cast<uint64_t>(second), static_cast<uint64_t>(second >> 64)}};
}

}  // namespace serval
