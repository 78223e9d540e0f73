// Java's regular expressions by RE2: what is alike, what is translated and what is refused.
// Expected: what java.util.regex answers.
#include "tabular/java/regex.h"

#include <gtest/gtest.h>

namespace serval::tabular {
namespace {

bool matches(std::string_view java, std::string_view text) {
  const Result<JavaRegex> made = JavaRegex::compile(java);
  EXPECT_TRUE(made.ok()) << java;
  return made.ok() && made.value().matches(text);
}

bool finds(std::string_view java, std::string_view text) {
  const Result<JavaRegex> made = JavaRegex::compile(java);
  EXPECT_TRUE(made.ok()) << java;
  JavaRegex::Match match;
  return made.ok() && made.value().find(text, 0, match);
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

TEST(JavaRegex, TextsWhoseEndIsNotSureAreNamed) {
  const Result<JavaRegex> made = JavaRegex::compile("b$");
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made.value().is_unsure_of("ab\n"));
  EXPECT_TRUE(made.value().is_unsure_of("ab\xE2\x80\xA9"));
  EXPECT_FALSE(made.value().is_unsure_of("a\nb"));
  const Result<JavaRegex> plain = JavaRegex::compile("b\\$");
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(plain.value().is_unsure_of("b$\n"));
}

TEST(JavaRegex, FindGoesOnFromWhereItIsTold) {
  const Result<JavaRegex> made = JavaRegex::compile("a+");
  ASSERT_TRUE(made.ok());
  JavaRegex::Match match;
  ASSERT_TRUE(made.value().find("aabaa", 2, match));
  EXPECT_EQ(match.begin, 3U);
  EXPECT_EQ(match.end, 5U);
  EXPECT_FALSE(made.value().find("aab", 3, match));
}

TEST(JavaRegex, WhatCannotBeDoneIsRefusedWithItsPlace) {
  EXPECT_EQ(fault("ab(?=c)"),
            "regular expression 'ab(?=c)', character 2: looking around is not supported");
  for (const char* java : {"(?<=a)b",
                           "(?!a)",
                           "(?<!a)b",
                           "(a)\\1",
                           "a*+",
                           "a?+",
                           "a{2}+",
                           "(?>a)",
                           "[a&&b]",
                           "[a[b]]",
                           "\\Ga",
                           "a\\Z",
                           "\\R",
                           "\\X",
                           "\\kname",
                           "\\p{InGreek}",
                           "\\p{javaLowerCase}",
                           "\\07",
                           "a(?i)b",
                           "(?m)^a",
                           "(?x)a",
                           "\\",
                           "[a",
                           "a{2",
                           "[\\Qa\\E]",
                           "[\\b]",
                           "(",
                           "\\p{",
                           "[]"}) {
    EXPECT_NE(fault(java), "") << java;
  }
}

TEST(JavaRegex, AnExpressionThatIsTooLargeIsRefused) {
  EXPECT_NE(fault("((((a{100}){100}){100}){100})"), "");
}

}  // namespace
}  // namespace serval::tabular
