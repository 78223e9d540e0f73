// LIKE, and Java's regular expressions. Patterns are constants, made ready at load. Hot path;
// any thread.
// Source: tabular.md 10
#include <re2/re2.h>

#include <optional>
#include <vector>

#include "base/unicode/letters.h"
#include "tabular/java/regex.h"
#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

constexpr size_t kTextBytesMax = 64 << 20;

using Prepared = Result<std::shared_ptr<const void>>;

Error invalid(std::string what) { return make_error(ErrorCode::ModelInvalid, std::move(what)); }

// Of a constant argument; none where it is no text.
std::optional<std::string> constant_text(std::span<const Value* const> constants, size_t index,
                                         const Dictionary& dictionary) {
  if (index >= constants.size()) return std::nullopt;
  const Value* value = constants[index];
  if (value == nullptr || value->type != Type::String || !value->valid()) return std::nullopt;
  return std::string(dictionary.text(value->text));
}

// A LIKE pattern: texts, with what may stand before each.
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

// Like a shell's pattern: what a stretch takes grows only as far as what follows needs.
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
    // The last stretch takes one character more.
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
      return invalid("LIKE: expected one character behind ESCAPE");
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
        return invalid("LIKE: '" + *text +
                       "': the escape character must stand before _, % or itself");
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

// An expression, and what stands for its matches.
struct Pattern {
  struct Piece {
    int group = -1;  // or else `text`
    std::string text;
  };
  explicit Pattern(JavaRegex of) : regex(std::move(of)) {}
  JavaRegex regex;
  std::vector<Piece> replacement;
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
  const int groups = pattern.regex.re2().NumberOfCapturingGroups();
  if (pattern.group < 0 || pattern.group > groups) {
    return invalid("regexp_extract(): there is no group " + std::to_string(pattern.group));
  }
  return std::shared_ptr<const void>(std::move(made.value()));
}

// "$1" is a group, a backslash takes its meaning from what follows.
Prepared prepare_replace(std::span<const Value* const> constants, const Dictionary& dictionary) {
  auto made = compile(constants, 1, dictionary);
  if (!made.ok()) return std::move(made.error());
  const auto text = constant_text(constants, 2, dictionary);
  if (!text) return invalid("regexp_replace(): expected a constant replacement");
  Pattern& pattern = *made.value();
  const int groups = pattern.regex.re2().NumberOfCapturingGroups();
  auto& pieces = pattern.replacement;
  const auto add = [&](char c) {
    if (pieces.empty() || pieces.back().group >= 0) pieces.emplace_back();
    pieces.back().text += c;
  };
  for (size_t i = 0; i < text->size(); ++i) {
    const char c = (*text)[i];
    if (c == '\\') {
      if (++i == text->size()) return invalid("regexp_replace(): the replacement ends with a \\");
      add((*text)[i]);
    } else if (c == '$') {
      if (i + 1 == text->size() || (*text)[i + 1] < '0' || (*text)[i + 1] > '9') {
        return invalid("regexp_replace(): expected a group's number behind $");
      }
      int group = (*text)[++i] - '0';
      for (; i + 1 < text->size() && (*text)[i + 1] >= '0' && (*text)[i + 1] <= '9'; ++i) {
        const int longer = group * 10 + ((*text)[i + 1] - '0');
        if (longer > groups) break;
        group = longer;
      }
      if (group > groups)
        return invalid("regexp_replace(): there is no group " + std::to_string(group));
      pieces.push_back({group, {}});
    } else {
      add(c);
    }
  }
  return std::shared_ptr<const void>(std::move(made.value()));
}

// The row's text; fails where Java's `$` and RE2's could differ.
bool pattern_text(Eval& eval, const Value& argument, const Pattern& pattern,
                  std::string_view& text) {
  const Value value = convert(eval, argument, kString);
  if (!value.valid()) return false;
  text = eval.text(value);
  if (!pattern.regex.is_unsure_of(text)) return true;
  eval.fail("a regular expression with $ on a text that ends with a line end");
  return false;
}

re2::StringPiece piece_of(std::string_view text) { return {text.data(), text.size()}; }

Value rlike(Eval& eval, Arguments arguments, const void* state) {
  const auto& pattern = *static_cast<const Pattern*>(state);
  std::string_view text;
  if (!pattern_text(eval, arguments[0], pattern, text)) return missing_of(kBool);
  JavaRegex::Match match;
  return Value::of_bool(pattern.regex.find(text, 0, match));
}

Value regexp_extract(Eval& eval, Arguments arguments, const void* state) {
  const auto& pattern = *static_cast<const Pattern*>(state);
  std::string_view text;
  if (!pattern_text(eval, arguments[0], pattern, text)) return missing_of(kString);
  std::vector<re2::StringPiece> groups(static_cast<size_t>(pattern.group) + 1);
  const bool found = pattern.regex.re2().Match(piece_of(text), 0, text.size(), re2::RE2::UNANCHORED,
                                               groups.data(), pattern.group + 1);
  const re2::StringPiece group = found ? groups.back() : re2::StringPiece();
  return text_value(eval, {group.data(), group.size()});
}

Value regexp_replace(Eval& eval, Arguments arguments, const void* state) {
  const auto& pattern = *static_cast<const Pattern*>(state);
  std::string_view text;
  if (!pattern_text(eval, arguments[0], pattern, text)) return missing_of(kString);
  const re2::RE2& regex = pattern.regex.re2();
  const int count = regex.NumberOfCapturingGroups() + 1;
  std::vector<re2::StringPiece> groups(static_cast<size_t>(count));
  std::string made;
  size_t kept = 0;
  for (size_t from = 0; from <= text.size();) {
    if (!regex.Match(piece_of(text), from, text.size(), re2::RE2::UNANCHORED, groups.data(),
                     count)) {
      break;
    }
    const auto begin = static_cast<size_t>(groups[0].data() - text.data());
    const size_t end = begin + groups[0].size();
    made += text.substr(kept, begin - kept);
    for (const auto& piece : pattern.replacement) {
      if (piece.group < 0) {
        made += piece.text;
      } else {
        const re2::StringPiece& group = groups[static_cast<size_t>(piece.group)];
        if (group.data() != nullptr) made.append(group.data(), group.size());
      }
    }
    if (made.size() > kTextBytesMax) return eval.fail("regexp_replace() makes too long a text");
    kept = end;
    from =
        end > begin ? end : end + (end < text.size() ? front_character(text.substr(end)).bytes : 1);
  }
  made += text.substr(kept);
  return text_value(eval, made);
}

// As Java's split with limit -1: empty parts at the end stay.
std::vector<std::string_view> split(const Pattern& pattern, std::string_view text) {
  std::vector<std::string_view> parts;
  size_t kept = 0;
  JavaRegex::Match match;
  for (size_t from = 0; from <= text.size() && pattern.regex.find(text, from, match);) {
    const bool empty = match.begin == match.end;
    // An empty match at the beginning, or at the end of the text, parts nothing from it.
    if (!(empty && match.begin == 0) &&
        !(empty && match.begin == text.size() && kept == text.size())) {
      parts.push_back(text.substr(kept, match.begin - kept));
      kept = match.end;
    }
    from = !empty
               ? match.end
               : match.end +
                     (match.end < text.size() ? front_character(text.substr(match.end)).bytes : 1);
  }
  parts.push_back(text.substr(kept));
  return parts;
}

// split(text, pattern, index, index of the first part): missing where there is no such part. From
// the end below 0 where parts count from 1.
Value split_item(Eval& eval, Arguments arguments, const void* state) {
  const auto& pattern = *static_cast<const Pattern*>(state);
  std::string_view text;
  const Value given = convert(eval, arguments[2], kInt32);
  if (!pattern_text(eval, arguments[0], pattern, text) || !given.valid())
    return missing_of(kString);
  const auto parts = split(pattern, text);
  const int64_t first = arguments[3].integer, count = static_cast<int64_t>(parts.size());
  if (first == 1 && given.integer == 0) return eval.fail("element_at(): items count from 1");
  int64_t index = given.integer - first;
  if (first == 1 && given.integer < 0) index = count + given.integer;
  if (index < 0 || index >= count) return missing_of(kString);
  return text_value(eval, parts[static_cast<size_t>(index)]);
}

Value split_size(Eval& eval, Arguments arguments, const void* state) {
  const auto& pattern = *static_cast<const Pattern*>(state);
  std::string_view text;
  if (!pattern_text(eval, arguments[0], pattern, text)) {
    // size(NULL) is -1 where Spark is not ANSI.
    return eval.failed() ? missing_of(kInt32) : Value::of_integer(-1, Type::Int32);
  }
  return Value::of_integer(static_cast<int64_t>(split(pattern, text).size()), Type::Int32);
}

constexpr Function kFunctions[] = {
    function("sql.like", 2, 3, like<false>, prepare_like<false>),
    function("sql.ilike", 2, 3, like<true>, prepare_like<true>),
    function("sql.rlike", 2, 2, rlike, prepare_pattern),
    function("sql.regexp_extract", 2, 3, regexp_extract, prepare_extract),
    function("sql.regexp_replace", 3, 3, regexp_replace, prepare_replace),
    function("sql.split_item", 4, 4, split_item, prepare_pattern),
    function("sql.split_size", 2, 2, split_size, prepare_pattern),
};

}  // namespace

std::span<const Function> pattern_functions() { return kFunctions; }

}  // namespace serval::tabular::sql
