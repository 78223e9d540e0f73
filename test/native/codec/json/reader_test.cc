// The plain JSON reader: values, and every RapidJSON reason and offset that TensorFlow Serving's
// clients can get. Source: tfserving.md 1.4, 1.10; offsets confirmed against RapidJSON 1.1.0.
#include "base/bytes/utf8.h"
#include "codec/serving/json_body.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>

namespace serval {
namespace {

struct Parsed {
  Arena arena;
  JsonDocument document;
  Status status;
  explicit Parsed(std::string_view text)
      : status(parse_json(text, arena, kTfJsonRules, &document)) {}
  const JsonNode& root() const { return document.root(); }
};

struct BadText {
  std::string_view text;
  std::string_view reason;
  size_t offset;
};

using namespace std::string_view_literals;

constexpr std::string_view kEmpty = "The document is empty.";
constexpr std::string_view kValue = "Invalid value.";
constexpr std::string_view kName = "Missing a name for object member.";
constexpr std::string_view kColon = "Missing a colon after a name of object member.";
constexpr std::string_view kCurly = "Missing a comma or '}' after an object member.";
constexpr std::string_view kSquare = "Missing a comma or ']' after an array element.";
constexpr std::string_view kHex = "Incorrect hex digit after \\u escape in string.";
constexpr std::string_view kSurrogate = "The surrogate pair in string is invalid.";
constexpr std::string_view kEscape = "Invalid escape character in string.";
constexpr std::string_view kQuote = "Missing a closing quotation mark in string.";
constexpr std::string_view kTooBig = "Number too big to be stored in double.";
constexpr std::string_view kFraction = "Miss fraction part in number.";
constexpr std::string_view kExponent = "Miss exponent in number.";

constexpr BadText kBadTexts[] = {
    {" \n\t\r", kEmpty, 4},
    {"\xEF\xBB\xBF", kEmpty, 3},
    {"]", kEmpty, 0},
    {"}", kEmpty, 0},
    {",", kEmpty, 0},
    {" :", kEmpty, 1},
    {"\0"sv, kEmpty, 0},
    {"nul", kValue, 3},
    {"nulL", kValue, 3},
    {"True", kValue, 0},
    {"tru", kValue, 3},
    {"falsy", kValue, 4},
    {"nan", kValue, 1},
    {"Nan", kValue, 2},
    {"NaM", kValue, 2},
    {"Infinit", kValue, 7},
    {"infinity", kValue, 0},
    {"-infinity", kValue, 1},
    {"--1", kValue, 1},
    {"-", kValue, 1},
    {"+1", kValue, 0},
    {".5", kValue, 0},
    {"'a'", kValue, 0},
    {"/**/1", kValue, 0},
    {"\x80", kValue, 0},
    {"[", kValue, 1},
    {"[,1]", kValue, 1},
    {"[1,]", kValue, 3},
    {"[1,", kValue, 3},
    {"[1,}", kValue, 3},
    {"[1,,2]", kValue, 3},
    {"[:", kValue, 1},
    {"[\0]"sv, kValue, 1},
    {"[1", kSquare, 2},
    {"[1 2]", kSquare, 3},
    {"[1}", kSquare, 2},
    {"[01]", kSquare, 2},
    {"[1.5.5]", kSquare, 4},
    {"[\"a\"\"b\"]", kSquare, 4},
    {"[[]", kSquare, 3},
    {"[Infi]", kValue, 5},
    {"{", kName, 1},
    {"{,}", kName, 1},
    {"{a:1}", kName, 1},
    {"{1:1}", kName, 1},
    {"{\"a\":1,}", kName, 7},
    {"{\"a\":1,", kName, 7},
    {"{]", kName, 1},
    {"{\"a\"", kColon, 4},
    {"{\"a\" 1}", kColon, 5},
    {"{\"a\"}", kColon, 4},
    {"{\"a\",1}", kColon, 4},
    {"{\"a\":", kValue, 5},
    {"{\"a\":}", kValue, 5},
    {"{\"a\":,}", kValue, 5},
    {"{\"a\"::1}", kValue, 5},
    {"{\"a\":1", kCurly, 6},
    {"{\"a\":1]", kCurly, 6},
    {"{\"a\":1 \"b\":2}", kCurly, 7},
    {"{\"a\":1:2}", kCurly, 6},
    {"{\"a\":1\0}"sv, kCurly, 6},
    {"\"", kQuote, 1},
    {"\"abc", kQuote, 4},
    {"\"a\0b\""sv, kQuote, 2},
    {"\"a\nb\"", kEscape, 2},
    {"\"a\x01\"", kEscape, 2},
    {"\"a\\x\"", kEscape, 2},
    {"\"a\\", kEscape, 2},
    {"\"\\n\x1f\"", kEscape, 3},
    {"\"\\n", kQuote, 3},
    {"\"\\u12\"", kHex, 1},
    {"\"\\u12G4\"", kHex, 1},
    {"\"\\u", kHex, 1},
    {"\"\\ud800\"", kSurrogate, 1},
    {"\"x\\ud800y\"", kSurrogate, 2},
    {"\"\\ud800\\n\"", kSurrogate, 1},
    {"\"\\ud800\\u0041\"", kSurrogate, 1},
    {"\"\\ud800\\u00\"", kHex, 1},
    {"\"\\udc00\"", kSurrogate, 1},
    {"1e309", kTooBig, 0},
    {"[-1e309]", kTooBig, 1},
    {"[1e99999999999999999999]", kTooBig, 1},
    {"1.8e308", kTooBig, 0},
    {"5.", kFraction, 2},
    {"[5.,1]", kFraction, 3},
    {"-0.e1", kFraction, 3},
    {"1e", kExponent, 2},
    {"1e+", kExponent, 3},
    {"1E-x", kExponent, 3},
};

TEST(JsonReader, RefusesWithReasonAndOffset) {
  for (const BadText& bad : kBadTexts) {
    SCOPED_TRACE(std::string(bad.text));
    const Parsed parsed(bad.text);
    ASSERT_FALSE(parsed.status.ok());
    EXPECT_EQ(parsed.status.error().code, ErrorCode::MalformedBody);
    EXPECT_EQ(parsed.status.error().message, "JSON Parse error: " + std::string(bad.reason) +
                                                 " at offset: " + std::to_string(bad.offset));
  }
}

TEST(JsonReader, RefusesEmptyTextWithoutOffset) {
  const Parsed parsed("");
  ASSERT_FALSE(parsed.status.ok());
  EXPECT_EQ(parsed.status.error().message, "JSON Parse error: The document is empty");
}

TEST(JsonReader, MeasuresNumbersWithManyDigits) {
  const std::string zeros(308, '0');
  std::string text = "1";
  text += zeros;
  EXPECT_TRUE(Parsed(text).status.ok());
  text += "0";
  EXPECT_EQ(Parsed(text).status.error().message,
            "JSON Parse error: Number too big to be stored in double. at offset: 0");
  text = "0.";
  text += zeros;
  text += "1e";
  EXPECT_TRUE(Parsed(text + "617").status.ok());
  EXPECT_FALSE(Parsed(text + "618").status.ok());
  const std::string tiny = text + "-99";
  const Parsed parsed(tiny);
  ASSERT_TRUE(parsed.status.ok());
  EXPECT_EQ(parsed.root().number.f64, 0.0);
}

struct GoodNumber {
  std::string_view text;
  JsonNumber::Form form;
  int64_t i64;
  uint64_t u64;
  double f64;
};

constexpr auto kInt = JsonNumber::Form::Int64;
constexpr auto kUint = JsonNumber::Form::Uint64;
constexpr auto kDouble = JsonNumber::Form::Double;

constexpr GoodNumber kGoodNumbers[] = {
    {"0", kInt, 0, 0, 0.0},
    {"-0", kInt, 0, 0, 0.0},
    {"-0.0", kDouble, 0, 0, -0.0},
    {"-0e5", kDouble, 0, 0, -0.0},
    {"1", kInt, 1, 0, 1.0},
    {"1.0", kDouble, 0, 0, 1.0},
    {"1e2", kDouble, 0, 0, 100.0},
    {"1E+2", kDouble, 0, 0, 100.0},
    {"1.5e-3", kDouble, 0, 0, 0.0015},
    {"9223372036854775807", kInt, INT64_MAX, 0, 9223372036854775808.0},
    {"-9223372036854775808", kInt, INT64_MIN, 0, -9223372036854775808.0},
    {"9223372036854775808", kUint, 0, uint64_t{1} << 63, 9223372036854775808.0},
    {"18446744073709551615", kUint, 0, UINT64_MAX, 18446744073709551616.0},
    {"18446744073709551616", kDouble, 0, 0, 18446744073709551616.0},
    {"-9223372036854775809", kDouble, 0, 0, -9223372036854775808.0},
    {"9007199254740993", kInt, 9007199254740993, 0, 9007199254740992.0},
    {"0.1", kDouble, 0, 0, 0.1},
    {"2.2250738585072011e-308", kDouble, 0, 0, 2.2250738585072011e-308},
    {"1.7976931348623157e308", kDouble, 0, 0, 1.7976931348623157e308},
    {"5e-324", kDouble, 0, 0, 5e-324},
    {"1e-400", kDouble, 0, 0, 0.0},
    {"-1e-400", kDouble, 0, 0, -0.0},
    {"0e999999999999", kDouble, 0, 0, 0.0},
    {"Infinity", kDouble, 0, 0, INFINITY},
    {"-Infinity", kDouble, 0, 0, -INFINITY},
    {"Inf", kDouble, 0, 0, INFINITY},
    {"-Inf", kDouble, 0, 0, -INFINITY},
};

TEST(JsonReader, ReadsNumbers) {
  for (const GoodNumber& good : kGoodNumbers) {
    SCOPED_TRACE(std::string(good.text));
    const Parsed parsed(good.text);
    ASSERT_TRUE(parsed.status.ok()) << parsed.status.error().message;
    const JsonNumber& number = parsed.root().number;
    EXPECT_EQ(parsed.root().kind, JsonKind::Number);
    EXPECT_EQ(number.form, good.form);
    if (good.form == kInt) {
      EXPECT_EQ(number.i64, good.i64);
    }
    if (good.form == kUint) {
      EXPECT_EQ(number.u64, good.u64);
    }
    EXPECT_EQ(number.f64, good.f64);
    EXPECT_EQ(std::signbit(number.f64), std::signbit(good.f64));
    EXPECT_EQ(parsed.document.end_offset, good.text.size());
  }
  for (std::string_view text : {"NaN", "-NaN"}) {
    const Parsed parsed(text);
    ASSERT_TRUE(parsed.status.ok());
    EXPECT_TRUE(std::isnan(parsed.root().number.f64));
  }
}

struct GoodString {
  std::string_view text;
  std::string_view value;
};

constexpr GoodString kGoodStrings[] = {
    {R"("")", ""},
    {R"("abc")", "abc"},
    {R"("\"\\\/\b\f\n\r\t")", "\"\\/\b\f\n\r\t"},
    {R"("a\u0041b")", "aAb"},
    {R"("\u0000")", "\0"sv},
    {R"("\u00e9\u20AC")", "\xc3\xa9\xe2\x82\xac"},
    {R"("\ud83d\ude00!")", "\xf0\x9f\x98\x80!"},
    {"\"\xff\xfe\"", "\xff\xfe"},
    {"\"\x7f/\"", "\x7f/"},
};

TEST(JsonReader, ReadsStrings) {
  for (const GoodString& good : kGoodStrings) {
    SCOPED_TRACE(std::string(good.text));
    const Parsed parsed(good.text);
    ASSERT_TRUE(parsed.status.ok()) << parsed.status.error().message;
    EXPECT_EQ(parsed.root().kind, JsonKind::String);
    EXPECT_EQ(parsed.root().text, good.value);
  }
}

TEST(JsonReader, KeepsStringsWithoutEscapesAsViews) {
  const std::string_view text = R"({"plain": "value"})";
  const Parsed parsed(text);
  ASSERT_TRUE(parsed.status.ok());
  const JsonNode* node = parsed.document.member(parsed.root(), "plain");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->text.data(), text.data() + 11);
}

TEST(JsonReader, LinksChildren) {
  const std::string_view text = R"( {"a": [1, [2], {}], "b\n": {"c": null}, "a": true} tail)";
  const Parsed parsed(text);
  ASSERT_TRUE(parsed.status.ok());
  const JsonDocument& document = parsed.document;
  EXPECT_EQ(parsed.root().children, 3u);
  EXPECT_EQ(document.end_offset, text.size() - 5);
  const JsonNode* list = document.member(parsed.root(), "a");
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->kind, JsonKind::Array);
  EXPECT_EQ(list->children, 3u);
  EXPECT_EQ(text.substr(list->begin, list->end - list->begin), "[1, [2], {}]");
  const JsonNode* one = document.child(*list);
  const JsonNode* inner = document.sibling(*one);
  const JsonNode* empty = document.sibling(*inner);
  EXPECT_EQ(one->number.i64, 1);
  EXPECT_EQ(inner->children, 1u);
  EXPECT_EQ(empty->kind, JsonKind::Object);
  EXPECT_EQ(document.child(*empty), nullptr);
  EXPECT_EQ(document.sibling(*empty), nullptr);
  const JsonNode* object = document.member(parsed.root(), "b\n");
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(document.member(*object, "c")->kind, JsonKind::Null);
  EXPECT_EQ(document.member(*object, "d"), nullptr);
}

TEST(JsonReader, AcceptsByteOrderMarkAndIgnoresWhatFollows) {
  for (std::string_view text : {"\xEF\xBB\xBF[1]", "[1]]", "[1] {", "[1]\0\0"}) {
    SCOPED_TRACE(std::string(text));
    const Parsed parsed(text);
    ASSERT_TRUE(parsed.status.ok()) << parsed.status.error().message;
    EXPECT_EQ(parsed.root().children, 1u);
  }
}

// Source: tfserving.md 1.4 "half a million nested brackets must not crash".
TEST(JsonReader, SurvivesDeepNestingInLinearTime) {
  constexpr size_t kDepth = 500000;
  const auto started = std::chrono::steady_clock::now();
  const std::string opening(kDepth, '[');
  const std::string nested = opening + std::string(kDepth, ']');
  const Parsed open(opening);
  EXPECT_EQ(open.status.error().message,
            "JSON Parse error: Invalid value. at offset: " + std::to_string(kDepth));
  const Parsed closed(nested);
  ASSERT_TRUE(closed.status.ok());
  EXPECT_EQ(closed.document.nodes.size(), kDepth);
  std::string objects;
  for (size_t i = 0; i < kDepth; ++i) objects += "{\"a\":";
  EXPECT_FALSE(Parsed(objects).status.ok());
  std::string escapes = "[";
  for (size_t i = 0; i < kDepth; ++i) escapes += "\"\\n\",";
  escapes += "1]";
  const Parsed strings(escapes);
  ASSERT_TRUE(strings.status.ok());
  EXPECT_EQ(strings.root().children, kDepth + 1);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(20));
}

TEST(JsonReader, NamesKinds) {
  EXPECT_EQ(json_kind_name(JsonKind::Null), "Null");
  EXPECT_EQ(json_kind_name(JsonKind::True), "True");
  EXPECT_EQ(json_kind_name(JsonKind::False), "False");
  EXPECT_EQ(json_kind_name(JsonKind::Number), "Number");
  EXPECT_EQ(json_kind_name(JsonKind::String), "String");
  EXPECT_EQ(json_kind_name(JsonKind::Object), "Object");
  EXPECT_EQ(json_kind_name(JsonKind::Array), "Array");
}

TEST(JsonReader, ChecksUtf8) {
  for (std::string_view good : {"", "abc", "\xc3\xa9", "\xf4\x8f\xbf\xbf", "a\0b"}) {
    EXPECT_TRUE(is_valid_utf8(good)) << good;
  }
  // A stray byte, an overlong form, a surrogate, a value past U+10FFFF, a sequence that is cut off.
  for (std::string_view bad :
       {"\x80", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_FALSE(is_valid_utf8(bad)) << bad;
  }
}

TEST(JsonReader, CountsItsNodesAndSaysWhereThereIsNoMemory) {
  MemoryBudget budget(1u << 20);
  std::string many = "[";
  for (int i = 0; i < 100'000; ++i) many += "1,";
  many += "1]";
  const std::string escaped = "[\"\\n" + std::string(2u << 20, 'x') + "\"]";
  for (const std::string& text : {many, escaped}) {
    Arena arena;
    arena.charge_to(&budget);
    JsonDocument document;
    const Status status = parse_json(text, arena, kTfJsonRules, &document);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::MemoryFull) << status.error().message;
  }
  EXPECT_EQ(budget.used(), 0u);
  {
    Arena arena;
    arena.charge_to(&budget);
    JsonDocument document;
    ASSERT_TRUE(parse_json("[1,2,[3,\"a\"]]", arena, kTfJsonRules, &document).ok());
    EXPECT_GE(budget.used(), document.nodes.capacity() * sizeof(JsonNode));
  }
  EXPECT_EQ(budget.used(), 0u);
}

}  // namespace
}  // namespace serval
