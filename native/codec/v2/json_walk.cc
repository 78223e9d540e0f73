// Walks over V2 JSON and checks it, with its own error texts (V2 clients do not depend on
// upstream's). Hot path; any thread.
#include "codec/v2/json_walk.h"

#include <bit>
#include <charconv>
#include <cstring>

#include "base/bytes/utf8.h"
#include "base/cpu/cpu.h"

namespace serval::v2 {

namespace {

constexpr size_t kStructureDepth = 3;  // {"inputs": [ {"data": [

std::string at_byte(size_t position) {
  return "malformed JSON at byte " + std::to_string(position) + ": ";
}

// The token that was expected; empty if the reason says it.
std::string_view expected_by(std::string_view reason) {
  using namespace json_reason;
  if (reason == kInvalidValue || reason == kEmptyDocument) return "a value";
  if (reason == kMissName) return "a member's name in quotes";
  if (reason == kMissColon) return "':'";
  if (reason == kMissCurly) return "',' or '}'";
  if (reason == kMissSquare) return "',' or ']'";
  return reason == kTextBehind ? "the end of the text" : "";
}

Error json_error(std::string_view text, std::string_view reason, size_t offset,
                 const JsonRules& rules) {
  if (reason == json_reason::kTooDeep) {
    return malformed_body(at_byte(offset) + "nested more than " + std::to_string(rules.depth_max) +
                          " levels deep");
  }
  const std::string_view expected = expected_by(reason);
  if (expected.empty()) {
    if (reason.ends_with('.')) reason.remove_suffix(1);
    return malformed_body(at_byte(offset) + std::string(reason));
  }
  const std::string front = at_byte(offset) + "expected " + std::string(expected) + ", got ";
  if (offset >= text.size()) return malformed_body(front + "the end of the text");
  const auto c = static_cast<unsigned char>(text[offset]);
  if (c > 0x20 && c < 0x7f) return malformed_body(front + "'" + text[offset] + "'");
  return malformed_body(front + "byte " + std::to_string(c));
}

// Offset of the first byte that is not part of valid UTF-8.
size_t first_bad_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    size_t length = 1;
    while (length <= 4 && !is_valid_utf8(text.substr(at, length))) ++length;
    if (length > 4) return at;
    at += length;
  }
  return at;
}

// Returns the byte after the string at `p` (its quotation mark), with or without escapes; nullptr
// if it does not end. Counts every run of backslashes once: linear.
const char* behind_string(const char* p, const char* end) {
  const char* const first = ++p;
  for (;;) {
    p = static_cast<const char*>(std::memchr(p, '"', static_cast<size_t>(end - p)));
    if (p == nullptr) return nullptr;
    const char* slash = p;
    while (slash != first && slash[-1] == '\\') --slash;
    ++p;
    if ((p - slash) % 2 == 1) return p;
  }
}

// Returns the byte after the list or object at `p`; nullptr if it does not end. The decoder checks
// that brackets match in kind.
const char* behind_brackets(const char* p, const char* end) {
  size_t depth = 0;
  while (p < end) {
    // [ ] { } are equal in these bits
    uint32_t mask = cpu::marks_and_quotes<static_cast<uint8_t>(~0x26), '['>(p);
    const char* next = p + 32;
    for (; mask != 0; mask &= mask - 1) {
      const char* at = p + std::countr_zero(mask);
      if (at >= end) return nullptr;
      if (*at == '[' || *at == '{') {
        ++depth;
      } else if (*at == ']' || *at == '}') {
        if (--depth == 0) return at + 1;
      } else if (*at == '"') {
        next = behind_string(at, end);
        if (next == nullptr) return nullptr;
        break;
      }
    }
    p = next;
  }
  return nullptr;
}

}  // namespace

Status check_json(std::string_view text, uint32_t depth_max, Arena& arena) {
  if (!is_valid_utf8(text)) {
    return malformed_body(at_byte(first_bad_utf8(text)) + "expected UTF-8, got an invalid byte");
  }
  return parse_json(text, arena, {json_error, size_t{depth_max} + kStructureDepth, true}, nullptr);
}

std::string_view json_root(std::string_view text) {
  const char* const end = text.data() + text.size();
  const char* p = skip_blanks(text.data() + (text.starts_with("\xEF\xBB\xBF") ? 3 : 0), end);
  return {p, static_cast<size_t>(end - p)};
}

JsonKind kind_of(std::string_view value) {
  switch (value[0]) {
    case '{': return JsonKind::Object;
    case '[': return JsonKind::Array;
    case '"': return JsonKind::String;
    case 't': return JsonKind::True;
    case 'f': return JsonKind::False;
    case 'n': return JsonKind::Null;
    default: return JsonKind::Number;
  }
}

const char* behind_value(const char* p, const char* end) {
  if (p >= end) return nullptr;
  if (*p == '"') return behind_string(p, end);
  if (*p == '[' || *p == '{') return behind_brackets(p, end);
  while (p < end && *p != ',' && *p != '}' && *p != ']' && !is_blank(*p)) ++p;
  return p < end ? p : nullptr;
}

bool JsonItems::next() {
  p_ = skip_blanks(p_, end_);
  if (!value_.empty()) {
    if (p_ >= end_ || *p_ != ',') return false;
    p_ = skip_blanks(p_ + 1, end_);
  }
  if (object_) {
    if (p_ >= end_ || *p_ != '"') return false;
    const char* const stop = behind_string(p_, end_);
    if (stop == nullptr) return false;
    key_ = {p_ + 1, static_cast<size_t>(stop - p_ - 2)};
    p_ = skip_blanks(stop, end_);
    if (p_ >= end_ || *p_ != ':') return false;
    p_ = skip_blanks(p_ + 1, end_);
  }
  const char* const stop = behind_value(p_, end_);
  if (stop == nullptr || stop == p_) return false;
  value_ = {p_, static_cast<size_t>(stop - p_)};
  p_ = stop;
  return true;
}

bool JsonItems::is(std::string_view name) const {
  std::string_view written = key_;
  for (const char letter : name) {
    if (written.starts_with(letter)) {
      written.remove_prefix(1);
      continue;
    }
    constexpr size_t kEscapeBytes = 6;
    if (!written.starts_with("\\u00") || written.size() < kEscapeBytes) return false;
    const char* const stop = written.data() + kEscapeBytes;
    unsigned code = 0;
    const auto read = std::from_chars(written.data() + 4, stop, code, 16);
    if (read.ptr != stop || code != static_cast<unsigned>(letter)) return false;
    written.remove_prefix(kEscapeBytes);
  }
  return written.empty();
}

bool string_of(std::string_view value, Arena& arena, std::string_view& out) {
  JsonLexer lexer(value, arena);
  const bool ok = lexer.string(out);
  lexer.finish();
  return ok;
}

}  // namespace serval::v2
