// Checking and walking V2 JSON for the plain decoder. Only requests that the fast decoder turned
// down come here; any thread. Borrows the text. Nothing recurses; memory is bounded by the text's
// size.
// Source: v2-protocol.md 1.1 "malformed or truncated JSON": 400.
#pragma once

#include <string>
#include <string_view>

#include "codec/json/lexer.h"

namespace serval::v2 {

// The whole text is one JSON value, nested at most depth_max + 3 levels (so that tensor data, which
// begins at the fourth, may be nested depth_max levels), with blanks around it only, in valid
// UTF-8.
// Errors: malformed_body ("malformed JSON at byte N: expected ..., got ...").
Status check_json(std::string_view text, uint32_t depth_max, Arena& arena);

// Where the root value begins.
size_t json_start(std::string_view text);

// The functions below take text that check_json() accepted, and positions of values in it.

JsonKind kind_at(std::string_view text, size_t at);

// The byte behind the value.
size_t value_end(std::string_view text, size_t at);

// The first byte at or behind `at` that is no blank.
size_t behind_blanks(std::string_view text, size_t at);

// The value's own text.
inline std::string_view value_text(std::string_view text, size_t at) {
  return text.substr(at, value_end(text, at) - at);
}

// False when memory is out. `out` is a view of the text, or of the arena where it has escapes.
bool string_at(std::string_view text, size_t at, Arena& arena, std::string_view& out);

// Calls visit(key, position of the value) for each member; stops at the first error.
template <typename Visit>
Status each_member(std::string_view text, size_t at, Arena& arena, Visit visit) {
  // A lexer of its own, over this object only, decodes keys that have escapes.
  const std::string_view object = value_text(text, at);
  JsonLexer keys(object, arena);
  size_t position = behind_blanks(object, 1);
  while (object[position] != '}') {
    std::string_view key;
    keys.seek(position);
    if (!keys.string(key)) return make_error(ErrorCode::Internal, "no memory for a member's name");
    const size_t value = behind_blanks(object, behind_blanks(object, keys.position()) + 1);
    if (Status status = visit(key, at + value); !status.ok()) return status;
    position = behind_blanks(object, value_end(object, value));
    if (object[position] == ',') position = behind_blanks(object, position + 1);
  }
  return {};
}

// Calls visit(index, position) for each element of a list; stops at the first error.
template <typename Visit>
Status each_element(std::string_view text, size_t at, Visit visit) {
  size_t position = behind_blanks(text, at + 1);
  for (size_t index = 0; text[position] != ']'; ++index) {
    if (Status status = visit(index, position); !status.ok()) return status;
    position = behind_blanks(text, value_end(text, position));
    if (text[position] == ',') position = behind_blanks(text, position + 1);
  }
  return {};
}

// Calls visit(index, text) for each value in nested lists that is no list itself.
template <typename Visit>
Status each_leaf(std::string_view list, Visit visit) {
  size_t depth = 0;
  uint64_t index = 0;
  size_t position = 0;
  do {
    const char c = list[position];
    if (c == '[') {
      ++depth;
      ++position;
    } else if (c == ']') {
      --depth;
      ++position;
    } else if (c == ',') {
      ++position;
    } else {
      const std::string_view text = value_text(list, position);
      if (Status status = visit(index++, text); !status.ok()) return status;
      position += text.size();
    }
    position = behind_blanks(list, position);
  } while (depth != 0);
  return {};
}

}  // namespace serval::v2
