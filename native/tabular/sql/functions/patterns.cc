// LIKE, and Java's regular expressions. Patterns are constants, prepared at load. Hot path; any
// thread. Source: tabular.md 10
#include <optional>
#include <vector>

#include "base/unicode/letters.h"
#include "tabular/java/regex.h"
#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

constexpr size_t kReplacedTextBytesMax = 64 << 20;

using Prepared = Result<std::shared_ptr<const void>>;

Error invalid(std::string what) { return make_error(ErrorCode::ModelInvalid, std::move(what)); }

// The text of a constant argument; empty if it is not a text.
std::optional<std::string> constant_text(std::span<const Value* const> constants, size_t index,
                                         const Dictionary& dictionary) {
  if (index >= constants.size()) return std::nullopt;
  const Value* value = constants[index];
  if (value == nullptr || value->type != Type::String || !value->valid()) return std::nullopt;
  return std::string(dictionary.text(value->text));
}

// A LIKE pattern: texts, and the wildcards before each.
struct LikePattern {
  struct Part {
    size_t skip = 0;       // characters, any
    bool stretch = false;  // and any number more
    std::string text;
  };
  std::vector<Part> parts;  // the last one has no text
};

std::optional<size_t> skip_characters(std::string_view text, size_t at, size_t count) {
  for (; count > 0; --count) {
    if (at >= text.size()) return std::nullopt;
    at += front_character(text.substr(at)).bytes;
  }
  return at;
}

// Matches like a shell pattern: a wildcard grows only as far as the rest needs.
bool matches(const LikePattern& pattern, std::string_view text) {
  size_t part = 0, at = 0;
  std::optional<size_t> retry_part;
  size_t retry_at = 0;
  for (;;) {
    const auto& [skip, stretch, expected] = pattern.parts[part];
    const bool last = part + 1 == pattern.parts.size();
    const auto from = skip_characters(text, at, skip);
    bool fits = from.has_value();
    if (fits && stretch) {
      if (last) return true;
      const size_t found = text.find(expected, *from);
      if (found == std::string_view::npos) return false;
      retry_part = part;
      retry_at = found;
      at = found + expected.size();
      ++part;
      continue;
    }
    if (fits) {
      fits = last ? *from == text.size() : text.substr(*from).starts_with(expected);
      if (fits && last) return true;
    }
    if (fits) {
      at = *from + expected.size();
      ++part;
      continue;
    }
    if (!retry_part) return false;
    // The last wildcard matches one more character.
    part = *retry_part;
    const std::string& wanted = pattern.parts[part].text;
    const size_t next =
        retry_at >= text.size()
            ? std::string_view::npos
            : text.find(wanted, retry_at + front_character(text.substr(retry_at)).bytes);
    if (next == std::string_view::npos) return false;
    retry_at = next;
    at = next + wanted.size();
    ++part;
  }
}

template <bool kIgnoreCase>
Prepared prepare_like(std::span<const Value* const> constants, const Dictionary& dictionary) {
  auto text = constant_text(constants, 1, dictionary);
  if (!text) return invalid("LIKE: expected a constant pattern");
  std::string escape = "\\";
  if (constants.size() > 2) {
    const auto given = constant_text(constants, 2, dictionary);
    if (!given || given->empty() || front_character(*given).bytes != given->size()) {
      return invalid("LIKE: expected one character after ESCAPE");
    }
    escape = *given;
  }
  if (kIgnoreCase) {
    std::string low;
    append_lower_case(*text, low);
    text = low;
  }
  auto made = std::make_shared<LikePattern>();
  made->parts.emplace_back();
  for (std::string_view rest = *text; !rest.empty();) {
    size_t bytes = front_character(rest).bytes;
    std::string_view character = rest.substr(0, bytes);
    auto* part = &made->parts.back();
    if (character == escape) {
      rest.remove_prefix(bytes);
      bytes = rest.empty() ? 0 : front_character(rest).bytes;
      character = rest.substr(0, bytes);
      if (character != "_" && character != "%" && character != escape) {
        return invalid("LIKE: '" + *text + "': the escape character must precede _, % or itself");
      }
      part->text += character;
    } else if (character == "_" || character == "%") {
      if (!part->text.empty()) part = &made->parts.emplace_back();
      if (character == "_") {
        ++part->skip;
      } else {
        part->stretch = true;
      }
    } else {
      part->text += character;
    }
    rest.remove_prefix(bytes);
  }
  if (!made->parts.back().text.empty()) made->parts.emplace_back();
  return std::shared_ptr<const void>(std::move(made));
}

template <bool kIgnoreCase>
Value like(Eval& eval, Arguments arguments, const void* state) {
  const Value value = convert(eval, arguments[0], kString);
  if (!value.valid()) return missing_of(kBool);
  std::string_view text = eval.text(value);
  std::string low;
  if (kIgnoreCase) {
    append_lower_case(text, low);
    text = low;
  }
  return Value::of_bool(matches(*static_cast<const LikePattern*>(state), text));
}

// An expression, and what its matches are replaced by.
struct Pattern {
  explicit Pattern(JavaRegex of) : regex(std::move(of)) {}
  JavaRegex regex;
  JavaReplacement replacement;
  int group = 0;
};

Result<std::shared_ptr<Pattern>> compile(std::span<const Value* const> constants, size_t index,
                                         const Dictionary& dictionary) {
  const auto text = constant_text(constants, index, dictionary);
  if (!text) return invalid("expected a constant regular expression");
  auto made = JavaRegex::compile(*text);
  if (!made.ok()) return std::move(made.error());
  return std::make_shared<Pattern>(std::move(made.value()));
}

Prepared prepare_pattern(std::span<const Value* const> constants, const Dictionary& dictionary) {
  auto made = compile(constants, 1, dictionary);
  if (!made.ok()) return std::move(made.error());
  return std::shared_ptr<const void>(std::move(made.value()));
}

Prepared prepare_extract(std::span<const Value* const> constants, const Dictionary& dictionary) {
  auto made = compile(constants, 1, dictionary);
  if (!made.ok()) return std::move(made.error());
  Pattern& pattern = *made.value();
  pattern.group = 1;
  if (constants.size() > 2) {
    const Value* group = constants[2];
    if (group == nullptr || !group->valid() || !is_integer(group->type)) {
      return invalid("regexp_extract(): expected the number of a group");
    }
    pattern.group = static_cast<int>(group->integer);
  }
  const int groups = pattern.regex.groups();
  if (pattern.group < 0 || pattern.group > groups) {
    return invalid("regexp_extract(): there is no group " + std::to_string(pattern.group));
  }
  return std::shared_ptr<const void>(std::move(made.value()));
}

Prepared prepare_replace(std::span<const Value* const> constants, const Dictionary& dictionary) {
  auto made = compile(constants, 1, dictionary);
  if (!made.ok()) return std::move(made.error());
  const auto text = constant_text(constants, 2, dictionary);
  if (!text) return invalid("regexp_replace(): expected a constant replacement");
  auto replacement = JavaReplacement::parse(*text, made.value()->regex);
  if (!replacement.ok()) return std::move(replacement.error());
  made.value()->replacement = std::move(replacement.value());
  return std::shared_ptr<const void>(std::move(made.value()));
}

// The row's text; false if it has none.
bool pattern_text(Eval& eval, const Value& argument, std::string_view& text) {
  const Value value = convert(eval, argument, kString);
  if (!value.valid()) return false;
  text = eval.text(value);
  return true;
}

// The first match; false after eval.failed() too.
bool finds(Eval& eval, const Pattern& pattern, std::string_view text, RegexRun& run) {
  const RegexFound found = pattern.regex.find(text, run);
  if (found == RegexFound::TooLong) eval.fail(JavaRegex::too_long());
  return found == RegexFound::Yes;
}

Value rlike(Eval& eval, Arguments arguments, const void* state) {
  std::string_view text;
  if (!pattern_text(eval, arguments[0], text)) return missing_of(kBool);
  RegexRun run;
  return Value::of_bool(finds(eval, *static_cast<const Pattern*>(state), text, run));
}

Value regexp_extract(Eval& eval, Arguments arguments, const void* state) {
  const auto& pattern = *static_cast<const Pattern*>(state);
  std::string_view text;
  if (!pattern_text(eval, arguments[0], text)) return missing_of(kString);
  RegexRun run;
  if (!finds(eval, pattern, text, run)) return text_value(eval, {});
  const auto group = run.group(pattern.group);
  return text_value(
      eval, group ? text.substr(group->begin, group->end - group->begin) : std::string_view());
}

Value regexp_replace(Eval& eval, Arguments arguments, const void* state) {
  const auto& pattern = *static_cast<const Pattern*>(state);
  std::string_view text;
  if (!pattern_text(eval, arguments[0], text)) return missing_of(kString);
  std::string made;
  switch (pattern.replacement.replace_all(pattern.regex, text, made, kReplacedTextBytesMax)) {
    case JavaReplacement::Done::All: break;
    case JavaReplacement::Done::TooLong: return eval.fail(JavaRegex::too_long());
    case JavaReplacement::Done::TooLarge:
      return eval.fail("the result of regexp_replace() is too long");
  }
  return text_value(eval, made);
}

constexpr Function kPatternsFunctions[] = {
    function(fn::sql_like, like<false>, prepare_like<false>),
    function(fn::sql_ilike, like<true>, prepare_like<true>),
    function(fn::sql_rlike, rlike, prepare_pattern),
    function(fn::sql_regexp_extract, regexp_extract, prepare_extract),
    function(fn::sql_regexp_replace, regexp_replace, prepare_replace),
};

}  // namespace

std::span<const Function> pattern_functions() { return kPatternsFunctions; }

}  // namespace serval::tabular::sql
