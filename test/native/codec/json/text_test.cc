// Tests of codec/json/text.h: numbers against std::to_chars and std::from_chars, strings, base64.
// SERVAL_EXHAUSTIVE=1 covers all 2^32 floats (up to a quarter of an hour); otherwise every
// exponent, all boundary values and ten million random patterns are covered.
#include "codec/json/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace serval {
namespace {

std::string float_text_of(float value) {
  char text[64];
  return {text, write_float(text, value)};
}

std::string double_text_of(double value) {
  char text[64];
  return {text, write_double(text, value)};
}

std::string elements_text(DType dtype, const void* data, size_t bytes, uint64_t begin,
                          uint64_t end) {
  TensorView tensor;
  tensor.dtype = dtype;
  tensor.data = static_cast<const uint8_t*>(data);
  tensor.bytes = bytes;
  ByteBuffer out;
  EXPECT_TRUE(append_elements(out, tensor, begin, end));
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

// Significant digits and the power of ten after the point, for comparing two texts.
struct Digits {
  char digits[32];
  size_t count = 0;
  int point = 0;
};

Digits digits_of(const char* text, const char* end) {
  Digits out;
  bool point_seen = false;
  const char* at = text;
  for (; at != end && *at != 'e'; ++at) {
    if (*at == '-') continue;
    if (*at == '.') {
      point_seen = true;
      continue;
    }
    if (!point_seen) ++out.point;
    if (out.count == 0 && *at == '0') {
      --out.point;
      continue;
    }
    out.digits[out.count++] = *at;
  }
  int exponent = 0;
  if (at != end) std::from_chars(at + (at[1] == '+' ? 2 : 1), end, exponent);
  out.point += exponent;
  while (out.count > 0 && out.digits[out.count - 1] == '0') --out.count;
  return out;
}

bool is_exact_integer(double value) {
  return std::fabs(value) >= 8388608.0 && std::fabs(value) < 4294967296.0;
}

// Empty if `text` reads back as `value` and has as few digits as std::to_chars needs.
std::string fault(float value, const char* text, const char* end) {
  float back = 0;
  const auto read = std::from_chars(text, end, back);
  const std::string shown(text, end);
  if (read.ptr != end || std::bit_cast<uint32_t>(back) != std::bit_cast<uint32_t>(value)) {
    return shown + " does not read back";
  }
  if (is_exact_integer(value)) return {};
  char reference[64];
  char* const stop =
      std::to_chars(reference, reference + 64, value, std::chars_format::scientific).ptr;
  const Digits got = digits_of(text, end);
  const Digits expected = digits_of(reference, stop);
  if (got.count != expected.count || (got.count != 0 && got.point != expected.point) ||
      std::memcmp(got.digits, expected.digits, got.count) != 0) {
    return shown + " is not as short or as near as " + std::string(&reference[0], stop);
  }
  return {};
}

// Checks a block of finite floats, one by one and as a tensor. Returns the number of wrong ones.
size_t check_block(const std::vector<float>& block) {
  ByteBuffer out;
  TensorView tensor;
  tensor.dtype = DType::Fp32;
  tensor.data = reinterpret_cast<const uint8_t*>(block.data());
  tensor.bytes = block.size() * sizeof(float);
  EXPECT_TRUE(append_elements(out, tensor, 0, block.size()));
  const char* at = reinterpret_cast<const char*>(out.data());
  const char* stop = at + out.size();
  size_t faults = 0;
  for (float value : block) {
    char text[64];
    const char* end = write_float(text, value);
    const std::string wrong = fault(value, text, end);
    const auto bytes = static_cast<size_t>(end - text);
    const bool same = static_cast<size_t>(stop - at) >= bytes && std::memcmp(at, text, bytes) == 0;
    if ((!wrong.empty() || !same) && ++faults < 10) {
      ADD_FAILURE() << std::hex << std::bit_cast<uint32_t>(value) << ": " << wrong
                    << (same ? "" : " (the batch differs)");
    }
    at += bytes;
    EXPECT_TRUE(at == stop || *at == ',');
    if (at != stop) ++at;
  }
  EXPECT_EQ(at, stop);
  return faults;
}

TEST(WriteFloat, HasTheDocumentedLayout) {
  const std::vector<std::pair<float, std::string>> cases = {
      {4.0f, "4.0"},
      {-0.0f, "-0.0"},
      {0.0f, "0.0"},
      {0.1f, "0.1"},
      {1e20f, "1e+20"},
      {1e-7f, "1e-07"},
      {-1.5e-7f, "-1.5e-07"},
      {0.00001f, "0.00001"},
      {0.000012345678f, "0.000012345678"},
      {1e-6f, "1e-06"},
      {123.456f, "123.456"},
      {100.0f, "100.0"},
      {16777216.0f, "16777216.0"},
      {67108872.0f, "67108872.0"},
      {123456792.0f, "123456792.0"},
      {4294967040.0f, "4294967040.0"},
      {4294967296.0f, "4.2949673e+09"},
      {3.14159274f, "3.1415927"},
      {std::numeric_limits<float>::max(), "3.4028235e+38"},
      {std::numeric_limits<float>::min(), "1.1754944e-38"},
      {std::numeric_limits<float>::denorm_min(), "1e-45"},
      {std::numeric_limits<float>::infinity(), "Infinity"},
      {-std::numeric_limits<float>::infinity(), "-Infinity"},
      {std::numeric_limits<float>::quiet_NaN(), "NaN"},
      {-std::numeric_limits<float>::quiet_NaN(), "NaN"},
  };
  for (const auto& [value, text] : cases) {
    EXPECT_EQ(float_text_of(value), text);
    for (size_t count : {1u, 7u, 8u, 9u}) {
      const std::vector<float> many(count, value);
      std::string expected = text;
      for (size_t i = 1; i < count; ++i) expected += "," + text;
      EXPECT_EQ(elements_text(DType::Fp32, many.data(), count * 4, 0, count), expected);
    }
  }
}

TEST(WriteFloat, TouchesNoMoreThanItsRoom) {
  for (float value : {-1.17549435e-38f, -0.000012345679f, -4294967040.0f, -1.2345679e-38f}) {
    char text[kFloatTextMax + 8];
    std::memset(text, '#', sizeof text);
    write_float(text, value);
    for (size_t i = kFloatTextMax; i < sizeof text; ++i) EXPECT_EQ(text[i], '#');
  }
}

TEST(WriteFloat, IsShortestOnEveryExponentAndBoundary) {
  std::vector<float> block;
  std::mt19937 random(7);
  for (uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (uint32_t fraction : {0u, 1u, 2u, 3u, 0x3fffffu, 0x400000u, 0x7ffffeu, 0x7fffffu}) {
      block.push_back(std::bit_cast<float>(exponent << 23 | fraction));
    }
    for (int i = 0; i < 500; ++i) {
      block.push_back(
          std::bit_cast<float>(exponent << 23 | (static_cast<uint32_t>(random()) & 0x807fffffu)));
    }
  }
  for (int power = -45; power <= 38; ++power) {
    const auto near = static_cast<float>(std::pow(10.0, power));
    block.insert(block.end(), {near, std::nextafter(near, 0.0f), std::nextafter(near, 1e38f)});
  }
  for (int i = 0; i < 20000; ++i) {
    block.push_back(static_cast<float>(i));
    block.push_back(static_cast<float>(i) / 100.0f);
  }
  EXPECT_EQ(check_block(block), 0u);
}

TEST(WriteFloat, IsShortestOnRandomPatterns) {
  std::mt19937 random(11);
  std::vector<float> block;
  size_t faults = 0;
  for (int i = 0; i < 10'000'000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(value)) block.push_back(value);
    if (block.size() == 8190) {
      faults += check_block(block);
      block.clear();
    }
  }
  EXPECT_EQ(faults + check_block(block), 0u);
}

TEST(WriteFloat, IsShortestEverywhereWhenAsked) {
  const char* asked = std::getenv("SERVAL_EXHAUSTIVE");
  const uint32_t step = asked != nullptr && *asked == '1' ? 1 : 10007;
  std::vector<float> block;
  size_t faults = 0;
  for (uint64_t bits = 0; bits < 0x100000000ULL; bits += step) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isfinite(value)) block.push_back(value);
    if (block.size() >= 65536) {
      faults += check_block(block);
      block.clear();
    }
  }
  EXPECT_EQ(faults + check_block(block), 0u);
}

TEST(WriteDouble, HasTheDocumentedLayout) {
  const std::vector<std::pair<double, std::string>> cases = {
      {4.0, "4.0"},
      {-0.0, "-0.0"},
      {0.1, "0.1"},
      {1e15, "1000000000000000.0"},
      {1e16, "1e+16"},
      {1e-5, "0.00001"},
      {-1.2345678901234568e-5, "-0.000012345678901234568"},
      {1e-6, "1e-06"},
      {-123.456, "-123.456"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {9007199254740993.0, "9007199254740992.0"},
      {-std::numeric_limits<double>::infinity(), "-Infinity"},
      {std::numeric_limits<double>::infinity(), "Infinity"},
      {std::numeric_limits<double>::quiet_NaN(), "NaN"},
  };
  for (const auto& [value, text] : cases) EXPECT_EQ(double_text_of(value), text);
}

TEST(WriteDouble, ReadsBackAndStaysInItsRoom) {
  std::mt19937_64 random(13);
  for (int i = 0; i < 300'000; ++i) {
    const auto value = std::bit_cast<double>(static_cast<uint64_t>(random()));
    if (!std::isfinite(value)) continue;
    char text[kDoubleTextMax + 8];
    std::memset(text, '#', sizeof text);
    const char* end = write_double(text, value);
    double back = 0;
    ASSERT_EQ(std::from_chars(text, end, back).ptr, end);
    ASSERT_EQ(std::bit_cast<uint64_t>(back), std::bit_cast<uint64_t>(value));
    for (size_t k = kDoubleTextMax; k < sizeof text; ++k) ASSERT_EQ(text[k], '#');
  }
}

// Builds the text of a double from the digits that std::to_chars finds, one character at a time.
std::string expected_double_text(double value) {
  char text[64];
  const char* end = std::to_chars(text, text + 64, value, std::chars_format::scientific).ptr;
  std::string digits;
  const char* at = text;
  for (; *at != 'e'; ++at) {
    if (*at != '-' && *at != '.') digits += *at;
  }
  int exponent = 0;
  std::from_chars(at + (at[1] == '+' ? 2 : 1), end, exponent);
  const std::string sign = *text == '-' ? "-" : "";
  if (exponent < -5 || exponent > 15) return std::string(text, static_cast<size_t>(end - text));
  if (exponent < 0)
    return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  const auto before = static_cast<size_t>(exponent) + 1;
  if (digits.size() <= before) return sign + digits.append(before - digits.size(), '0') + ".0";
  return sign + digits.insert(before, 1, '.');
}

// Doubles near which the shortest text changes: powers of two and ten, and subnormal ones.
std::vector<double> doubles_at_boundaries() {
  std::vector<double> values;
  const auto add = [&](double value) {
    const auto bits = std::bit_cast<uint64_t>(value);
    for (uint64_t near = 0; near <= 6; ++near) {
      values.push_back(std::bit_cast<double>(bits + near - 3));
    }
  };
  for (int i = -1074; i <= 1023; ++i) add(std::ldexp(1.0, i));
  for (int i = -323; i <= 308; ++i) {
    for (int digit = 1; digit <= 9; ++digit) {
      add(std::strtod((std::to_string(digit) + "e" + std::to_string(i)).c_str(), nullptr));
    }
  }
  for (uint64_t bits = 1; bits <= 20'000; ++bits) values.push_back(std::bit_cast<double>(bits));
  for (uint64_t tie = 1; tie < 2000; ++tie) add(std::ldexp(static_cast<double>(tie), 52) + 0.5);
  add(9007199254740993.0);
  add(1e23);
  add(2.2250738585072014e-308);
  add(1.7976931348623157e308);
  std::erase_if(values, [](double value) { return !std::isfinite(value) || value == 0; });
  return values;
}

TEST(WriteDouble, AgreesWithToCharsAtBoundaries) {
  for (const double value : doubles_at_boundaries()) {
    ASSERT_EQ(double_text_of(value), expected_double_text(value));
    ASSERT_EQ(double_text_of(-value), expected_double_text(-value));
  }
}

TEST(WriteDouble, AgreesWithToCharsOnRandomValues) {
  std::mt19937_64 random(23);
  char expected[64];
  char text[64];
  for (int i = 0; i < 10'000'000; ++i) {
    uint64_t bits = random();
    // A quarter of the values is near 1, a quarter has few decimal digits, and the rest has any
    // exponent.
    if (i % 4 == 0) bits = (bits & 0x800fffffffffffffULL) | (0x3d0 + random() % 0x60) << 52;
    auto value = std::bit_cast<double>(bits);
    if (i % 4 == 1) value = static_cast<double>(bits % 10'000'000) / 1000;
    if (!std::isfinite(value) || value == 0) continue;
    const char* end = write_double(text, value);
    if (i % 16 == 0) {
      ASSERT_EQ(double_text_of(value), expected_double_text(value));
      continue;
    }
    // Value and length: the text itself if it has an exponent, else the digits.
    const char* reference =
        std::to_chars(expected, expected + 64, value, std::chars_format::scientific).ptr;
    const Digits ours = digits_of(text, end);
    const Digits theirs = digits_of(expected, reference);
    ASSERT_EQ(std::string_view(ours.digits, ours.count),
              std::string_view(theirs.digits, theirs.count))
        << std::string_view(text, static_cast<size_t>(end - text)) << " of " << bits;
    ASSERT_EQ(ours.point, theirs.point)
        << std::string_view(text, static_cast<size_t>(end - text)) << " of " << bits;
  }
}

TEST(WriteDoubles, WritesAsOneByOneWithCommas) {
  std::mt19937_64 random(29);
  std::vector<double> values = {0.0,
                                -0.0,
                                std::numeric_limits<double>::quiet_NaN(),
                                -std::numeric_limits<double>::quiet_NaN(),
                                -std::numeric_limits<double>::infinity(),
                                5e-324,
                                -1e-310};
  for (int i = 0; i < 10'000; ++i) values.push_back(std::bit_cast<double>(random()));
  std::string expected;
  for (const double value : values)
    expected += (expected.empty() ? "" : ",") + double_text_of(value);
  EXPECT_EQ(elements_text(DType::Fp64, values.data(), values.size() * 8, 0, values.size()),
            expected);
  EXPECT_EQ(elements_text(DType::Fp64, values.data(), values.size() * 8, 1, 4), "-0.0,NaN,NaN");
}

TEST(WriteInteger, AgreesWithToChars) {
  std::vector<uint64_t> values = {0, std::numeric_limits<uint64_t>::max()};
  for (uint64_t power = 1; power <= 10'000'000'000'000'000'000ULL / 10; power *= 10) {
    values.insert(values.end(), {power * 10 - 1, power * 10, power * 10 + 1, power});
  }
  std::mt19937_64 random(17);
  for (int i = 0; i < 100'000; ++i) values.push_back(random() >> (random() % 64));
  for (uint64_t value : values) {
    char text[kIntegerTextMax];
    EXPECT_EQ(std::string(text, write_uint64(text, value)), std::to_string(value));
    const auto as_signed = static_cast<int64_t>(value);
    EXPECT_EQ(std::string(text, write_int64(text, as_signed)), std::to_string(as_signed));
    const auto negative = static_cast<int64_t>(0 - value);
    EXPECT_EQ(std::string(text, write_int64(text, negative)), std::to_string(negative));
  }
}

TEST(AppendElements, WritesEveryType) {
  const uint8_t bools[] = {0, 1, 1};
  EXPECT_EQ(elements_text(DType::Bool, bools, 3, 0, 3), "false,true,true");
  const int8_t int8s[] = {-128, 0, 127};
  EXPECT_EQ(elements_text(DType::Int8, int8s, 3, 0, 3), "-128,0,127");
  const uint8_t uint8s[] = {0, 255};
  EXPECT_EQ(elements_text(DType::Uint8, uint8s, 2, 0, 2), "0,255");
  const int16_t int16s[] = {-32768, 32767};
  EXPECT_EQ(elements_text(DType::Int16, int16s, 4, 0, 2), "-32768,32767");
  const uint16_t uint16s[] = {65535, 9};
  EXPECT_EQ(elements_text(DType::Uint16, uint16s, 4, 0, 2), "65535,9");
  const int32_t int32s[] = {std::numeric_limits<int32_t>::min(), 12345};
  EXPECT_EQ(elements_text(DType::Int32, int32s, 8, 0, 2), "-2147483648,12345");
  const uint32_t uint32s[] = {4294967295u, 0};
  EXPECT_EQ(elements_text(DType::Uint32, uint32s, 8, 0, 2), "4294967295,0");
  const int64_t int64s[] = {std::numeric_limits<int64_t>::min(), 9007199254740993};
  EXPECT_EQ(elements_text(DType::Int64, int64s, 16, 0, 2), "-9223372036854775808,9007199254740993");
  const uint64_t uint64s[] = {std::numeric_limits<uint64_t>::max()};
  EXPECT_EQ(elements_text(DType::Uint64, uint64s, 8, 0, 1), "18446744073709551615");
  const uint16_t halves[] = {0x3c00, 0x7c00, 0x2e66, 0x0001, 0x7bff};
  EXPECT_EQ(elements_text(DType::Fp16, halves, 10, 0, 5),
            "1.0,Infinity,0.099975586,5.9604645e-08,65504.0");
  const uint16_t bf16s[] = {0x3f80, 0x4049, 0xff80, 0x7fc0};
  EXPECT_EQ(elements_text(DType::Bf16, bf16s, 8, 0, 4), "1.0,3.140625,-Infinity,NaN");
  const double doubles[] = {0.1, 1e300};
  EXPECT_EQ(elements_text(DType::Fp64, doubles, 16, 0, 2), "0.1,1e+300");
}

TEST(AppendElements, WritesPartsAndLongTensors) {
  const float floats[] = {1, 2, 3, 4};
  EXPECT_EQ(elements_text(DType::Fp32, floats, 16, 1, 3), "2.0,3.0");
  EXPECT_EQ(elements_text(DType::Fp32, floats, 16, 2, 2), "");
  const std::vector<uint16_t> halves(10001, 0x4000);
  EXPECT_EQ(elements_text(DType::Fp16, halves.data(), 20002, 1, 10001).size(), 10000u * 4 - 1);
  const std::vector<int32_t> integers(10001, 7);
  EXPECT_EQ(elements_text(DType::Int32, integers.data(), 40004, 0, 10001).size(), 10001u * 2 - 1);
}

TEST(AppendElements, RefusesWhatIsNotFixedSize) {
  ByteBuffer out;
  TensorView tensor;
  tensor.dtype = DType::Bytes;
  EXPECT_FALSE(append_elements(out, tensor, 0, 1));
  tensor.dtype = DType::Invalid;
  EXPECT_FALSE(append_elements(out, tensor, 0, 1));
}

std::string json_string(std::string_view text) {
  ByteBuffer out;
  EXPECT_TRUE(append_json_string(out, text));
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

TEST(AppendJsonString, Escapes) {
  using namespace std::string_view_literals;
  EXPECT_EQ(json_string(""), "\"\"");
  EXPECT_EQ(json_string("plain/text\x7f"), "\"plain/text\x7f\"");
  EXPECT_EQ(json_string("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(json_string("\b\f\n\r\t\0\x1f\x01"sv), R"("\b\f\n\r\t\u0000\u001f\u0001")");
  EXPECT_EQ(json_string("\xc3\xa9\xf0\x9f\x98\x80"), "\"\xc3\xa9\xf0\x9f\x98\x80\"");
  EXPECT_EQ(json_string("\xff"), "\"\xff\"");
}

TEST(AppendJsonString, EscapesAtEveryPlace) {
  for (size_t length = 1; length < 80; ++length) {
    for (size_t place = 0; place < length; ++place) {
      std::string text(length, 'x');
      text[place] = '\n';
      std::string expected = "\"" + text + "\"";
      expected.replace(place + 1, 1, "\\n");
      ASSERT_EQ(json_string(text), expected);
    }
  }
  const std::string many(10000, '\x02');
  EXPECT_EQ(json_string(many).size(), 60002u);
}

std::string b64(std::string_view bytes) {
  ByteBuffer out;
  EXPECT_TRUE(append_b64_object(out, bytes));
  return {reinterpret_cast<const char*>(out.data()), out.size()};
}

TEST(Base64, Encodes) {
  EXPECT_EQ(b64(""), R"({"b64":""})");
  EXPECT_EQ(b64("f"), R"({"b64":"Zg=="})");
  EXPECT_EQ(b64("fo"), R"({"b64":"Zm8="})");
  EXPECT_EQ(b64("foo"), R"({"b64":"Zm9v"})");
  EXPECT_EQ(b64("foobar"), R"({"b64":"Zm9vYmFy"})");
  EXPECT_EQ(b64("\xfb\xff\xfe"), R"({"b64":"+//+"})");
}

TEST(Base64, DecodesWhatIsGood) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", ""},
      {"Zg==", "f"},
      {"Zg", "f"},
      {"Zm8=", "fo"},
      {"Zm8", "fo"},
      {"Zm9v", "foo"},
      {"Zm9v\nYmFy", "foobar"},
      {" Z m 8 = ", "fo"},
      {"+//+", "\xfb\xff\xfe"},
      {"Zg= =", "f"},
      {"Zm9vYg", "foob"},
      {" \t\r\n\v\f", ""},
  };
  for (const auto& [text, bytes] : cases) {
    Arena arena;
    const Base64Result result = decode_base64(text, arena);
    EXPECT_TRUE(result.ok) << text;
    EXPECT_EQ(result.bytes, bytes) << text;
  }
}

TEST(Base64, RefusesWhatIsBad) {
  for (std::string_view text : {"Z", "Zm9vY", "=", "====", "Zm9v=", "Zm8==", "Zg=", "Zg===",
                                "Zg==Zg==", "Zm9v-_", "Zm9v!A==", "Zm9\xc3\xa9", "Zm=8", "Zg==x"}) {
    Arena arena;
    EXPECT_FALSE(decode_base64(text, arena).ok) << text;
  }
}

TEST(Base64, RoundTripsEveryLength) {
  std::mt19937 random(19);
  std::string bytes;
  for (int length = 0; length < 300; ++length) {
    const std::string object = b64(bytes);
    const std::string text = object.substr(8, object.size() - 10);
    Arena arena;
    const Base64Result result = decode_base64(text, arena);
    ASSERT_TRUE(result.ok);
    ASSERT_EQ(result.bytes, bytes);
    bytes += static_cast<char>(random());
  }
}

}  // namespace
}  // namespace serval
