// A hash of bytes with a secret key, for tables where two different contents must never be taken
// for each other. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace serval {

struct CacheKey {
  std::array<uint64_t, 4> words{};

  bool operator==(const CacheKey&) const = default;
};

struct CacheKeyHash {
  size_t operator()(const CacheKey& digest) const { return static_cast<size_t>(digest.words[0]); }
};

// A universal hash of two independent halves. For any two different contents that are chosen
// without knowledge of the key, both halves agree with a probability below 2^-100 per GiB of
// content. Source: NH and the polynomial of VMAC (Krovetz, Dai: draft-krovetz-vmac-01), twice.
class KeyedHash {
 public:
  static constexpr size_t kBlockWords = 128;

  // A random key.
  KeyedHash();
  // A key from a seed, for tests.
  explicit KeyedHash(uint64_t seed);

  CacheKey operator()(std::span<const uint8_t> bytes) const;

 private:
  static constexpr size_t kKeyWords = kBlockWords + 2;  // the second half's key is two words ahead

  void limit_points();

  std::array<uint64_t, kKeyWords> key_{};
  // The points at which the halves evaluate their polynomials: below 2^124, low word first.
  std::array<std::array<uint64_t, 2>, 2> points_{};
};

}  // namespace serval
