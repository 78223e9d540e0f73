// Compares the functions that use a CPU's instructions with the plain ones of scalar.h, for each
// set of instructions that this build can run: SSE4.2 and AVX2, or NEON.
#include "base/cpu/cpu.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <random>
#include <string>
#include <vector>

#include "base/bytes/crc32c.h"

namespace serval {
namespace {

using Stored = std::array<char, 16>;

// Random bytes, most of them from those that the functions tell apart.
std::vector<std::string> texts() {
  constexpr size_t kLength = 32;
  constexpr std::string_view kMarked =
      "\"\\[]{}0123456789./:;-+eE_YyZ \x1f\x20\x7f\x80\xff\x01\x00";
  std::mt19937 random(7);
  std::vector<std::string> out;
  for (int i = 0; i < 4000; ++i) {
    std::string text(kLength, 'x');
    for (char& byte : text) {
      const auto choice = static_cast<uint32_t>(random());
      byte = choice % 4 == 0 ? static_cast<char>(choice >> 8)
                             : kMarked[(choice >> 8) % (kMarked.size() + 1)];
    }
    out.push_back(text);
  }
  // Each byte alone, in each place.
  for (int byte = 0; byte < 256; ++byte) {
    for (size_t place = 0; place < kLength; ++place) {
      out.emplace_back(kLength, '5');
      out.back()[place] = static_cast<char>(byte);
    }
  }
  return out;
}

// The functions of one file, as a type: namespaces are no template arguments.
#define SERVAL_FUNCTIONS(Name, from)                                                              \
  struct Name {                                                                                   \
    using Bytes16 = from::Bytes16;                                                                \
    static uint32_t string_stops(const char* p) { return from::string_stops(p); }                 \
    static uint32_t brackets(const char* p) { return from::marks_and_quotes<0xd9, '['>(p); }      \
    static uint32_t list_brackets(const char* p) { return from::marks_and_quotes<0xf9, '['>(p); } \
    static uint32_t not_digits(const char* p) { return from::not_digits(p); }                     \
    static bool all_bools(const uint8_t* p) { return from::all_bools(p); }                        \
    static uint64_t gather_digits(const char* p, uint32_t count, uint32_t whole) {                \
      return from::gather_digits(p, count, whole);                                                \
    }                                                                                             \
    static Bytes16 two_words(uint64_t low, uint64_t high) { return from::two_words(low, high); }  \
    static Bytes16 sixteen_digits(uint32_t high, uint32_t low) {                                  \
      return from::sixteen_digits(high, low);                                                     \
    }                                                                                             \
    static Bytes16 to_text(Bytes16 digits) { return from::to_text(digits); }                      \
    static uint32_t not_zero(Bytes16 bytes) { return from::not_zero(bytes); }                     \
    static Bytes16 pick(Bytes16 bytes, const uint8_t* at) { return from::pick(bytes, at); }       \
    static Stored stored(Bytes16 bytes) {                                                         \
      Stored out;                                                                                 \
      from::store(out.data(), bytes);                                                             \
      return out;                                                                                 \
    }                                                                                             \
    static uint32_t crc32c_byte(uint32_t state, uint8_t byte) {                                   \
      return from::crc32c_byte(state, byte);                                                      \
    }                                                                                             \
    static uint64_t crc32c_word(uint64_t state, uint64_t word) {                                  \
      return from::crc32c_word(state, word);                                                      \
    }                                                                                             \
  }

SERVAL_FUNCTIONS(Plain, cpu::scalar);
SERVAL_FUNCTIONS(Chosen, cpu);
#if defined(__SSE4_2__) && !defined(SERVAL_SCALAR)
SERVAL_FUNCTIONS(Sse4, cpu::sse4);
using Sets = testing::Types<Chosen, Sse4>;
#else
using Sets = testing::Types<Chosen>;
#endif

template <typename Set>
class Cpu : public testing::Test {};
TYPED_TEST_SUITE(Cpu, Sets);

TYPED_TEST(Cpu, FindsTheSameBytes) {
  for (const std::string& text : texts()) {
    const char* p = text.data();
    const auto* bytes = reinterpret_cast<const uint8_t*>(p);
    ASSERT_EQ(TypeParam::string_stops(p), Plain::string_stops(p)) << text;
    ASSERT_EQ(TypeParam::brackets(p), Plain::brackets(p)) << text;
    ASSERT_EQ(TypeParam::list_brackets(p), Plain::list_brackets(p)) << text;
    ASSERT_EQ(TypeParam::not_digits(p), Plain::not_digits(p)) << text;
    ASSERT_EQ(TypeParam::all_bools(bytes), Plain::all_bools(bytes)) << text;
  }
}

TYPED_TEST(Cpu, FindsABadBoolInEachPlace) {
  for (size_t place = 0; place <= 32; ++place) {
    for (const int value : {0, 1, 2, 0x80, 0xff}) {
      std::array<uint8_t, 33> bytes{0, 1, 1};
      bytes[place] = static_cast<uint8_t>(value);
      ASSERT_EQ(TypeParam::all_bools(bytes.data()), Plain::all_bools(bytes.data())) << place;
    }
  }
}

TYPED_TEST(Cpu, ReadsTheSameDigits) {
  std::mt19937_64 random(11);
  for (uint32_t count = 1; count <= 15; ++count) {
    for (uint32_t whole = 1; whole <= count; ++whole) {
      const bool point = whole < count;
      if (point && count == 15) continue;  // 16 bytes with the point
      for (int round = 0; round < 50; ++round) {
        std::string text = std::to_string(random() | uint64_t{1} << 63).substr(0, 16);
        if (point) text[whole] = '.';
        const uint32_t before = point ? whole : 16;
        ASSERT_EQ(TypeParam::gather_digits(text.data(), count, before),
                  Plain::gather_digits(text.data(), count, before))
            << text << ", " << count << " digits, " << before << " before the point";
      }
    }
  }
}

TYPED_TEST(Cpu, WritesTheSameDigits) {
  constexpr std::array<uint32_t, 6> kEdges{0, 1, 9, 10, 10'000, 99'999'999};
  std::mt19937_64 random(13);
  for (int round = 0; round < 20'000; ++round) {
    const auto any = [&] {
      return round < 100 ? kEdges[random() % 6] : static_cast<uint32_t>(random() % 100'000'000);
    };
    const uint32_t high = any(), low = any();
    const auto digits = TypeParam::sixteen_digits(high, low);
    const auto plain = Plain::sixteen_digits(high, low);
    ASSERT_EQ(TypeParam::stored(digits), Plain::stored(plain)) << high << ' ' << low;
    ASSERT_EQ(TypeParam::not_zero(digits), Plain::not_zero(plain)) << high << ' ' << low;
    ASSERT_EQ(TypeParam::stored(TypeParam::to_text(digits)), Plain::stored(Plain::to_text(plain)));
    std::array<uint8_t, 16> places;
    for (uint8_t& place : places) {
      place = random() % 5 == 0 ? uint8_t{0x80} : static_cast<uint8_t>(random() % 16);
    }
    ASSERT_EQ(TypeParam::stored(TypeParam::pick(digits, places.data())),
              Plain::stored(Plain::pick(plain, places.data())));
  }
}

TYPED_TEST(Cpu, CombinesTheSameWords) {
  std::mt19937_64 random(17);
  for (int round = 0; round < 20'000; ++round) {
    const uint64_t first = random(), second = random();
    ASSERT_EQ(TypeParam::stored(TypeParam::two_words(first, second)),
              Plain::stored(Plain::two_words(first, second)));
    const auto state = static_cast<uint32_t>(first);
    ASSERT_EQ(TypeParam::crc32c_word(state, second), Plain::crc32c_word(state, second));
    const auto byte = static_cast<uint8_t>(second);
    ASSERT_EQ(TypeParam::crc32c_byte(state, byte), Plain::crc32c_byte(state, byte));
  }
}

// The plain functions themselves, against values that were computed by hand.
TEST(PlainCpu, FindsReadsAndSums) {
  std::string text(32, 'a');
  text[0] = '"';
  text[3] = '\\';
  text[30] = '\x1f';
  text[31] = ' ';
  EXPECT_EQ(Plain::string_stops(text.data()), 0x40000009u);
  text = "[1,{\"a\":2}]_Y                       ";
  EXPECT_EQ(Plain::brackets(text.data()), 0b1111001011001u);
  EXPECT_EQ(Plain::not_digits("0123456789/:-.e5"), 0xffff7c00u);
  EXPECT_EQ(Plain::gather_digits("12.345,         ", 5, 2), 12345u);
  EXPECT_EQ(Plain::gather_digits("12345           ", 5, 16), 12345u);
  EXPECT_EQ(crc32c(std::span(reinterpret_cast<const uint8_t*>("123456789"), 9), 0), 0xe3069283u);
}

// The smallest normal float divided by two is a denormal number.
TEST(FloatMode, FlushesDenormalNumbersUntilTheModeIsRestored) {
  volatile float smallest = std::bit_cast<float>(0x00800000u);
  volatile float half = smallest / 2;
  EXPECT_NE(std::bit_cast<uint32_t>(static_cast<float>(half)), 0u);
  const uint64_t before = cpu::flush_denormals();
  half = smallest / 2;
  cpu::restore_float_mode(before);
#if !defined(SERVAL_SCALAR)
  EXPECT_EQ(std::bit_cast<uint32_t>(static_cast<float>(half)), 0u);
#endif
  half = smallest / 2;
  EXPECT_NE(std::bit_cast<uint32_t>(static_cast<float>(half)), 0u);
}

}  // namespace
}  // namespace serval
