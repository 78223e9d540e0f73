// Decodes and encodes byte strings: UTF-8, UTF-16, UTF-32, ASCII, Latin-1. Hot path; pure. Splits
// ill-formed input as the Unicode Standard recommends (chapter 3, "maximal subparts"), like
// TensorFlow's converters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace serval::operators {

enum class Encoding : uint8_t {
  Utf8,
  Utf16Be,
  Utf16Le,
  Utf16,
  Utf32Be,
  Utf32Le,
  Utf32,
  Ascii,
  Latin1
};

inline constexpr char32_t kReplacement = 0xFFFD;
inline constexpr char32_t kCharacterMax = 0x10FFFF;

constexpr bool is_surrogate(char32_t c) { return c >= 0xD800 && c <= 0xDFFF; }

// Finds an encoding by name, ignoring case and punctuation ("utf8", "UTF-16BE", "latin1"); nullopt
// for others.
std::optional<Encoding> encoding_of(std::string_view name);

// One decoded character: its value, its length in bytes, and whether it is valid (`value` is
// kReplacement if not).
struct Decoded {
  char32_t value = kReplacement;
  size_t bytes = 0;
  bool valid = false;
};

// The character at the front of `text` (not empty).
Decoded decode_utf8(std::string_view text);

// Iterates over a text; a leading byte order mark selects the endianness of Utf16 and Utf32
// (big-endian without one) and belongs to the first character's bytes.
class Characters {
 public:
  Characters(std::string_view text, Encoding encoding);
  bool done() const { return text_.empty(); }
  Decoded next();

 private:
  std::string_view text_;
  Encoding encoding_;
  size_t mark_bytes_ = 0;
};

// Appends a character (not a surrogate, at most kCharacterMax): UTF-8, big-endian UTF-16 or
// UTF-32.
void append_character(char32_t character, Encoding encoding, std::string& out);

}  // namespace serval::operators
