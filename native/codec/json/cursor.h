// Small steps of the fast JSON decoders over a body: blanks, strings, values to skip. Hot path;
// pure, any thread. Borrows the body; the kBodyPadding bytes after `end` can be read and may hold
// anything. A step may stop after the end, so callers compare before they trust the result, once
// per element. A step that returns nullptr rejected the body; the plain reader finds the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/buffer.h"
#include "codec/json/lexer.h"

namespace serval {

// The input of a fast decoder.
struct FastBody {
  FastBody(std::string_view text, Arena& memory)
      : begin(text.data()), end(text.data() + text.size()), arena(memory), lexer(text, memory) {}

  const char* begin;
  const char* end;
  Arena& arena;
  JsonLexer lexer;               // for strings with escapes
  const void* latest = nullptr;  // the arena's last allocation, if a decoder made it
};

inline bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

inline const char* skip_blanks(const char* p, const char* end) {
  while (is_blank(*p) && p < end) ++p;
  return p;
}

// Reads the string at `p` (its quotation mark) if it has no escapes; returns the byte after it.
const char* read_plain_string(const char* p, const char* end, std::string_view& out);

// Reads any string; escapes are decoded into the arena.
const char* read_string(const char* p, FastBody& body, std::string_view& out);

// Calls visit(key, p) at each member's value; visit returns the byte after the value. Looks at no
// byte after the end, because objects may be nested.
template <typename Visit>
const char* each_member(const char* p, FastBody& body, Visit visit) {
  if (*p != '{') return nullptr;
  p = skip_blanks(p + 1, body.end);
  if (p < body.end && *p == '}') return p + 1;
  for (;;) {
    std::string_view key;
    if (p >= body.end) return nullptr;
    p = read_plain_string(p, body.end, key);
    if (p == nullptr) return nullptr;
    p = skip_blanks(p, body.end);
    if (*p != ':') return nullptr;
    p = skip_blanks(p + 1, body.end);
    if (p >= body.end) return nullptr;
    p = visit(key, p);
    if (p == nullptr) return nullptr;
    p = skip_blanks(p, body.end);
    if (p >= body.end) return nullptr;
    if (*p == '}') return p + 1;
    if (*p != ',') return nullptr;
    p = skip_blanks(p + 1, body.end);
  }
}

// {"b64": "..."}: `p` is at the bracket. is_base64_front: a key `b64` whose value is a string.
bool is_base64_front(const char* p, const char* end);
const char* read_base64_object(const char* p, FastBody& body, std::string_view& out);

// Checks and skips a value of any kind. Rejects nesting over 64.
const char* skip_value(const char* p, FastBody& body, int depth = 0);

}  // namespace serval
