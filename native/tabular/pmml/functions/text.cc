// PMML's functions of text. Positions and lengths count UTF-16 units, as Java's do. Hot path,
// any thread. Source: tabular.md 3.3
#include <algorithm>

#include "base/unicode/letters.h"
#include "tabular/pmml/functions/functions.h"
#include "tabular/pmml/functions/regex.h"

namespace serval::tabular::pmml {
namespace {

constexpr size_t kReplacedBytesMax = 64 << 20;

size_t bytes_of(unsigned char first) {
  return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

Value changed_case(Eval& eval, const Value& value, const char* name, bool upper) {
  if (value.missing()) return fail_missing(eval, name);
  const std::string text = text_of(eval, cast(eval, value, Type::String));
  if (eval.failed()) return {};
  std::string changed;
  if (upper) append_upper_case(text, changed);
  else append_lower_case(text, changed);
  return eval.of_text(changed);
}

Value uppercase(Eval& eval, std::span<const Value> arguments, const void*) {
  return changed_case(eval, arguments[0], "uppercase", true);
}
Value lowercase(Eval& eval, std::span<const Value> arguments, const void*) {
  return changed_case(eval, arguments[0], "lowercase", false);
}

Value trim_blanks(Eval& eval, std::span<const Value> arguments, const void*) {
  if (arguments[0].missing()) return fail_missing(eval, "trimBlanks");
  const std::string whole = text_of(eval, cast(eval, arguments[0], Type::String));
  if (eval.failed()) return {};
  std::string_view text = whole;
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return eval.of_text(text);
}

Value string_length(Eval& eval, std::span<const Value> arguments, const void*) {
  if (arguments[0].missing()) return fail_missing(eval, "stringLength");
  const std::string text = text_of(eval, cast(eval, arguments[0], Type::String));
  if (eval.failed()) return {};
  return Value::of_integer(static_cast<int64_t>(utf16_length(text)), Type::Int32);
}

// The byte offset after `units` UTF-16 units, at most the text's end. npos: inside a character of
// two units.
size_t byte_at(std::string_view text, int64_t units) {
  size_t at = 0;
  while (at < text.size() && units > 0) {
    const size_t bytes = bytes_of(static_cast<unsigned char>(text[at]));
    units -= bytes == 4 ? 2 : 1;
    at += bytes;
  }
  return units < 0 ? std::string_view::npos : std::min(at, text.size());
}

Value substring(Eval& eval, std::span<const Value> arguments, const void*) {
  for (const Value& each : arguments) {
    if (each.missing()) return fail_missing(eval, "substring");
  }
  const std::string text = text_of(eval, cast(eval, arguments[0], Type::String));
  const Value position = cast(eval, arguments[1], Type::Int32);
  const Value length = cast(eval, arguments[2], Type::Int32);
  if (eval.failed()) return {};
  if (position.integer < 1 || length.integer < 0) {
    return eval.fail("function substring: position " + std::to_string(position.integer) +
                     " and length " + std::to_string(length.integer) +
                     ": expected a position of 1 or more and a length of 0 or more");
  }
  const size_t begin = byte_at(text, position.integer - 1);
  if (begin == std::string_view::npos) return eval.fail("function substring cuts a character");
  const std::string_view rest = std::string_view(text).substr(begin);
  const size_t end = byte_at(rest, length.integer);
  if (end == std::string_view::npos) return eval.fail("function substring cuts a character");
  return eval.of_text(rest.substr(0, end));
}

// Skips missing arguments.
Value concat(Eval& eval, std::span<const Value> arguments, const void*) {
  std::string made;
  for (const Value& each : arguments) {
    if (each.missing()) continue;
    const Value text = cast(eval, each, Type::String);
    if (eval.failed()) return {};
    made += eval.text(text);
  }
  return eval.of_text(made);
}

// Compiles a constant regular expression; null if it is not constant.
Result<std::shared_ptr<const void>> prepare_regex(std::span<const Value* const> constants,
                                                  const Dictionary& dictionary) {
  if (constants.size() < 2 || constants[1] == nullptr || constants[1]->missing() ||
      !is_text(constants[1]->type)) {
    return std::shared_ptr<const void>();
  }
  auto regex = compile_regex(dictionary.text(constants[1]->text));
  if (!regex.ok()) return std::move(regex.error());
  return std::shared_ptr<const void>(std::move(regex.value()));
}

// The prepared one, or one made for this value.
const JavaRegex* regex_of(Eval& eval, const Value& pattern, const void* state,
                          std::shared_ptr<const JavaRegex>& kept) {
  if (state != nullptr) return static_cast<const JavaRegex*>(state);
  auto made = compile_regex(text_of(eval, pattern));
  if (!made.ok()) {
    eval.fail(made.error().message);
    return nullptr;
  }
  kept = std::move(made.value());
  return kept.get();
}

Value replace(Eval& eval, std::span<const Value> arguments, const void* state) {
  for (const Value& each : arguments) {
    if (each.missing()) return fail_missing(eval, "replace");
  }
  std::string text = text_of(eval, cast(eval, arguments[0], Type::String));
  if (eval.failed()) return {};
  std::shared_ptr<const JavaRegex> kept;
  const JavaRegex* regex = regex_of(eval, arguments[1], state, kept);
  if (regex == nullptr) return {};
  auto replacement = JavaReplacement::parse(text_of(eval, arguments[2]), *regex);
  if (!replacement.ok()) return eval.fail(replacement.error().message);
  std::string made;
  switch (replacement.value().replace_all(*regex, text, made, kReplacedBytesMax)) {
    case JavaReplacement::Done::All: break;
    case JavaReplacement::Done::TooLong: return eval.fail(JavaRegex::too_long());
    case JavaReplacement::Done::TooLarge: return eval.fail("the result of replace is too long");
  }
  return eval.of_text(made);
}

Value matches(Eval& eval, std::span<const Value> arguments, const void* state) {
  for (const Value& each : arguments) {
    if (each.missing()) return fail_missing(eval, "matches");
  }
  const std::string text = text_of(eval, cast(eval, arguments[0], Type::String));
  if (eval.failed()) return {};
  std::shared_ptr<const JavaRegex> kept;
  const JavaRegex* regex = regex_of(eval, arguments[1], state, kept);
  if (regex == nullptr) return {};
  RegexRun run;
  const RegexFound found = regex->find(text, run);
  if (found == RegexFound::TooLong) return eval.fail(JavaRegex::too_long());
  return Value::of_bool(found == RegexFound::Yes);
}

constexpr Function kTextFunctions[] = {
    {fn::pmml_uppercase, uppercase, nullptr, nullptr, true},
    {fn::pmml_lowercase, lowercase, nullptr, nullptr, true},
    {fn::pmml_trimBlanks, trim_blanks, nullptr, nullptr, true},
    {fn::pmml_stringLength, string_length, nullptr, nullptr, true},
    {fn::pmml_substring, substring, nullptr, nullptr, true},
    {fn::pmml_concat, concat, nullptr, nullptr, true},
    {fn::pmml_replace, replace, nullptr, prepare_regex, true},
    {fn::pmml_matches, matches, nullptr, prepare_regex, true},
};

}  // namespace

std::span<const Function> text_functions() { return kTextFunctions; }

}  // namespace serval::tabular::pmml
