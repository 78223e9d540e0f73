// Java's regular expressions against Java's own results: test/fixtures/tabular/regex/goldens.tsv,
// which Goldens.java beside it wrote with Java 17. They include characters of all blocks, as a
// hash.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/unicode/letters.h"
#include "source_folder.h"
#include "tabular/java/regex.h"

namespace serval::tabular {
namespace {

std::string unhex(std::string_view digits) {
  std::string made;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    made += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  }
  return made;
}

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> made;
  std::stringstream stream(line);
  for (std::string cell; std::getline(stream, cell, '\t');) made.push_back(cell);
  return made;
}

std::string answer(const JavaRegex& regex, std::string_view text) {
  std::string made;
  RegexRun run;
  while (regex.find(text, run) == RegexFound::Yes) {
    for (int i = 0; i <= regex.groups(); ++i) {
      const auto group = run.group(i);
      made += i > 0 ? " " : "";
      made += group ? std::to_string(group->begin) + "-" + std::to_string(group->end) : "x";
    }
    made += ';';
  }
  return made + (regex.matches(text, run) == RegexFound::Yes ? "whole" : "");
}

// The same choice as in Goldens.java.
bool is_tried(char32_t c) {
  return c < 0x3100 || c / 0x1000 == 0xA || (c >= 0xF900 && c < 0x11000) ||
         (c >= 0x1D000 && c < 0x1FC00) || c % 251 == 0;
}

// "count\thash" of the characters that produce a text with a match when put in place of %.
std::string every_character(const JavaRegex& regex, const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325;
  size_t count = 0;
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if ((c >= 0xD800 && c <= 0xDFFF) || !is_tried(c)) continue;
    std::string filled;
    for (const char each : text) {
      if (each == '%') append_utf8(c, filled);
      else filled += each;
    }
    RegexRun run;
    if (regex.find(filled, run) != RegexFound::Yes) continue;
    ++count;
    for (int shift = 0; shift < 24; shift += 8) {
      hash = (hash ^ (c >> shift & 255)) * 0x100000001b3;
    }
  }
  std::stringstream made;
  made << count << '\t' << std::hex << hash;
  return made.str();
}

TEST(JavaRegexGoldens, AnswersAsJavaDoes) {
  std::ifstream file(source_folder() + "/test/fixtures/tabular/regex/goldens.tsv");
  size_t lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const std::vector<std::string> cells = cells_of(line);
    ASSERT_GE(cells.size(), 2U) << line;
    const std::string pattern = unhex(cells[1]);
    const Result<JavaRegex> made = JavaRegex::compile(pattern);
    if (cells[0] == "E") {
      // A lookbehind may have any length here.
      EXPECT_EQ(made.ok(), pattern.starts_with("(?<=")) << pattern;
      continue;
    }
    ASSERT_TRUE(made.ok()) << pattern << ": " << made.error().message;
    const std::string text = unhex(cells[2]);
    if (cells[0] == "P") {
      EXPECT_EQ(answer(made.value(), text), cells.size() > 3 ? cells[3] : "")
          << pattern << " on " << text;
    } else {
      EXPECT_EQ(every_character(made.value(), text), cells[3] + "\t" + cells[4])
          << pattern << " in " << text;
    }
  }
  EXPECT_GT(lines, 900U);
}

}  // namespace
}  // namespace serval::tabular
