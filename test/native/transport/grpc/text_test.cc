// Text in gRPC's headers: timeouts, percent-encoded messages and how they are cut, base64.
#include "transport/grpc/text.h"

#include <gtest/gtest.h>

#include <random>

#include "base/bytes/utf8.h"

namespace serval {
namespace {

using std::string;

TEST(Timeout, HasOneToEightDigitsAndAUnit) {
  const std::pair<const char*, uint64_t> cases[] = {
      {"1n", 1},
      {"0m", 0},
      {"00000001S", 1'000'000'000},
      {"100m", 100'000'000},
      {"5u", 5'000},
      {"20S", 20'000'000'000},
      {"3M", 180'000'000'000},
      {"2H", 7'200'000'000'000},
      {"99999999n", 99'999'999},
      {"99999999M", 5'999'999'940'000'000'000},
  };
  for (const auto& [text, ns] : cases) {
    const std::optional<uint64_t> got = parse_timeout_ns(text);
    ASSERT_TRUE(got.has_value()) << text;
    EXPECT_EQ(*got, ns) << text;
  }
}

TEST(Timeout, IsCutToWhatAClockHolds) {
  EXPECT_EQ(parse_timeout_ns("99999999H"), UINT64_MAX / 2);
  EXPECT_EQ(parse_timeout_ns("2562047H"), 2'562'047u * 3'600'000'000'000u);
  EXPECT_EQ(parse_timeout_ns("2562048H"), UINT64_MAX / 2);
}

TEST(Timeout, IsNothingElse) {
  const char* const kNone[] = {"",    "S",   "1",          "1s",  "1h",   "-1S", "+1S", "1.5S",
                               " 1S", "1S ", "123456789S", "1SS", "0x1S", "1 S", "S1",  "1K"};
  for (const char* text : kNone) EXPECT_FALSE(parse_timeout_ns(text).has_value()) << text;
}

string encoded(std::string_view text) {
  string out = "<";
  append_percent_encoded(text, out);
  return out.substr(1);
}

TEST(StatusMessage, IsPercentEncodedAsGrpcDoes) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("plain text, 'quoted' [x] {y} ~"), "plain text, 'quoted' [x] {y} ~");
  EXPECT_EQ(encoded("100% sure"), "100%25 sure");
  EXPECT_EQ(encoded("a\nb\tc\r\x7f"), "a%0Ab%09c%0D%7F");
  EXPECT_EQ(encoded("\xC3\xA4\xE2\x82\xAC"), "%C3%A4%E2%82%AC");
  EXPECT_EQ(encoded(string("\0", 1)), "%00");
  // A header's value has no spaces around it.
  EXPECT_EQ(encoded(" a b "), "%20a b%20");
  EXPECT_EQ(encoded(" "), "%20");
}

string cut(std::string_view text, size_t bytes_max, size_t encoded_max) {
  return cut_status_message(text, bytes_max, encoded_max);
}

TEST(StatusMessage, IsCutBetweenCharacters) {
  EXPECT_EQ(cut("12345678", 8, 100), "12345678");
  EXPECT_EQ(cut("123456789", 8, 100), "12345...");
  // The euro sign has three bytes: it fits as a whole or not at all.
  EXPECT_EQ(cut("1234\xE2\x82\xAC", 7, 100), "1234\xE2\x82\xAC");
  EXPECT_EQ(cut("12\xE2\x82\xAC"
                "567",
                7, 100),
            "12...");
  EXPECT_EQ(cut("\xF0\x9F\x98\x80\xF0\x9F\x98\x80", 7, 100), "\xF0\x9F\x98\x80...");
  EXPECT_EQ(cut("\xF0\x9F\x98\x80\xF0\x9F\x98\x80", 6, 100), "...");
}

// A space becomes %20 because encodeURI encodes it.
TEST(StatusMessage, IsCutByItsEncodedLength) {
  EXPECT_EQ(cut("a b c", 100, 9), "a b c");
  EXPECT_EQ(cut("a b c", 100, 8), "a b...");
  EXPECT_EQ(cut("a b c", 100, 7), "a ...");
  EXPECT_EQ(cut("a b c", 100, 6), "a...");
  EXPECT_EQ(cut("\xC3\xA4\xC3\xA4", 100, 12), "\xC3\xA4\xC3\xA4");
  EXPECT_EQ(cut("\xC3\xA4\xC3\xA4", 100, 11), "\xC3\xA4...");
  EXPECT_EQ(cut(";/?:@&=+$,-_.!~*'()#", 100, 20), ";/?:@&=+$,-_.!~*'()#");
  EXPECT_EQ(cut("[", 100, 2), "...");
}

TEST(StatusMessage, HasReplacementsForWhatIsNoUtf8) {
  EXPECT_EQ(cut("a\xFFz", 100, 100), "a\xEF\xBF\xBDz");
  EXPECT_EQ(cut("\xED\xA0\x80", 100, 100), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(cut("\xE2\x82", 100, 100), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(StatusMessage, FitsWhateverTheTextIs) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    string text(random() % 40, 'x');
    for (char& c : text) {
      if (random() % 3 == 0) c = static_cast<char>(random());
    }
    const size_t bytes_max = 3 + random() % 30;
    const size_t encoded_max = 3 + random() % 40;
    const string got = cut(text, bytes_max, encoded_max);
    EXPECT_LE(got.size(), bytes_max);
    EXPECT_LE(encoded(got).size(), encoded_max);
    EXPECT_TRUE(is_valid_utf8(got));
    EXPECT_EQ(cut(got, bytes_max, encoded_max), got);
  }
}

TEST(StatusMessage, OfGigabytesIsNotWalkedToItsEnd) {
  const string text(100u << 20, 'x');
  const string got = cut(text, kStatusBytesMax, kStatusEncodedBytesMax);
  EXPECT_EQ(got.size(), kStatusBytesMax);
  EXPECT_TRUE(got.ends_with("x..."));
}

string base64(std::string_view bytes) {
  string out;
  append_base64(bytes, out);
  return out;
}

// Source: RFC 4648 10, without the padding.
TEST(Base64, IsStandardWithoutPadding) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg");
  EXPECT_EQ(base64("fo"), "Zm8");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foob"), "Zm9vYg");
  EXPECT_EQ(base64("fooba"), "Zm9vYmE");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xfb\xff\xfe"), "+//+");
}

TEST(Base64, IsReadWithAndWithoutPadding) {
  std::mt19937 random(5);
  string got;
  for (size_t size = 0; size < 200; ++size) {
    string bytes(size, 0);
    for (char& c : bytes) c = static_cast<char>(random());
    string text = base64(bytes);
    ASSERT_TRUE(decode_base64(text, got)) << text;
    EXPECT_EQ(got, bytes);
    while (text.size() % 4 != 0) text.push_back('=');
    ASSERT_TRUE(decode_base64(text, got)) << text;
    EXPECT_EQ(got, bytes);
  }
}

TEST(Base64, IsNothingElse) {
  string got = "before";
  for (const char* text : {"A", "AAAAA", "AA-_", "A A=", "AA=", "AAA==", "=", "==", "====", "A===",
                           "AA=A", "AAAA====", "AAAA=", "AA,AA", "Zm9v\n", "\xC3\xA4\xC3\xA4"}) {
    EXPECT_FALSE(decode_base64(text, got)) << text;
    EXPECT_EQ(got, "") << text;
  }
}

}  // namespace
}  // namespace serval
