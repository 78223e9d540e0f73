// Arrays and counts of what regular expressions match. Patterns are constants, compiled at load.
// Hot path; any thread.
// Source: Spark's regexpExpressions.scala and UTF8String.split().
#include <algorithm>

#include "base/unicode/letters.h"
#include "tabular/java/regex.h"
#include "tabular/sql/composite/items.h"
#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

using Prepared = Result<std::shared_ptr<const void>>;

struct Pattern {
  explicit Pattern(JavaRegex of) : regex(std::move(of)) {}
  JavaRegex regex;
  bool empty = false;
};

Error invalid(std::string what) { return make_error(ErrorCode::ModelInvalid, std::move(what)); }

// The pattern in argument `kIndex`, or `by_default` where there are fewer arguments.
Result<std::shared_ptr<Pattern>> compiled(std::span<const Value* const> constants, size_t index,
                                          const Dictionary& dictionary,
                                          std::string_view by_default = {}) {
  std::string_view text = by_default;
  if (index < constants.size()) {
    const Value* value = constants[index];
    if (value == nullptr || value->type != Type::String || !value->valid()) {
      return invalid("expected a constant regular expression");
    }
    text = dictionary.text(value->text);
  }
  auto made = JavaRegex::compile(text);
  if (!made.ok()) return std::move(made.error());
  auto pattern = std::make_shared<Pattern>(std::move(made.value()));
  pattern->empty = text.empty();
  return pattern;
}

Prepared prepare(std::span<const Value* const> constants, const Dictionary& dictionary) {
  auto made = compiled(constants, 1, dictionary);
  if (!made.ok()) return std::move(made.error());
  return std::shared_ptr<const void>(std::move(made.value()));
}

bool text_argument(Eval& eval, std::string_view function, Arguments arguments,
                   std::string_view& text) {
  const Value value = argument(eval, function, arguments, 0, kString);
  if (value.valid()) text = eval.text(value);
  return value.valid() && !eval.failed();
}

// The next match; false after eval.failed() too.
bool finds(Eval& eval, const Pattern& pattern, std::string_view text, RegexRun& run) {
  const RegexFound found = pattern.regex.find(text, run);
  if (found == RegexFound::TooLong) eval.fail(JavaRegex::too_long());
  return found == RegexFound::Yes;
}

Value characters_of(Eval& eval, std::string_view text, int64_t limit) {
  std::vector<Value> items;
  while (!text.empty() && (limit <= 0 || static_cast<int64_t>(items.size()) < limit)) {
    const size_t bytes = front_character(text).bytes;
    items.push_back(eval.of_text(text.substr(0, bytes)));
    text.remove_prefix(bytes);
  }
  return of_items(eval, array_of(kString), std::move(items));
}

// The parts between matches, at most `limit` if it is above 0. An empty match at the front splits
// nothing.
std::vector<Value> parts_of(Eval& eval, const Pattern& pattern, std::string_view text,
                            int64_t limit) {
  std::vector<Value> items;
  size_t kept = 0;
  RegexRun run;
  while ((limit <= 0 || static_cast<int64_t>(items.size()) + 1 < limit) &&
         finds(eval, pattern, text, run)) {
    const auto [begin, end] = run.match();
    if (begin == end && begin == 0) continue;
    if (begin == end && begin == text.size() && kept == text.size()) continue;
    items.push_back(eval.of_text(text.substr(kept, begin - kept)));
    kept = end;
  }
  items.push_back(eval.of_text(text.substr(kept)));
  return items;
}

Value split(Eval& eval, Arguments arguments, const void* state) {
  const auto& pattern = *static_cast<const Pattern*>(state);
  std::string_view text;
  int64_t limit = -1;
  bool valid = text_argument(eval, "split", arguments, text);
  if (arguments.size() > 2) {
    const Value given = argument(eval, "split", arguments, 2, kInt32);
    valid = valid && given.valid();
    limit = given.integer;
  }
  if (!valid) return missing_of(array_of(kString));
  if (pattern.empty && !text.empty()) return characters_of(eval, text, limit);
  return of_items(eval, array_of(kString), parts_of(eval, pattern, text, limit));
}

// A group of all matches; one that took no part is an empty text.
Value regexp_extract_all(Eval& eval, Arguments arguments, const void* state) {
  const auto& pattern = *static_cast<const Pattern*>(state);
  constexpr std::string_view kName = "regexp_extract_all";
  std::string_view text;
  int64_t group = 1;
  bool valid = text_argument(eval, kName, arguments, text);
  if (arguments.size() > 2) {
    const Value given = argument(eval, kName, arguments, 2, kInt32);
    valid = valid && given.valid();
    group = given.integer;
  }
  if (!valid) return missing_of(array_of(kString));
  std::vector<Value> items;
  RegexRun run;
  while (finds(eval, pattern, text, run)) {
    if (group < 0 || group > pattern.regex.groups()) {
      return eval.fail("regexp_extract_all(): argument 3: there is no group " +
                       std::to_string(group));
    }
    const auto found = run.group(static_cast<int>(group));
    items.push_back(eval.of_text(found ? text.substr(found->begin, found->end - found->begin)
                                       : std::string_view()));
  }
  return of_items(eval, array_of(kString), std::move(items));
}

Value regexp_count(Eval& eval, Arguments arguments, const void* state) {
  const auto& pattern = *static_cast<const Pattern*>(state);
  std::string_view text;
  if (!text_argument(eval, "regexp_count", arguments, text)) return missing_of(kInt32);
  int64_t count = 0;
  RegexRun run;
  while (finds(eval, pattern, text, run)) ++count;
  return Value::of_integer(count, Type::Int32);
}

// Position of the first match from 1, in Java's characters; 0: no match.
Value regexp_instr(Eval& eval, Arguments arguments, const void* state) {
  const auto& pattern = *static_cast<const Pattern*>(state);
  std::string_view text;
  bool valid = text_argument(eval, "regexp_instr", arguments, text);
  if (arguments.size() > 2) {
    valid = argument(eval, "regexp_instr", arguments, 2, kInt32).valid() && valid;
  }
  if (!valid) return missing_of(kInt32);
  RegexRun run;
  if (!finds(eval, pattern, text, run)) return Value::of_integer(0, Type::Int32);
  const size_t before = utf16_length(text.substr(0, run.match().begin));
  return Value::of_integer(static_cast<int64_t>(before) + 1, Type::Int32);
}

// The first match; NULL if there is none, or it is empty.
Value regexp_substr(Eval& eval, Arguments arguments, const void* state) {
  const auto& pattern = *static_cast<const Pattern*>(state);
  std::string_view text;
  if (!text_argument(eval, "regexp_substr", arguments, text)) return missing_of(kString);
  RegexRun run;
  if (!finds(eval, pattern, text, run)) return missing_of(kString);
  const auto [begin, end] = run.match();
  return begin == end ? missing_of(kString) : text_value(eval, text.substr(begin, end - begin));
}

// str_to_map(text[, between pairs[, between key and value]])
struct MapPatterns {
  std::shared_ptr<Pattern> pairs, keys;
};

Prepared prepare_map(std::span<const Value* const> constants, const Dictionary& dictionary) {
  auto pairs = compiled(constants, 1, dictionary, ",");
  auto keys = compiled(constants, 2, dictionary, ":");
  if (!pairs.ok()) return std::move(pairs.error());
  if (!keys.ok()) return std::move(keys.error());
  auto made = std::make_shared<MapPatterns>();
  made->pairs = std::move(pairs.value());
  made->keys = std::move(keys.value());
  return std::shared_ptr<const void>(std::move(made));
}

Value str_to_map(Eval& eval, Arguments arguments, const void* state) {
  const auto& patterns = *static_cast<const MapPatterns*>(state);
  const SqlType type = map_of(kString, kString);
  std::string_view text;
  if (!text_argument(eval, "str_to_map", arguments, text)) return missing_of(type);
  std::vector<Value> items;
  for (const Value& pair : parts_of(eval, *patterns.pairs, text, -1)) {
    const auto parts = parts_of(eval, *patterns.keys, eval.text(pair), 2);
    if (eval.failed()) return missing_of(type);
    items.push_back(parts[0]);
    items.push_back(parts.size() > 1 ? parts[1] : missing_of(kString));
  }
  return of_pairs(eval, "str_to_map", type, std::move(items));
}

constexpr Function kRegexesFunctions[] = {
    function(fn::sql_split, split, prepare),
    function(fn::sql_regexp_extract_all, regexp_extract_all, prepare),
    function(fn::sql_regexp_count, regexp_count, prepare),
    function(fn::sql_regexp_instr, regexp_instr, prepare),
    function(fn::sql_regexp_substr, regexp_substr, prepare),
    function(fn::sql_str_to_map, str_to_map, prepare_map),
};

}  // namespace

std::span<const Function> regex_functions() { return kRegexesFunctions; }

}  // namespace serval::tabular::sql
