// Reader of the JSON dialect that TensorFlow Serving accepts (RapidJSON with NaN and Infinity),
// iterative, with byte offsets: the slow, plain reader that finds what is wrong with a document and
// words it as the protocol does. Used only for requests that a fast decoder rejected, and for those
// without a fast decoder. Any thread. Borrows the text.
//
// Dialect (Source: tfserving.md 1.4): UTF-8 byte order mark accepted; no comments, no trailing
// commas; tokens NaN, -NaN, Infinity, -Infinity, Inf, -Inf; +1 .5 5. 01 rejected; 1e309 is an error
// ("Number too big to be stored in double."), 1e-400 is 0; integers wider than 64 bits are doubles;
// -0 is integer zero, -0.0 keeps its sign; raw control characters in strings rejected; \u0000 kept;
// lone surrogates rejected; invalid UTF-8 passes through (a caller that needs text checks it).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/bytes/counted_bytes.h"
#include "base/error.h"

namespace serval {

enum class JsonKind : uint8_t { Null, True, False, Number, String, Object, Array };

// RapidJSON's name of a kind as TensorFlow Serving's texts use it: "Null", "True", ...
std::string_view json_kind_name(JsonKind kind);

// A number keeps the form of its text: an integer in the 64-bit ranges is exact, otherwise it is a
// double.
struct JsonNumber {
  enum class Form : uint8_t { Int64, Uint64, Double };  // Uint64 only above int64's range
  Form form = Form::Int64;
  int64_t i64 = 0;
  uint64_t u64 = 0;
  double f64 = 0;  // always set: the correctly rounded value

  // False: not an integer in T's range; `out` is unchanged.
  template <typename T>
  bool to_integer(T& out) const {
    const bool fits = form == Form::Int64    ? std::in_range<T>(i64)
                      : form == Form::Uint64 ? std::in_range<T>(u64)
                                             : false;
    if (fits) out = static_cast<T>(form == Form::Uint64 ? u64 : static_cast<uint64_t>(i64));
    return fits;
  }
};

// A node of the parsed document. Children are linked, so that a document of any depth needs no
// recursion and one allocation per array growth.
struct JsonNode {
  JsonKind kind = JsonKind::Null;
  uint32_t next = 0;         // next sibling, 0 = none
  uint32_t first_child = 0;  // for an array or object, 0 = none
  uint32_t children = 0;     // array elements or object members
  size_t begin = 0;          // byte range of the value's text in the body
  size_t end = 0;
  std::string_view key;   // member name, decoded (objects' children)
  std::string_view text;  // decoded string value
  JsonNumber number;
};

// The whole document as nodes; node 0 is the root. `end_offset`: the end of the root value.
struct JsonDocument {
  std::vector<JsonNode> nodes;
  CountedBytes counted;  // accounts for the nodes' memory in the arena's budget
  size_t end_offset = 0;

  const JsonNode& root() const { return nodes[0]; }
  // First member called `name`, or nullptr. Source: tfserving.md 1.4 "first wins".
  const JsonNode* member(const JsonNode& object, std::string_view name) const;
  const JsonNode* child(const JsonNode& parent) const {
    return parent.first_child ? &nodes[parent.first_child] : nullptr;
  }
  const JsonNode* sibling(const JsonNode& node) const {
    return node.next ? &nodes[node.next] : nullptr;
  }
};

// Protocol-specific rules for reading a document.
struct JsonRules {
  // Words `reason` (of json_reason) at `offset`.
  Error (*error)(std::string_view text, std::string_view reason, size_t offset,
                 const JsonRules& rules);
  size_t depth_max = SIZE_MAX;  // nesting of lists and objects; by default limited by memory only
  bool whole = false;           // only blanks may follow the root value
};

// Parses `text` into `out`; null only checks it. Strings with escapes are decoded into `arena`,
// others are views of `text`.
// Errors: what rules.error makes of the first fault; body_too_large beyond kJsonNodesMax nodes (a
// node takes about 100 bytes); memory_full.
Status parse_json(std::string_view text, Arena& arena, const JsonRules& rules, JsonDocument* out);

}  // namespace serval
