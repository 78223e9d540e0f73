// Compression of responses: the codings' names, which ones a client accepts, and that
// base/bytes/inflate.h restores the compressed bytes.
#include "transport/grpc/packing.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/bytes/inflate.h"

namespace serval {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(MessageCodings, AreKnownByTheirNames) {
  for (const auto coding : {MessageCoding::Identity, MessageCoding::Gzip, MessageCoding::Deflate}) {
    EXPECT_EQ(coding_named(name_of(coding)), coding);
  }
  for (const char* name : {"", "GZIP", "snappy", "gzip ", "br"}) {
    EXPECT_FALSE(coding_named(name).has_value()) << name;
  }
}

TEST(MessageCodings, AreChosenFromWhatAClientTakes) {
  EXPECT_EQ(best_coding(""), MessageCoding::Identity);
  EXPECT_EQ(best_coding("identity"), MessageCoding::Identity);
  EXPECT_EQ(best_coding("identity, deflate, gzip"), MessageCoding::Gzip);
  EXPECT_EQ(best_coding("gzip"), MessageCoding::Gzip);
  EXPECT_EQ(best_coding("identity,deflate"), MessageCoding::Deflate);
  EXPECT_EQ(best_coding("deflate ,\tsnappy"), MessageCoding::Deflate);
  EXPECT_EQ(best_coding(",,gzipped, x-gzip ,"), MessageCoding::Identity);
  EXPECT_EQ(best_coding(kAcceptedCodings), MessageCoding::Gzip);
}

Bytes some_bytes(size_t size, unsigned kinds, unsigned seed) {
  std::mt19937 random(seed);
  Bytes out(size);
  for (uint8_t& byte : out) byte = static_cast<uint8_t>(random() % kinds);
  return out;
}

Bytes unpacked(MessageCoding coding, std::span<const uint8_t> packed) {
  ByteBuffer out;
  Inflater inflater(coding == MessageCoding::Gzip ? Coding::Gzip : Coding::Deflate, packed,
                    UINT64_MAX);
  while (!inflater.done()) {
    const Status step = inflater.step(out, 1u << 20);
    if (!step.ok()) {
      ADD_FAILURE() << step.error().message;
      break;
    }
  }
  return {out.bytes().begin(), out.bytes().end()};
}

TEST(Packing, IsUndoneByUnpackingAndComesBehindWhatIsThere) {
  for (const size_t size : {100u, 4096u, 65536u, 200'000u}) {
    const Bytes message = some_bytes(size, 4, 1);
    for (const auto coding : {MessageCoding::Gzip, MessageCoding::Deflate}) {
      for (const uint32_t level : {1u, 6u, 100u}) {
        ByteBuffer out;
        ASSERT_TRUE(out.append("head"));
        ASSERT_TRUE(pack_message(coding, level, message, out)) << size << " level " << level;
        ASSERT_LT(out.size(), 4 + message.size());
        EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(out.data()), 4), "head");
        ASSERT_EQ(unpacked(coding, out.bytes().subspan(4)), message);
      }
    }
  }
}

// Clients expect zlib's format for "deflate", not the bare stream.
TEST(Packing, OfDeflateIsTheZlibFormat) {
  ByteBuffer out;
  ASSERT_TRUE(pack_message(MessageCoding::Deflate, 6, Bytes(1000), out));
  EXPECT_EQ(out.data()[0], 0x78);
  ByteBuffer gzip;
  ASSERT_TRUE(pack_message(MessageCoding::Gzip, 6, Bytes(1000), gzip));
  EXPECT_EQ(gzip.data()[0], 0x1f);
  EXPECT_EQ(gzip.data()[1], 0x8b);
}

TEST(Packing, IsLeftOutWhereItWouldNotBeShorter) {
  ByteBuffer out;
  ASSERT_TRUE(out.append("head"));
  for (const size_t size : {0u, 1u, 2u, 10u, 18u, 1000u, 200'000u}) {
    EXPECT_FALSE(pack_message(MessageCoding::Gzip, 6, some_bytes(size, 256, 2), out)) << size;
    EXPECT_EQ(out.size(), 4u);
  }
  EXPECT_FALSE(pack_message(MessageCoding::Identity, 6, Bytes(1000), out));
  EXPECT_FALSE(pack_message(MessageCoding::Gzip, 0, Bytes(1000), out));
  EXPECT_EQ(out.size(), 4u);
}

// One byte less counts as shorter: finds the smallest compressed form of each length.
TEST(Packing, TakesWhatIsJustShorter) {
  ByteBuffer packed;
  Bytes message;
  while (!pack_message(MessageCoding::Deflate, 9, message, packed)) message.push_back(0);
  EXPECT_EQ(packed.size(), message.size() - 1);
  EXPECT_EQ(unpacked(MessageCoding::Deflate, packed.bytes()), message);
}

TEST(Packing, IsLeftOutWhereMemoryIsOut) {
  MemoryBudget budget(1u << 20);
  ByteBuffer out;
  out.charge_to(&budget);
  ASSERT_TRUE(out.append("head"));
  EXPECT_FALSE(pack_message(MessageCoding::Gzip, 1, some_bytes(8u << 20, 16, 3), out));
  EXPECT_EQ(out.size(), 4u);
  EXPECT_GT(budget.refused(), 0u);
}

}  // namespace
}  // namespace serval
