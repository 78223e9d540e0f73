// Upper and lower case of characters and texts by Unicode's full mappings, without
// language-specific rules. Hot path; pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace serval {

// Maps a character to one character: itself if it has no such case. A capital sigma and a dotted
// capital I depend on more: see append_lower_case.
char32_t lower_of(char32_t c);
char32_t upper_of(char32_t c);
// The characters, up to a 0, of an upper-case mapping to several characters; otherwise empty.
std::span<const char32_t> upper_expansion_of(char32_t c);
bool has_case(char32_t c);
// Whether a character is skipped in the search for a sigma's neighbours.
bool is_case_ignorable(char32_t c);

inline constexpr char32_t kSigma = 0x3A3, kSmallSigma = 0x3C3, kFinalSigma = 0x3C2;
inline constexpr char32_t kDottedI = 0x130, kDotAbove = 0x307;

// `text` is UTF-8. Invalid bytes are copied unchanged.
void append_lower_case(std::string_view text, std::string& out);
void append_upper_case(std::string_view text, std::string& out);

// The character at the front of UTF-8 text (not empty) and its bytes; an invalid byte gives
// {0xFFFD, 1}.
struct Character {
  char32_t value = 0;
  size_t bytes = 0;
};
Character front_character(std::string_view text);
void append_utf8(char32_t c, std::string& out);
// Java's length: a character above 0xFFFF counts as 2.
size_t utf16_length(std::string_view text);

}  // namespace serval
