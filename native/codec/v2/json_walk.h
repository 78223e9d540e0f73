// The one walk over V2 JSON: members and elements are found in the text by quotes and brackets, 32
// bytes at a time, and their values are views of it. For the peek, which checks nothing, and the
// plain decoder, which has called check_json() before. Hot path; any thread. Borrows the text, of
// which kBodyPadding bytes behind its end can be read. Nothing recurses, nothing is allocated.
// Source: v2-protocol.md 1.1 "malformed or truncated JSON": 400.
#pragma once

#include <string_view>

#include "codec/json/cursor.h"

namespace serval::v2 {

// The whole text is one JSON value, nested at most depth_max + 3 levels (so that tensor data, which
// begins at the fourth, may be nested depth_max levels), with blanks around it only, in valid
// UTF-8.
// Errors: malformed_body ("malformed JSON at byte N: expected ..., got ...").
Status check_json(std::string_view text, uint32_t depth_max, Arena& arena);

// The text from its root value on; empty where there is none.
std::string_view json_root(std::string_view text);

// Of a value's text, which is not empty.
JsonKind kind_of(std::string_view value);

// The byte behind the value at `p`, which may be the end; nullptr where the text ends in the value
// or before it. Which bracket closes which is not looked at.
const char* behind_value(const char* p, const char* end);

// The members of an object, or the elements of a list, one after the other.
class JsonItems {
 public:
  // `whole`: text that begins with the object or list.
  explicit JsonItems(std::string_view whole)
      : p_(whole.data() + 1), end_(whole.data() + whole.size()), object_(whole[0] == '{') {}

  // False at the end, and where the text is malformed.
  bool next();
  // Of a member, as it is written: with its escapes, without its quotation marks.
  std::string_view key() const { return key_; }
  // Whether the key, its escapes decoded, is `name`, which has letters and underscores only.
  bool is(std::string_view name) const;
  std::string_view value() const { return value_; }

 private:
  const char* p_;
  const char* end_;
  bool object_;
  std::string_view key_;
  std::string_view value_;
};

// Of a number's text: without fraction and exponent.
inline bool is_integer_text(std::string_view number) {
  return number.find_first_not_of("-0123456789") == std::string_view::npos;
}

// The string whose text is `value`. False when memory is out. `out` is a view of the text, or of
// the arena where it has escapes.
bool string_of(std::string_view value, Arena& arena, std::string_view& out);

// Calls visit(index, text) for each value in nested lists that is no list itself; what is visited
// of a text that has not passed check_json() is any. Stops at the first error, and at the end.
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
      // A value without a list around it, or no value.
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
