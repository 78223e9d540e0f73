// JSON as Spark's functions read and write it. Pure; any thread.
// Source: Jackson's parser with Spark's options: single quotes and control characters are taken.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace serval::tabular::sql {

struct Json {
  enum class Kind : uint8_t { Null, False, True, Integer, Real, Text, Array, Object };
  Kind kind = Kind::Null;
  std::string text;               // of numbers as written, of texts without escapes
  std::vector<Json> items;        // of an array; of an object its values
  std::vector<std::string> keys;  // of an object
};

// None: it is no JSON document, or nests deeper than 1000. What follows the first value does not
// count.
std::optional<Json> read_json(std::string_view text);
// Without blanks; numbers with a fraction as Java's Double writes them.
void write_json(const Json& value, std::string& out);
// With quotation marks and escapes.
void write_json_text(std::string_view text, std::string& out);

}  // namespace serval::tabular::sql
