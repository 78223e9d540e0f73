// Case mapping and length of UTF-8 text. The expected values are those of Java's and JavaScript's
// language-independent mappings.
#include "base/unicode/letters.h"

#include <gtest/gtest.h>

namespace serval {
namespace {

std::string lower(std::string_view text) {
  std::string out;
  append_lower_case(text, out);
  return out;
}

std::string upper(std::string_view text) {
  std::string out;
  append_upper_case(text, out);
  return out;
}

TEST(Letters, LowerCase) {
  EXPECT_EQ(lower("Hello WORLD 9"), "hello world 9");
  EXPECT_EQ(lower("ÀÉ Straße ЖЩ"), "àé straße жщ");
  EXPECT_EQ(lower("\xC4\xB0X"), "i\xCC\x87x");  // a dotted capital I becomes two characters
  EXPECT_EQ(lower(""), "");
}

TEST(Letters, SigmaAtTheEndOfAWord) {
  EXPECT_EQ(lower("ΟΔΟΣ."), "οδος.");
  EXPECT_EQ(lower("ΣΟΣ ΣΑ"), "σος σα");
  EXPECT_EQ(lower("Σ"), "σ");        // a single sigma ends no word
  EXPECT_EQ(lower("ΑΣ'Α"), "ασ'α");  // an apostrophe is skipped
}

TEST(Letters, UpperCase) { EXPECT_EQ(upper("straße ŉ éà ﬁ жщ"), "STRASSE ʼN ÉÀ FI ЖЩ"); }

TEST(Letters, WhatIsNoTextStaysAsItIs) {
  EXPECT_EQ(lower("A\xFF"
                  "B\xC3"),
            "a\xFF"
            "b\xC3");
  EXPECT_EQ(upper("a\xE2\x82"), "A\xE2\x82");
}

TEST(Letters, Utf16Length) {
  EXPECT_EQ(utf16_length("aé€"), 3U);
  EXPECT_EQ(utf16_length("😀"), 2U);
  EXPECT_EQ(utf16_length(""), 0U);
}

}  // namespace
}  // namespace serval
