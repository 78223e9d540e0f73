// Maps upper and lower case (letters.h). Hot path; pure.
#include "base/unicode/letters.h"

#include <algorithm>

#include "base/unicode/case_data.h"

namespace serval {
namespace {

using case_data::Expansion;
using case_data::Range;
using case_data::Run;

// Runs with step 2 interleave, so the entry before the nearest may be the right one.
char32_t mapped(std::span<const Run> runs, char32_t c) {
  auto entry = std::upper_bound(runs.begin(), runs.end(), c,
                                [](char32_t value, const Run& run) { return value < run.first; });
  for (int back = 0; back < 2 && entry != runs.begin(); ++back) {
    --entry;
    if (c <= entry->last && (c - entry->first) % entry->step == 0) {
      return static_cast<char32_t>(static_cast<int32_t>(c) + entry->delta);
    }
  }
  return c;
}

bool contains(std::span<const Range> ranges, char32_t c) {
  const auto entry =
      std::upper_bound(ranges.begin(), ranges.end(), c,
                       [](char32_t value, const Range& range) { return value < range.first; });
  return entry != ranges.begin() && c <= std::prev(entry)->last;
}

bool is_continuation(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Whether the nearest preceding character at the end of `text`, skipping ignorable ones, has a
// case.
bool letter_precedes(std::string_view text) {
  for (size_t limit = 256; !text.empty() && limit != 0; --limit) {
    size_t at = text.size() - 1;
    while (at > 0 && is_continuation(text[at])) --at;
    const char32_t c = front_character(text.substr(at)).value;
    if (!is_case_ignorable(c)) return has_case(c);
    text = text.substr(0, at);
  }
  return false;
}

// Whether the next character, skipping ignorable ones, has a case. Long runs of ignorable
// characters after many sigmas would take quadratic time; 256 bytes are longer than any word's run.
bool letter_follows(std::string_view text) {
  text = text.substr(0, 256);
  while (!text.empty()) {
    const Character next = front_character(text);
    if (has_case(next.value)) return true;
    if (!is_case_ignorable(next.value)) return false;
    text.remove_prefix(next.bytes);
  }
  return false;
}

// The length of the ASCII prefix.
size_t ascii_prefix(std::string_view text) {
  size_t n = 0;
  while (n < text.size() && static_cast<unsigned char>(text[n]) < 0x80) ++n;
  return n;
}

}  // namespace

char32_t lower_of(char32_t c) { return mapped(case_data::kLower, c); }
char32_t upper_of(char32_t c) { return mapped(case_data::kUpper, c); }

std::span<const char32_t> upper_expansion_of(char32_t c) {
  const auto* end = std::end(case_data::kUpperExpansions);
  const auto* entry = std::lower_bound(
      std::begin(case_data::kUpperExpansions), end, c,
      [](const Expansion& expansion, char32_t value) { return expansion.from < value; });
  if (entry == end || entry->from != c) return {};
  return entry->to;
}

bool has_case(char32_t c) { return contains(case_data::kCased, c); }
bool is_case_ignorable(char32_t c) { return contains(case_data::kIgnorable, c); }

void append_lower_case(std::string_view text, std::string& out) {
  const char* begin = text.data();
  while (!text.empty()) {
    const size_t plain = ascii_prefix(text);
    for (size_t i = 0; i < plain; ++i) {
      const char c = text[i];
      out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c);
    }
    text.remove_prefix(plain);
    if (text.empty()) return;
    const Character next = front_character(text);
    const std::string_view bytes = text.substr(0, next.bytes);
    text.remove_prefix(next.bytes);
    if (next.value == kSigma) {
      const bool in_word = letter_precedes({begin, bytes.data()});
      append_utf8(in_word && !letter_follows(text) ? kFinalSigma : kSmallSigma, out);
    } else if (next.value == kDottedI) {
      out.push_back('i');
      append_utf8(kDotAbove, out);
    } else if (const char32_t lower = lower_of(next.value); lower != next.value) {
      append_utf8(lower, out);
    } else {
      out.append(bytes);
    }
  }
}

void append_upper_case(std::string_view text, std::string& out) {
  while (!text.empty()) {
    const size_t plain = ascii_prefix(text);
    for (size_t i = 0; i < plain; ++i) {
      const char c = text[i];
      out.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c);
    }
    text.remove_prefix(plain);
    if (text.empty()) return;
    const Character next = front_character(text);
    const std::span<const char32_t> several = upper_expansion_of(next.value);
    for (const char32_t c : several) {
      if (c != 0) append_utf8(c, out);
    }
    if (several.empty()) {
      const char32_t upper = upper_of(next.value);
      if (upper != next.value) append_utf8(upper, out);
      else out.append(text.substr(0, next.bytes));
    }
    text.remove_prefix(next.bytes);
  }
}

Character front_character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 0;
  if (bytes == 0 || text.size() < bytes) return {0xFFFD, 1};
  char32_t value = first & (0xFFU >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if (!is_continuation(text[i])) return {0xFFFD, 1};
    value = value << 6 | (byte(i) & 0x3FU);
  }
  return {value, bytes};
}

void append_utf8(char32_t c, std::string& out) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xC0 | c >> 6);
    put(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    put(0xE0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  } else {
    put(0xF0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3F));
    put(0x80 | (c >> 6 & 0x3F));
    put(0x80 | (c & 0x3F));
  }
}

size_t utf16_length(std::string_view text) {
  size_t length = 0;
  for (const char c : text) {
    if (!is_continuation(c)) length += static_cast<unsigned char>(c) >= 0xF0 ? 2 : 1;
  }
  return length;
}

}  // namespace serval
