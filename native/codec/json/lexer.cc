// Reads strings, numbers and words for the plain JSON reader. Control plane of the hot path; any
// thread. Must not recurse and must stay linear in the text. Source: tfserving.md 1.4, 1.10.
#include "codec/json/lexer.h"

#include <charconv>
#include <limits>

namespace serval {

namespace {

using namespace json_reason;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Returns 16 for a character that is not a hexadecimal digit.
unsigned hex_digit(char c) {
  if (is_digit(c)) return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return 16;
}

// The character that `\c` represents; 0 if there is no such escape.
char simple_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
    case '/': return c;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
  }
}

char* encode_utf8(char* out, uint32_t code) {
  const auto put = [&out](uint32_t byte) { *out++ = static_cast<char>(byte); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | (code >> 6));
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3f));
    put(0x80 | ((code >> 6) & 0x3f));
    put(0x80 | (code & 0x3f));
  }
  return out;
}

// Whether the number `text` (valid JSON, out of double's range) is too large rather than too small:
// compares the position of its first nonzero digit with its exponent.
bool is_overflow(std::string_view text) {
  size_t i = text[0] == '-' ? 1 : 0;
  int64_t place = 0;  // digits before the point, from the first nonzero one
  bool counting = false;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    counting |= text[i] != '0';
    place += counting;
  }
  if (i < text.size() && text[i] == '.') {
    for (++i; i < text.size() && is_digit(text[i]); ++i) {
      counting |= text[i] != '0';
      place -= !counting;
    }
  }
  if (i == text.size()) return place > 0;
  ++i;  // e
  const bool minus = text[i] == '-';
  if (text[i] == '-' || text[i] == '+') ++i;
  int64_t exponent = 0;
  for (; i < text.size() && exponent < (int64_t{1} << 40); ++i) {
    exponent = exponent * 10 + (text[i] - '0');
  }
  return place + (minus ? -exponent : exponent) > 0;
}

}  // namespace

void JsonLexer::skip_blanks() {
  while (pos_ < text_.size()) {
    const char c = text_[pos_];
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return;
    ++pos_;
  }
}

bool JsonLexer::word(std::string_view wanted) {
  for (char c : wanted) {
    if (!take(c)) return fail(kInvalidValue, pos_);
  }
  return true;
}

// Reads a number's text by JSON's grammar; `whole`: it has neither fraction nor exponent.
bool JsonLexer::number_text(bool& whole) {
  take('-');
  if (!is_digit(peek())) return fail(kInvalidValue, pos_);
  if (!take('0')) {
    while (is_digit(peek())) ++pos_;
  }
  whole = true;
  if (take('.')) {
    whole = false;
    if (!is_digit(peek())) return fail(kMissFraction, pos_);
    while (is_digit(peek())) ++pos_;
  }
  if (take('e') || take('E')) {
    whole = false;
    if (!take('+')) take('-');
    if (!is_digit(peek())) return fail(kMissExponent, pos_);
    while (is_digit(peek())) ++pos_;
  }
  return true;
}

bool JsonLexer::number_token(JsonNumber& out) {
  const bool minus = take('-');
  const bool nan = peek() == 'N';
  if (!word(nan ? "NaN" : "Inf")) return false;
  if (!nan && peek() == 'i' && !word("inity")) return false;
  const double infinity = std::numeric_limits<double>::infinity();
  out.form = JsonNumber::Form::Double;
  out.f64 = nan ? std::numeric_limits<double>::quiet_NaN() : minus ? -infinity : infinity;
  return true;
}

bool JsonLexer::number(JsonNumber& out) {
  const size_t start = pos_;
  const size_t first = start + (peek() == '-');
  if (first < text_.size() && (text_[first] == 'N' || text_[first] == 'I')) {
    return number_token(out);
  }
  bool whole = false;
  if (!number_text(whole)) return false;
  const char* begin = text_.data() + start;
  const char* end = text_.data() + pos_;
  if (whole && std::from_chars(begin, end, out.i64).ec == std::errc{}) {
    out.form = JsonNumber::Form::Int64;
    out.f64 = static_cast<double>(out.i64);
  } else if (whole && std::from_chars(begin, end, out.u64).ec == std::errc{}) {
    out.form = JsonNumber::Form::Uint64;
    out.f64 = static_cast<double>(out.u64);
  } else {
    out.form = JsonNumber::Form::Double;
    if (std::from_chars(begin, end, out.f64).ec == std::errc::result_out_of_range) {
      if (is_overflow({begin, end})) return fail(json_reason::kTooBig, start);
      out.f64 = *begin == '-' ? -0.0 : 0.0;
    }
  }
  return true;
}

bool JsonLexer::string(std::string_view& out) {
  const size_t start = ++pos_;  // after the quotation mark
  while (pos_ < text_.size()) {
    const char c = text_[pos_];
    if (c == '"') {
      out = text_.substr(start, pos_++ - start);
      return true;
    }
    if (c == '\\') return decoded_string(start, out);
    if (static_cast<unsigned char>(c) < 0x20) break;
    ++pos_;
  }
  return fail(peek() == '\0' ? kMissQuote : kBadEscape, pos_);
}

// Continues a string at pos_, its first escape. Decoded text is never longer than its source, so
// one block as long as the rest of the document holds this and all later decoded strings.
bool JsonLexer::decoded_string(size_t start, std::string_view& out) {
  if (decoded_ == nullptr) {
    decoded_ = decoded_end_ = arena_.allocate_array<char>(text_.size() - start);
    if (decoded_ == nullptr) return fail(json_reason::kNoMemory, start);
  }
  char* const begin = decoded_end_;
  char* end = begin;
  for (char c : text_.substr(start, pos_ - start)) *end++ = c;
  for (;;) {
    const char c = peek();
    if (c == '"') break;
    if (c == '\\') {
      if (!escape(end)) return false;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      return fail(c == '\0' ? kMissQuote : kBadEscape, pos_);
    } else {
      *end++ = c;
      ++pos_;
    }
  }
  ++pos_;
  decoded_end_ = end;
  out = {begin, static_cast<size_t>(end - begin)};
  return true;
}

bool JsonLexer::escape(char*& out) {
  const size_t offset = pos_++;
  const char c = peek();
  if (const char plain = simple_escape(c)) {
    *out++ = plain;
    ++pos_;
    return true;
  }
  if (!take('u')) return fail(kBadEscape, offset);
  uint32_t code = 0;
  if (!hex4(offset, code)) return false;
  if (code >= 0xdc00 && code <= 0xdfff) return fail(kBadSurrogate, offset);
  if (code >= 0xd800 && code <= 0xdbff) {
    if (!take('\\') || !take('u')) return fail(kBadSurrogate, offset);
    uint32_t low = 0;
    if (!hex4(offset, low)) return false;
    if (low < 0xdc00 || low > 0xdfff) return fail(kBadSurrogate, offset);
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  out = encode_utf8(out, code);
  return true;
}

bool JsonLexer::hex4(size_t escape_offset, uint32_t& code) {
  code = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned digit = hex_digit(peek());
    if (digit == 16) return fail(kBadHex, escape_offset);
    code = code * 16 + digit;
    ++pos_;
  }
  return true;
}

void JsonLexer::finish() {
  if (decoded_ == nullptr) return;
  arena_.shrink_last(decoded_, static_cast<size_t>(decoded_end_ - decoded_));
}

}  // namespace serval
