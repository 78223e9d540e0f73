// The keyed hash, held equal to a plain computation, and its sensitivity to every byte.
#include "engine/cache/keyed_hash.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <vector>

namespace serval::test {
namespace {

std::vector<uint8_t> random_bytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

TEST(KeyedHash, DependsOnEveryBitAndOnTheLength) {
  const KeyedHash hash(7);
  for (const size_t size : {1u, 15u, 16u, 17u, 1023u, 1024u, 1025u, 3000u}) {
    std::vector<uint8_t> bytes = random_bytes(size, 1);
    const CacheKey whole = hash(bytes);
    EXPECT_EQ(hash(bytes), whole);
    for (size_t i = 0; i < size; ++i) {
      for (const int bit : {0, 7}) {
        bytes[i] ^= static_cast<uint8_t>(1 << bit);
        const CacheKey changed = hash(bytes);
        EXPECT_NE(changed.words[0], whole.words[0]) << size << " " << i;
        EXPECT_NE(changed.words[2], whole.words[2]) << size << " " << i;
        bytes[i] ^= static_cast<uint8_t>(1 << bit);
      }
    }
    bytes.push_back(0);
    EXPECT_FALSE(hash(bytes) == whole) << "a zero at the end counts: " << size;
  }
}

TEST(KeyedHash, TellsLengthsOfZerosApart) {
  const KeyedHash hash(1);
  std::set<std::array<uint64_t, 4>> seen;
  const std::vector<uint8_t> zeros(4096);
  for (size_t size = 0; size <= zeros.size(); ++size) {
    EXPECT_TRUE(seen.insert(hash({zeros.data(), size}).words).second) << size;
  }
}

TEST(KeyedHash, OrderOfBlocksAndOfWordsCounts) {
  const KeyedHash hash(3);
  const std::vector<uint8_t> bytes = random_bytes(4096, 2);
  const CacheKey whole = hash(bytes);
  for (const size_t part : {8u, 16u, 1024u}) {
    std::vector<uint8_t> swapped = bytes;
    std::swap_ranges(swapped.begin(), swapped.begin() + static_cast<ptrdiff_t>(part),
                     swapped.begin() + static_cast<ptrdiff_t>(2 * part));
    EXPECT_FALSE(hash(swapped) == whole) << part;
  }
}

TEST(KeyedHash, DependsOnTheKeyButNotOnTheAddress) {
  const std::vector<uint8_t> bytes = random_bytes(1000, 5);
  EXPECT_FALSE(KeyedHash(1)(bytes) == KeyedHash(2)(bytes));
  EXPECT_FALSE(KeyedHash()(bytes) == KeyedHash()(bytes)) << "random keys";
  std::vector<uint8_t> moved(bytes.size() + 3);
  std::memcpy(moved.data() + 3, bytes.data(), bytes.size());
  EXPECT_EQ(KeyedHash(1)({moved.data() + 3, bytes.size()}), KeyedHash(1)(bytes));
}

}  // namespace
}  // namespace serval::test
