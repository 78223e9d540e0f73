// JSON steps for the decoders of tabular requests: strict about everything they read, so that a
// text read to its end is JSON. A step that returns nullptr found something else; whether that is
// malformed JSON or a value of the wrong kind is determined later, when the error is worded. Hot
// path; pure, any thread. Borrows the text; kBodyPadding bytes after its end can be read.
#pragma once

#include <string>

#include "codec/json/cursor.h"
#include "codec/json/number.h"
#include "codec/table/parameters.h"
#include "codec/v2/json_walk.h"

namespace serval::table {

// Reads a string, with quotation marks, at `p` and decodes it; in `arena` if it has escapes.
const char* read_text(const char* p, const char* end, Arena& arena, std::string_view& out);

// Skips a value; sets `unchecked` if only its brackets were matched.
const char* pass_value(const char* p, FastBody& body, bool& unchecked);

// Returns the byte after a literal; nullptr if the text differs.
const char* read_word(const char* p, const char* end, std::string_view word);

// Reads true, false, a number or a string at `p` as a parameter's value. Others: Kind::Other.
const char* read_parameter(const char* p, FastBody& body, ParameterValue& out, bool& unchecked);

// Whether a character may follow a number.
inline bool ends_number(char c) {
  return c == ',' || c == ']' || c == '}' || is_blank(c) || c == '\0';
}

// Calls visit(p) at each element of the list at `p`; visit returns the byte after the element.
template <typename Visit>
const char* each_item(const char* p, const char* end, Visit visit) {
  if (p >= end || *p != '[') return nullptr;
  p = skip_blanks(p + 1, end);
  if (p < end && *p == ']') return p + 1;
  for (;;) {
    if (p >= end) return nullptr;
    p = visit(p);
    if (p == nullptr) return nullptr;
    p = skip_blanks(p, end);
    if (p >= end) return nullptr;
    if (*p == ']') return p + 1;
    if (*p != ',') return nullptr;
    p = skip_blanks(p + 1, end);
  }
}

// Calls visit(key, p) at the value of each member of the object at `p`.
template <typename Visit>
const char* each_entry(const char* p, const char* end, Arena& arena, Visit visit) {
  if (p >= end || *p != '{') return nullptr;
  p = skip_blanks(p + 1, end);
  if (p < end && *p == '}') return p + 1;
  for (;;) {
    std::string_view key;
    if (p >= end) return nullptr;
    p = read_text(p, end, arena, key);
    if (p == nullptr) return nullptr;
    p = skip_blanks(p, end);
    if (p >= end || *p != ':') return nullptr;
    p = skip_blanks(p + 1, end);
    if (p >= end) return nullptr;
    p = visit(key, p);
    if (p == nullptr) return nullptr;
    p = skip_blanks(p, end);
    if (p >= end) return nullptr;
    if (*p == '}') return p + 1;
    if (*p != ',') return nullptr;
    p = skip_blanks(p + 1, end);
  }
}

}  // namespace serval::table
