// Bytes as texts and back: hexadecimal, base64, character sets, URLs. Hot path; any thread.
// Source: Spark's stringExpressions.scala, mathExpressions.scala (hex) and urlExpressions.scala.
#include <algorithm>

#include "base/bytes/utf8.h"
#include "base/unicode/letters.h"
#include "tabular/sql/composite/items.h"
#include "tabular/sql/functions/tables.h"
#include "tabular/sql/hashes/digests.h"
#include "tabular/sql/texts/encodings.h"

namespace serval::tabular::sql {

namespace {

constexpr SqlType kBinary{Type::Binary};

Value binary_value(Eval& eval, std::string_view bytes) {
  Value made = eval.of_text(bytes);
  made.type = Type::Binary;
  return made;
}

// The bytes of an argument that is binary or a text. False: missing, or failed.
bool bytes_argument(Eval& eval, std::string_view function, Arguments arguments, size_t index,
                    std::string_view& bytes) {
  const Value& value = arguments[index];
  if (!is_text(value.type) && value.type != Type::Any) {
    bad_argument(eval, function, index, "binary", value);
    return false;
  }
  if (value.valid()) bytes = eval.text(value);
  return value.valid();
}

bool text_argument(Eval& eval, std::string_view function, Arguments arguments, size_t index,
                   std::string_view& text) {
  const Value value = argument(eval, function, arguments, index, kString);
  if (value.valid()) text = eval.text(value);
  return value.valid() && !eval.failed();
}

// The 64 bits of a number without leading zeros, or the bytes of any other value.
Value hex(Eval& eval, Arguments arguments, const void*) {
  const Value& value = arguments[0];
  if (is_numeric(value.type)) {
    const Value number = argument(eval, "hex", arguments, 0, kInt64);
    if (!number.valid()) return missing_of(kString);
    std::string text;
    for (auto left = static_cast<uint64_t>(number.integer); left != 0; left >>= 4) {
      text.insert(text.begin(), "0123456789ABCDEF"[left & 15]);
    }
    return text_value(eval, text.empty() ? "0" : text);
  }
  std::string_view bytes;
  if (value.type == Type::Binary) bytes_argument(eval, "hex", arguments, 0, bytes);
  else text_argument(eval, "hex", arguments, 0, bytes);
  if (!value.valid() || eval.failed()) return missing_of(kString);
  return text_value(eval, hex_text(bytes, true));
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// A leading digit of an odd-length number forms a byte alone.
std::optional<std::string> bytes_of_hex(std::string_view text) {
  std::string bytes;
  size_t at = 0;
  int high = 0;
  if (text.size() % 2 == 1) {
    high = hex_digit(text[0]);
    if (high < 0) return std::nullopt;
    bytes += static_cast<char>(high);
    at = 1;
  }
  for (; at < text.size(); at += 2) {
    high = hex_digit(text[at]);
    const int low = hex_digit(text[at + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

Value unhex(Eval& eval, Arguments arguments, const void*) {
  std::string_view text;
  if (!text_argument(eval, "unhex", arguments, 0, text)) return missing_of(kBinary);
  const auto bytes = bytes_of_hex(text);
  return bytes ? binary_value(eval, *bytes) : missing_of(kBinary);
}

int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

Value base64(Eval& eval, Arguments arguments, const void*) {
  std::string_view bytes;
  if (!bytes_argument(eval, "base64", arguments, 0, bytes)) return missing_of(kString);
  // Lines of 76 characters, as MIME has them.
  constexpr size_t kLine = 76;
  const std::string whole = base64_text(bytes);
  std::string text;
  for (size_t at = 0; at < whole.size(); at += kLine) {
    text += (at > 0 ? "\r\n" : "") + whole.substr(at, kLine);
  }
  return text_value(eval, text);
}

Value unbase64(Eval& eval, Arguments arguments, const void*) {
  std::string_view text;
  if (!text_argument(eval, "unbase64", arguments, 0, text)) return missing_of(kBinary);
  const auto bytes = bytes_of_base64(text);
  if (!bytes) return eval.fail("unbase64(): argument 1: its last unit has too few characters");
  return binary_value(eval, *bytes);
}

// to_binary(text[, format]): try_to_binary() returns NULL on an error.
template <bool kTry>
Value to_binary(Eval& eval, Arguments arguments, const void*) {
  const std::string_view name = kTry ? "try_to_binary" : "to_binary";
  std::string_view text, format = "hex";
  const bool valid = text_argument(eval, name, arguments, 0, text);
  if (arguments.size() > 1 && !text_argument(eval, name, arguments, 1, format)) {
    return missing_of(kBinary);
  }
  if (!valid || eval.failed()) return missing_of(kBinary);
  std::string low(format);
  for (char& c : low) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  std::optional<std::string> bytes;
  if (low == "hex") bytes = bytes_of_hex(text);
  else if (low == "utf-8" || low == "utf8") bytes = std::string(text);
  else if (low == "base64") bytes = strict_base64(text);
  else
    return eval.fail(std::string(name) +
                     "(): argument 2: expected 'hex', 'utf-8' or 'base64', got '" +
                     std::string(format) + "'");
  if (bytes) return binary_value(eval, *bytes);
  if (kTry) return missing_of(kBinary);
  return eval.fail("to_binary(): argument 1: '" + std::string(text) + "' is not " + low);
}

enum class Charset { Ascii, Latin1, Utf8, Utf16Be, Utf16Le, Utf16, None };

Charset charset_named(std::string_view name) {
  std::string up(name);
  for (char& c : up) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  if (up == "US-ASCII") return Charset::Ascii;
  if (up == "ISO-8859-1") return Charset::Latin1;
  if (up == "UTF-8") return Charset::Utf8;
  if (up == "UTF-16BE") return Charset::Utf16Be;
  if (up == "UTF-16LE") return Charset::Utf16Le;
  return up == "UTF-16" ? Charset::Utf16 : Charset::None;
}

bool charset_argument(Eval& eval, std::string_view function, Arguments arguments, Charset& out) {
  std::string_view name;
  if (!text_argument(eval, function, arguments, 1, name)) return false;
  out = charset_named(name);
  if (out != Charset::None) return true;
  eval.fail(std::string(function) +
            "(): argument 2: expected US-ASCII, ISO-8859-1, UTF-8, UTF-16, "
            "UTF-16BE or UTF-16LE, got '" +
            std::string(name) + "'");
  return false;
}

void append_unit(std::string& bytes, uint32_t unit, bool little) {
  const auto high = static_cast<char>(unit >> 8), low = static_cast<char>(unit);
  bytes += little ? low : high;
  bytes += little ? high : low;
}

std::string encoded(std::string_view text, Charset charset) {
  std::string bytes;
  if (charset == Charset::Utf16 && !text.empty()) bytes = "\xFE\xFF";
  const bool little = charset == Charset::Utf16Le;
  for (std::string_view rest = text; !rest.empty();) {
    const Character character = front_character(rest);
    rest.remove_prefix(character.bytes);
    const auto code = static_cast<uint32_t>(character.value);
    if (charset == Charset::Ascii || charset == Charset::Latin1) {
      bytes += code < (charset == Charset::Ascii ? 0x80U : 0x100U) ? static_cast<char>(code) : '?';
    } else if (code > 0xFFFF) {
      append_unit(bytes, 0xD800 + ((code - 0x10000) >> 10), little);
      append_unit(bytes, 0xDC00 + ((code - 0x10000) & 0x3FF), little);
    } else {
      append_unit(bytes, code, little);
    }
  }
  return bytes;
}

void append_units(std::string_view bytes, bool little, std::string& text) {
  constexpr char32_t kBad = 0xFFFD;
  char32_t high = 0;
  for (size_t at = 0; at < bytes.size(); at += 2) {
    if (at + 1 == bytes.size()) {
      append_utf8(kBad, text);
      return;
    }
    const auto first = static_cast<uint8_t>(bytes[at]),
               second = static_cast<uint8_t>(bytes[at + 1]);
    const char32_t unit = little ? first | static_cast<char32_t>(second) << 8
                                 : second | static_cast<char32_t>(first) << 8;
    const bool low = unit >= 0xDC00 && unit <= 0xDFFF;
    if (high != 0 && low) append_utf8(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00), text);
    else if (high != 0 || low) append_utf8(kBad, text);
    if (high != 0 && low) {
      high = 0;
      continue;
    }
    high = unit >= 0xD800 && unit <= 0xDBFF ? unit : 0;
    if (high == 0 && !low) append_utf8(unit, text);
  }
  if (high != 0) append_utf8(kBad, text);
}

// Invalid bytes become U+FFFD.
std::string decoded(std::string_view bytes, Charset charset) {
  std::string text;
  if (charset == Charset::Ascii || charset == Charset::Latin1) {
    for (const char c : bytes) {
      const auto code = static_cast<uint8_t>(c);
      append_utf8(charset == Charset::Ascii && code >= 0x80 ? 0xFFFD : char32_t{code}, text);
    }
    return text;
  }
  bool little = charset == Charset::Utf16Le;
  if (charset == Charset::Utf16 && bytes.size() > 1) {
    little = bytes.starts_with("\xFF\xFE");
    if (little || bytes.starts_with("\xFE\xFF")) bytes.remove_prefix(2);
  }
  append_units(bytes, little, text);
  return text;
}

Value encode(Eval& eval, Arguments arguments, const void*) {
  std::string_view text;
  Charset charset = Charset::None;
  const bool valid = text_argument(eval, "encode", arguments, 0, text);
  if (!charset_argument(eval, "encode", arguments, charset) || !valid) return missing_of(kBinary);
  return binary_value(eval, charset == Charset::Utf8 ? std::string(text) : encoded(text, charset));
}

Value decode(Eval& eval, Arguments arguments, const void*) {
  std::string_view bytes;
  Charset charset = Charset::None;
  const bool valid = bytes_argument(eval, "decode", arguments, 0, bytes);
  if (!charset_argument(eval, "decode", arguments, charset) || !valid) return missing_of(kString);
  return text_value(eval, charset == Charset::Utf8 ? valid_utf8(bytes) : decoded(bytes, charset));
}

// Encodes as HTML forms do: a blank is +.
Value url_encode(Eval& eval, Arguments arguments, const void*) {
  std::string_view text;
  if (!text_argument(eval, "url_encode", arguments, 0, text)) return missing_of(kString);
  std::string made;
  for (const char c : text) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '.' || c == '-' || c == '*' || c == '_';
    if (plain) made += c;
    else if (c == ' ') made += '+';
    else made += "%" + hex_text({&c, 1}, true);
  }
  return text_value(eval, made);
}

template <bool kTry>
Value url_decode(Eval& eval, Arguments arguments, const void*) {
  const std::string_view name = kTry ? "try_url_decode" : "url_decode";
  std::string_view text;
  if (!text_argument(eval, name, arguments, 0, text)) return missing_of(kString);
  std::string made;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      made += text[at] == '+' ? ' ' : text[at];
      continue;
    }
    const auto byte = at + 2 < text.size() ? bytes_of_hex(text.substr(at + 1, 2)) : std::nullopt;
    if (!byte) {
      if (kTry) return missing_of(kString);
      return eval.fail("url_decode(): argument 1: '" + std::string(text) +
                       "' has a % without two hexadecimal digits");
    }
    made += *byte;
    at += 2;
  }
  return text_value(eval, valid_utf8(made));
}

Value is_valid_utf8(Eval& eval, Arguments arguments, const void*) {
  std::string_view bytes;
  if (!bytes_argument(eval, "is_valid_utf8", arguments, 0, bytes)) return missing_of(kBool);
  return Value::of_bool(valid_utf8(bytes) == bytes);
}

Value make_valid_utf8(Eval& eval, Arguments arguments, const void*) {
  std::string_view bytes;
  if (!bytes_argument(eval, "make_valid_utf8", arguments, 0, bytes)) return missing_of(kString);
  return text_value(eval, valid_utf8(bytes));
}

template <bool kTry>
Value validate_utf8(Eval& eval, Arguments arguments, const void*) {
  std::string_view bytes;
  const std::string_view name = kTry ? "try_validate_utf8" : "validate_utf8";
  if (!bytes_argument(eval, name, arguments, 0, bytes)) return missing_of(kString);
  if (valid_utf8(bytes) == bytes) return text_value(eval, bytes);
  if (kTry) return missing_of(kString);
  return eval.fail("validate_utf8(): argument 1 is not UTF-8");
}

constexpr Function kEncodingsFunctions[] = {
    function(fn::sql_hex, hex),
    function(fn::sql_unhex, unhex),
    function(fn::sql_base64, base64),
    function(fn::sql_unbase64, unbase64),
    function(fn::sql_to_binary, to_binary<false>),
    function(fn::sql_try_to_binary, to_binary<true>),
    function(fn::sql_encode, encode),
    function(fn::sql_decode, decode),
    function(fn::sql_url_encode, url_encode),
    function(fn::sql_url_decode, url_decode<false>),
    function(fn::sql_try_url_decode, url_decode<true>),
    function(fn::sql_is_valid_utf8, is_valid_utf8),
    function(fn::sql_make_valid_utf8, make_valid_utf8),
    function(fn::sql_validate_utf8, validate_utf8<false>),
    function(fn::sql_try_validate_utf8, validate_utf8<true>),
};

}  // namespace

std::span<const Function> encoding_functions() { return kEncodingsFunctions; }

std::string base64_text(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < count ? static_cast<uint8_t>(bytes[at + i]) : 0U);
    }
    for (size_t i = 0; i < 4; ++i) {
      text += i <= count ? kDigits[(bits >> (18 - 6 * i)) & 63] : '=';
    }
  }
  return text;
}

std::optional<std::string> bytes_of_base64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  size_t digits = 0;
  for (const char c : text) {
    if (c == '=') break;
    const int digit = base64_digit(c);
    if (digit < 0) continue;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    if (++digits % 4 != 0) continue;
    for (int shift = 16; shift >= 0; shift -= 8) bytes += static_cast<char>(bits >> shift);
  }
  switch (digits % 4) {
    case 1: return std::nullopt;
    case 2: bytes += static_cast<char>(bits >> 4); break;
    case 3:
      bytes += static_cast<char>(bits >> 10);
      bytes += static_cast<char>(bits >> 2);
      break;
    default: break;
  }
  return bytes;
}

std::optional<std::string> strict_base64(std::string_view text) {
  std::string whole;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    if (base64_digit(c) < 0 && c != '=') return std::nullopt;
    whole += c;
  }
  const size_t end = whole.find('=');
  const size_t padding = end == std::string::npos ? 0 : whole.size() - end;
  const bool only_padding =
      whole.find_first_not_of('=', end == std::string::npos ? whole.size() : end) ==
      std::string::npos;
  if (!only_padding || padding > 2) return std::nullopt;
  if (padding > 0 && whole.size() % 4 != 0) return std::nullopt;
  return bytes_of_base64(whole);
}

std::string valid_utf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const Character character = front_character(bytes);
    const bool bad = character.value == 0xFFFD && character.bytes == 1;
    if (bad) append_utf8(0xFFFD, text);
    else text += bytes.substr(0, character.bytes);
    bytes.remove_prefix(character.bytes);
  }
  return text;
}

}  // namespace serval::tabular::sql
