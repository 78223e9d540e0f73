// Checks for valid UTF-8, and helpers that make text sent by the server valid, whatever a client or
// a folder is named. Hot path, any thread; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace serval {

// Whether `text` is valid UTF-8 (no surrogates, no overlong forms).
bool is_valid_utf8(std::string_view text);

inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

// Bytes of the character that begins at text[at] (at < size); 0 if it is malformed (stray or
// missing continuation, overlong, surrogate, beyond U+10FFFF).
inline size_t utf8_length_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> uint32_t {
    return at + i < text.size() ? static_cast<uint8_t>(text[at + i]) : 0;
  };
  const auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return continues(1) ? 2 : 0;
  const uint32_t second = byte(1);
  if (lead < 0xF0) {
    const bool in_range = lead == 0xE0 ? second >= 0xA0 : lead == 0xED ? second < 0xA0 : true;
    return in_range && continues(1) && continues(2) ? 3 : 0;
  }
  if (lead > 0xF4) return 0;
  const bool in_range = lead == 0xF0 ? second >= 0x90 : lead == 0xF4 ? second < 0x90 : true;
  return in_range && continues(1) && continues(2) && continues(3) ? 4 : 0;
}

// The first `bytes_max` bytes at most, cut between characters.
inline std::string_view cut_utf8(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  size_t end = bytes_max;
  // A character has at most three continuation bytes; a longer run is invalid anyway.
  for (size_t back = 0; back < 4 && end > 0; ++back, --end) {
    if ((static_cast<uint8_t>(text[end]) & 0xC0) != 0x80) return text.substr(0, end);
  }
  return text.substr(0, bytes_max);
}

}  // namespace serval
