// Walks over V2 JSON: finds members and elements by quotes and brackets, 32 bytes at a time; their
// values are views of the text. Used by the peek, which checks nothing, and the plain decoder,
// which has called check_json() before. Hot path; any thread. Borrows the text; kBodyPadding bytes
// after its end can be read. Nothing recurses, nothing is allocated.
// Source: v2-protocol.md 1.1 "malformed or truncated JSON": 400.
#pragma once

#include <string_view>

#include "codec/json/cursor.h"

namespace serval::v2 {

// Checks that the whole text is one JSON value in valid UTF-8, nested at most depth_max + 3 levels
// (so that tensor data, which begins at the fourth, may be nested depth_max levels), surrounded by
// blanks only.
// Errors: malformed_body ("malformed JSON at byte N: expected ..., got ...").
Status check_json(std::string_view text, uint32_t depth_max, Arena& arena);

// The text from its root value on; empty if there is none.
std::string_view json_root(std::string_view text);

// The kind of a value from its text, which is not empty.
JsonKind kind_of(std::string_view value);

// Returns the byte after the value at `p`, which may be the end; nullptr if the text ends in the
// value or before it. Does not check that brackets match in kind.
const char* behind_value(const char* p, const char* end);

// Iterates over the members of an object, or the elements of a list.
class JsonItems {
 public:
  // `whole`: text that begins with the object or list.
  explicit JsonItems(std::string_view whole)
      : p_(whole.data() + 1), end_(whole.data() + whole.size()), object_(whole[0] == '{') {}

  // False at the end, and if the text is malformed.
  bool next();
  // A member's key as written: with its escapes, without its quotation marks.
  std::string_view key() const { return key_; }
  // Whether the key, with escapes decoded, is `name`, which has letters and underscores only.
  bool is(std::string_view name) const;
  std::string_view value() const { return value_; }

 private:
  const char* p_;
  const char* end_;
  bool object_;
  std::string_view key_;
  std::string_view value_;
};

// Whether a number's text has no fraction and no exponent.
inline bool is_integer_text(std::string_view number) {
  return number.find_first_not_of("-0123456789") == std::string_view::npos;
}

// Decodes the string whose text is `value`. False: out of memory. `out` is a view of the text, or
// of the arena if it has escapes.
bool string_of(std::string_view value, Arena& arena, std::string_view& out);

// Calls visit(index, text) for each value in nested lists that is not a list itself; for a text
// that has not passed check_json() the visited values are undefined. Stops at the first error, and
// at the end.
template <typename Visit>
Status each_leaf(std::string_view list, Visit visit) {
  const char* p = list.data();
  const char* const end = p + list.size();
  size_t depth = 0;
  uint64_t index = 0;
  do {
    if (*p == '[' || *p == ']' || *p == ',') {
      depth += *p == '[';
      depth -= *p == ']';
      ++p;
    } else {
      const char* stop = behind_value(p, end);
      // Handles a value without a list around it, or a missing value.
      if (stop == nullptr || stop == p) stop = end;
      const std::string_view text(p, static_cast<size_t>(stop - p));
      if (Status status = visit(index++, text); !status.ok()) return status;
      p = stop;
    }
    p = skip_blanks(p, end);
  } while (depth != 0 && p < end);
  return {};
}

}  // namespace serval::v2
