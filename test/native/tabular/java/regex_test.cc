// Java's regular expressions: groups of a match, errors in a pattern, and texts that take too long.
// regex_goldens_test.cc covers their meaning.
#include "tabular/java/regex.h"

#include <gtest/gtest.h>

namespace serval::tabular {
namespace {

bool matches(std::string_view java, std::string_view text) {
  const Result<JavaRegex> made = JavaRegex::compile(java);
  EXPECT_TRUE(made.ok()) << java;
  RegexRun run;
  return made.ok() && made.value().matches(text, run) == RegexFound::Yes;
}

bool finds(std::string_view java, std::string_view text) {
  const Result<JavaRegex> made = JavaRegex::compile(java);
  EXPECT_TRUE(made.ok()) << java;
  RegexRun run;
  return made.ok() && made.value().find(text, run) == RegexFound::Yes;
}

std::string fault(std::string_view java) {
  const Result<JavaRegex> made = JavaRegex::compile(java);
  if (made.ok()) return {};
  EXPECT_EQ(made.error().code, ErrorCode::ModelInvalid);
  return made.error().message;
}

TEST(JavaRegex, White) {
  EXPECT_TRUE(matches("\\s", "\x0B"));  // RE2's \s has no vertical tab
  EXPECT_FALSE(matches("\\S", "\x0B"));
  EXPECT_TRUE(matches("[\\sa]", "\x0B"));
  EXPECT_FALSE(matches("\\s", "\xC2\xA0"));
  EXPECT_TRUE(matches("\\h", "\xC2\xA0"));
  EXPECT_TRUE(matches("\\v", "\xE2\x80\xA8"));
}

TEST(JavaRegex, ADotStopsAtAllLineEnds) {
  for (const char* end : {"\n", "\r", "\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"}) {
    EXPECT_FALSE(matches(".", end));
    EXPECT_TRUE(matches("(?s).", end));
  }
  EXPECT_TRUE(matches(".", "\xF0\x9F\x98\x80"));  // one character
}

TEST(JavaRegex, Classes) {
  EXPECT_TRUE(matches("\\p{Alpha}+", "aZ"));
  EXPECT_FALSE(matches("\\p{Alpha}", "\xC3\xA9"));
  EXPECT_TRUE(matches("\\p{L}", "\xC3\xA9"));
  EXPECT_TRUE(matches("\\pL", "\xC3\xA9"));
  EXPECT_TRUE(matches("\\p{IsLatin}", "\xC3\xA9"));
  EXPECT_TRUE(matches("\\P{Punct}", "a"));
  EXPECT_TRUE(matches("[^\\p{Punct}x]", "a"));
  EXPECT_FALSE(matches("[^\\p{Punct}x]", "!"));
  EXPECT_TRUE(matches("[\\P{Alpha}a]", "a"));
  EXPECT_TRUE(matches("[a-c\\]]+", "ab]"));
  EXPECT_TRUE(matches("[\\w-]+", "a-b_9"));
}

TEST(JavaRegex, EscapesAndQuotes) {
  EXPECT_TRUE(matches("\\Qa.b\\E.", "a.bx"));
  EXPECT_FALSE(matches("\\Qa.b", "axb"));
  EXPECT_TRUE(matches("\\u00e9", "\xC3\xA9"));
  EXPECT_TRUE(matches("\\x41\\x{42}", "AB"));
  EXPECT_TRUE(matches("\\-\\#\\ \\.", "-# ."));
  EXPECT_TRUE(matches("\\t\\n\\e", "\t\n\x1B"));
}

TEST(JavaRegex, AnchorsAndFlags) {
  EXPECT_TRUE(finds("^ab$", "ab"));
  EXPECT_FALSE(finds("^b", "ab"));
  EXPECT_TRUE(finds("\\bab\\b", "x ab."));
  EXPECT_TRUE(matches("(?i)aB", "Ab"));
  EXPECT_TRUE(matches("(?<name>a)b", "ab"));
  EXPECT_TRUE(matches("a{2,3}?b*?", "aab"));
}

TEST(JavaRegex, AnEndBeforeALineEnd) {
  EXPECT_TRUE(finds("b$", "ab\n"));
  EXPECT_TRUE(finds("b$", "ab\xE2\x80\xA9"));
  EXPECT_FALSE(finds("b$", "ab\nc"));
}

TEST(JavaRegex, FindGoesOnFromWhereItIsTold) {
  const Result<JavaRegex> made = JavaRegex::compile("a+");
  ASSERT_TRUE(made.ok());
  RegexRun run;
  run.start(2);
  ASSERT_EQ(made.value().find("aabaa", run), RegexFound::Yes);
  EXPECT_EQ(run.match().begin, 3U);
  EXPECT_EQ(run.match().end, 5U);
  EXPECT_EQ(made.value().find("aabaa", run), RegexFound::No);
}

TEST(JavaRegex, WhatIsWrongIsSaidWithItsPlace) {
  EXPECT_EQ(fault("ab(c"), "regular expression 'ab(c', character 4: a ( without )");
  EXPECT_EQ(fault("a\\p{Foo}"),
            "regular expression 'a\\p{Foo}', character 8: there is no \\p{Foo}");
  for (const char* java : {"\\", "[a", "a{2", "[\\b]", "(", "\\p{", "[]", "\\N{LATIN}", "*a"}) {
    EXPECT_NE(fault(java), "") << java;
  }
}

TEST(JavaRegex, NestingIsLimited) {
  EXPECT_NE(fault(std::string(5000, '(')), "");
  EXPECT_NE(fault(std::string(5000, '[')), "");
}

TEST(JavaRegex, ATextThatTakesTooLongIsToldSo) {
  const Result<JavaRegex> made = JavaRegex::compile("(a|aa)+\\1$");
  ASSERT_TRUE(made.ok());
  RegexRun run;
  const std::string text = std::string(60, 'a') + "b";
  EXPECT_EQ(made.value().find(text, run), RegexFound::TooLong);
  // The same pattern without a back-reference runs on RE2, which never takes long.
  EXPECT_FALSE(finds("(a|aa)+$", text));
}

TEST(JavaRegex, ALongTextDoesNotOverflowTheStack) {
  const std::string text(200'000, 'a');
  EXPECT_TRUE(matches("(?:a(?=a|\\z))*", text));
}

TEST(JavaRegex, Replacements) {
  const auto replaced = [](std::string_view java, std::string_view text, std::string_view with) {
    const Result<JavaRegex> regex = JavaRegex::compile(java);
    const Result<JavaReplacement> made = JavaReplacement::parse(with, regex.value());
    if (!made.ok()) return made.error().message;
    std::string out;
    EXPECT_EQ(made.value().replace_all(regex.value(), text, out, 1000), JavaReplacement::Done::All);
    return out;
  };
  EXPECT_EQ(replaced("(a)(b)?", "abxa", "[$2$1]"), "[ba]x[a]");
  EXPECT_EQ(replaced("(?<n>a)", "ba", "<${n}\\$>"), "b<a$>");
  EXPECT_EQ(replaced("\\B", "caf\xC3\xA9", "."), "c.a.f.\xC3\xA9");
  EXPECT_EQ(replaced("a", "a", "$1"), "a replacement: there is no group 1");
  EXPECT_EQ(replaced("a", "a", "${n}"), "a replacement: there is no group 'n'");
}

}  // namespace
}  // namespace serval::tabular
