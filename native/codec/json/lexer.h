// Tokens of the JSON dialect described in reader.h: strings, numbers and words, with RapidJSON's
// reasons and offsets for errors. Internal to the plain reader; control plane of the hot path; any
// thread. Borrows the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/buffer.h"
#include "codec/json/reader.h"

namespace serval {

// Reasons of parse errors. Source: tfserving.md 1.10 "JSON parse reasons".
namespace json_reason {
inline constexpr std::string_view kEmptyDocument = "The document is empty.";
inline constexpr std::string_view kInvalidValue = "Invalid value.";
inline constexpr std::string_view kMissName = "Missing a name for object member.";
inline constexpr std::string_view kMissColon = "Missing a colon after a name of object member.";
inline constexpr std::string_view kMissCurly = "Missing a comma or '}' after an object member.";
inline constexpr std::string_view kMissSquare = "Missing a comma or ']' after an array element.";
inline constexpr std::string_view kBadHex = "Incorrect hex digit after \\u escape in string.";
inline constexpr std::string_view kBadSurrogate = "The surrogate pair in string is invalid.";
inline constexpr std::string_view kBadEscape = "Invalid escape character in string.";
inline constexpr std::string_view kMissQuote = "Missing a closing quotation mark in string.";
inline constexpr std::string_view kTooBig = "Number too big to be stored in double.";
inline constexpr std::string_view kMissFraction = "Miss fraction part in number.";
inline constexpr std::string_view kMissExponent = "Miss exponent in number.";
// Not from upstream: limits of JsonRules, and faults that are not the request's.
inline constexpr std::string_view kTooDeep = "nested too deeply";
inline constexpr std::string_view kTextBehind = "text after the document";
inline constexpr std::string_view kNoMemory = "out of memory";
}  // namespace json_reason

// Reads tokens from the front of a text. Every function that returns bool returns false after
// fail(), which records the reason and the offset.
class JsonLexer {
 public:
  JsonLexer(std::string_view text, Arena& arena) : text_(text), arena_(arena) {}

  size_t position() const { return pos_; }
  std::string_view reason() const { return reason_; }
  size_t error_offset() const { return offset_; }

  // The next byte; NUL at the end of the text. A NUL byte in the text ends it, as upstream.
  char peek() const { return pos_ < text_.size() ? text_[pos_] : '\0'; }
  void skip() { ++pos_; }
  // Moves forward only: decoded strings share memory sized by the rest of the text.
  void seek(size_t position) { pos_ = position; }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++pos_;
    return true;
  }
  void skip_byte_order_mark() {
    if (text_.starts_with("\xEF\xBB\xBF")) pos_ = 3;
  }
  void skip_blanks();
  bool fail(std::string_view reason, size_t offset) {
    reason_ = reason;
    offset_ = offset;
    return false;
  }

  bool word(std::string_view wanted);
  // Reads decimal numbers and the tokens NaN, Inf, Infinity, each with or without a minus.
  bool number(JsonNumber& out);
  // `out` is a view of the text, or of the arena if the string has escapes.
  bool string(std::string_view& out);
  // Returns arena memory that no decoded string needed.
  void finish();

 private:
  bool number_token(JsonNumber& out);
  bool number_text(bool& whole);
  bool decoded_string(size_t start, std::string_view& out);
  bool escape(char*& out);
  bool hex4(size_t escape_offset, uint32_t& code);

  std::string_view text_;
  Arena& arena_;
  size_t pos_ = 0;
  char* decoded_ = nullptr;      // arena memory for all decoded strings of the document
  char* decoded_end_ = nullptr;  // end of its used part
  std::string_view reason_;
  size_t offset_ = 0;
};

}  // namespace serval
