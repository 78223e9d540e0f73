// Decodes and encodes characters (encoding.h). Hot path; pure.
#include "operators/strings/encoding.h"

#include <algorithm>
#include <utility>

namespace serval::operators {

namespace {

uint32_t byte_at(std::string_view text, size_t index) { return static_cast<uint8_t>(text[index]); }

uint32_t unit16(std::string_view text, bool little) {
  const uint32_t a = byte_at(text, 0), b = byte_at(text, 1);
  return little ? b << 8 | a : a << 8 | b;
}

Decoded decode_utf16(std::string_view text, bool little) {
  if (text.size() < 2) return {kReplacement, text.size(), false};
  const uint32_t first = unit16(text, little);
  if (!is_surrogate(first)) return {first, 2, true};
  if (first >= 0xDC00) return {kReplacement, 2, false};
  if (text.size() < 4) return {kReplacement, text.size(), false};  // truncated: a single error
  const uint32_t second = unit16(text.substr(2), little);
  if (second < 0xDC00 || second > 0xDFFF) return {kReplacement, 2, false};
  return {0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00), 4, true};
}

Decoded decode_utf32(std::string_view text, bool little) {
  if (text.size() < 4) return {kReplacement, text.size(), false};
  const uint32_t a = unit16(text, little), b = unit16(text.substr(2), little);
  const uint32_t value = little ? b << 16 | a : a << 16 | b;
  if (value > kCharacterMax || is_surrogate(value)) return {kReplacement, 4, false};
  return {value, 4, true};
}

Decoded decode_byte(std::string_view text, uint32_t max) {
  const uint32_t value = byte_at(text, 0);
  return value <= max ? Decoded{value, 1, true} : Decoded{kReplacement, 1, false};
}

void append_bytes(uint32_t value, int count, std::string& out) {
  for (int shift = 8 * (count - 1); shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(value >> shift));
  }
}

void append_utf8(uint32_t c, std::string& out) {
  const auto trail = [&](int shift) { out.push_back(static_cast<char>(0x80 | (c >> shift & 63))); };
  if (c < 0x80) return out.push_back(static_cast<char>(c));
  if (c < 0x800) {
    out.push_back(static_cast<char>(0xC0 | c >> 6));
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | c >> 12));
    trail(6);
  } else {
    out.push_back(static_cast<char>(0xF0 | c >> 18));
    trail(12);
    trail(6);
  }
  trail(0);
}

}  // namespace

std::optional<Encoding> encoding_of(std::string_view name) {
  constexpr std::pair<std::string_view, Encoding> kNames[] = {
      {"utf8", Encoding::Utf8},       {"utf16be", Encoding::Utf16Be},
      {"utf16le", Encoding::Utf16Le}, {"utf16", Encoding::Utf16},
      {"utf32be", Encoding::Utf32Be}, {"utf32le", Encoding::Utf32Le},
      {"utf32", Encoding::Utf32},     {"usascii", Encoding::Ascii},
      {"ascii", Encoding::Ascii},     {"iso88591", Encoding::Latin1},
      {"latin1", Encoding::Latin1},
  };
  std::string key;
  for (char c : name.substr(0, 32)) {
    if (c == '-' || c == '_' || c == ' ') continue;
    key.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c);
  }
  const auto* found = std::find_if(std::begin(kNames), std::end(kNames),
                                   [&](const auto& entry) { return entry.first == key; });
  if (found == std::end(kNames)) return std::nullopt;
  return found->second;
}

Decoded decode_utf8(std::string_view text) {
  const uint32_t lead = byte_at(text, 0);
  if (lead < 0x80) return {lead, 1, true};
  if (lead < 0xC2 || lead > 0xF4) return {kReplacement, 1, false};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte's range excludes overlong forms, surrogates and values beyond U+10FFFF.
  uint32_t low = 0x80, high = 0xBF;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  uint32_t value = lead & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    const uint32_t next = i < text.size() ? byte_at(text, i) : 0;
    if (next < low || next > high) return {kReplacement, i, false};
    value = value << 6 | (next & 63);
    low = 0x80;
    high = 0xBF;
  }
  return {value, length, true};
}

Characters::Characters(std::string_view text, Encoding encoding)
    : text_(text), encoding_(encoding) {
  if (encoding == Encoding::Utf16) {
    encoding_ = text.starts_with("\xFF\xFE") ? Encoding::Utf16Le : Encoding::Utf16Be;
    if (text.starts_with("\xFE\xFF") || encoding_ == Encoding::Utf16Le) mark_bytes_ = 2;
  } else if (encoding == Encoding::Utf32) {
    constexpr std::string_view kLittle("\xFF\xFE\0\0", 4), kBig("\0\0\xFE\xFF", 4);
    encoding_ = text.starts_with(kLittle) ? Encoding::Utf32Le : Encoding::Utf32Be;
    if (text.starts_with(kLittle) || text.starts_with(kBig)) mark_bytes_ = 4;
  }
}

Decoded Characters::next() {
  const std::string_view text = text_.substr(mark_bytes_);
  Decoded decoded;
  if (text.empty()) {
    // The text is only a byte order mark: the same result as TensorFlow's converter.
    text_ = {};
    return {0xFFFF, mark_bytes_, true};
  }
  switch (encoding_) {
    case Encoding::Utf8: decoded = decode_utf8(text); break;
    case Encoding::Utf16:
    case Encoding::Utf16Be: decoded = decode_utf16(text, false); break;
    case Encoding::Utf16Le: decoded = decode_utf16(text, true); break;
    case Encoding::Utf32:
    case Encoding::Utf32Be: decoded = decode_utf32(text, false); break;
    case Encoding::Utf32Le: decoded = decode_utf32(text, true); break;
    case Encoding::Ascii: decoded = decode_byte(text, 0x7F); break;
    case Encoding::Latin1: decoded = decode_byte(text, 0xFF); break;
  }
  decoded.bytes += std::exchange(mark_bytes_, 0);
  text_.remove_prefix(decoded.bytes);
  return decoded;
}

void append_character(char32_t character, Encoding encoding, std::string& out) {
  if (encoding == Encoding::Utf8) return append_utf8(character, out);
  if (encoding == Encoding::Utf32Be) return append_bytes(character, 4, out);
  if (character < 0x10000) return append_bytes(character, 2, out);
  append_bytes(0xD800 + ((character - 0x10000) >> 10), 2, out);
  append_bytes(0xDC00 + ((character - 0x10000) & 0x3FF), 2, out);
}

}  // namespace serval::operators
