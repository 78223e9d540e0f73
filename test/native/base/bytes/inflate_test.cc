// Decompression in steps: whatever the step, the result is what zlib compressed, and every error
// has a name.
#include "base/bytes/inflate.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string>
#include <vector>

namespace serval {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes packed(std::span<const uint8_t> plain, int window_bits) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  Bytes out(deflateBound(&z, plain.size()) + 64);
  z.next_in = const_cast<uint8_t*>(plain.data());
  z.avail_in = static_cast<uInt>(plain.size());
  z.next_out = out.data();
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

constexpr int kGzip = 31;
constexpr int kZlib = 15;
constexpr int kRaw = -15;

std::string unpacked(Coding coding, const Bytes& bytes, uint64_t bytes_max, size_t step,
                     Bytes& plain, MemoryBudget* budget = nullptr) {
  ByteBuffer out;
  out.charge_to(budget);
  out.clear(7);
  Inflater inflater(coding, bytes, bytes_max);
  while (!inflater.done()) {
    if (Status done = inflater.step(out, step); !done.ok()) return done.error().message;
  }
  plain.assign(out.bytes().begin(), out.bytes().end());
  return "";
}

Bytes random_bytes(std::mt19937& random) {
  Bytes out(random() % 300'000);
  const uint64_t kinds = random() % 200 + 1;
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(random() % kinds);
  return out;
}

TEST(Inflate, GivesBackWhatWasPackedInStepsOfAnySize) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    const Bytes plain = random_bytes(random);
    const size_t step = random() % 100'000 + 1;
    for (const int bits : {kGzip, kZlib, kRaw}) {
      const Coding coding = bits == kGzip ? Coding::Gzip : Coding::Deflate;
      Bytes got;
      ASSERT_EQ(unpacked(coding, packed(plain, bits), plain.size(), step, got), "");
      ASSERT_EQ(got, plain);
    }
  }
}

TEST(Inflate, NeverGivesOtherBytesForASpoiledBody) {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    const Bytes plain = random_bytes(random);
    Bytes bytes = packed(plain, kGzip);
    // A position after the header, which is not checked.
    const size_t at = 10 + random() % (bytes.size() - 10);
    if (round % 2 == 0) bytes[at] ^= static_cast<uint8_t>(1 + random() % 255);
    else bytes.resize(at);
    Bytes got;
    const std::string problem = unpacked(Coding::Gzip, bytes, 1u << 20, 65536, got);
    ASSERT_NE(problem, "") << "round " << round;
    ASSERT_EQ(problem.rfind("request body is not valid gzip: ", 0), 0u) << problem;
  }
}

TEST(Inflate, TakesSeveralGzipMembers) {
  const Bytes a{1, 2, 3}, b{4, 5};
  Bytes both = packed(a, kGzip);
  const Bytes second = packed(b, kGzip);
  both.insert(both.end(), second.begin(), second.end());
  Bytes got;
  EXPECT_EQ(unpacked(Coding::Gzip, both, 5, 1, got), "");
  EXPECT_EQ(got, (Bytes{1, 2, 3, 4, 5}));
}

TEST(Inflate, StopsAtTheLimit) {
  const Bytes plain(1000);
  Bytes got;
  EXPECT_EQ(unpacked(Coding::Gzip, packed(plain, kGzip), 1000, 4096, got), "");
  EXPECT_EQ(unpacked(Coding::Gzip, packed(plain, kGzip), 999, 4096, got),
            "request body is over the limit of 999 bytes after decompression (gzip)");
}

TEST(Inflate, TakesAnyLimit) {
  const Bytes plain(100'000, 5);
  Bytes got;
  EXPECT_EQ(unpacked(Coding::Gzip, packed(plain, kGzip), UINT64_MAX, SIZE_MAX, got), "");
  EXPECT_EQ(got, plain);
}

TEST(Inflate, StopsAtTheBudget) {
  MemoryBudget budget(1u << 20);
  const Bytes plain(8u << 20);
  Bytes got;
  EXPECT_NE(unpacked(Coding::Gzip, packed(plain, kGzip), 1u << 30, 1u << 20, got, &budget), "");
  EXPECT_EQ(budget.used(), 0u);
}

TEST(Inflate, NamesWhatIsBehindTheEnd) {
  Bytes bytes = packed(Bytes{1}, kZlib);
  bytes.push_back(9);
  Bytes got;
  EXPECT_EQ(unpacked(Coding::Deflate, bytes, 10, 10, got),
            "request body is not valid deflate: 1 bytes after its end");
  EXPECT_EQ(unpacked(Coding::Gzip, {}, 10, 10, got),
            "request body is not valid gzip: unexpected end of file");
}

}  // namespace
}  // namespace serval
