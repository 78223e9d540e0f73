// Java's regular expressions as Java 17 has them, on which Spark runs. Made at load; matching: hot
// path, pure, any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tabular/java/regex/program.h"

namespace serval::tabular {

using RegexFound = regex::Found;

// The matches in one text, one after the other: Matcher. Its memory may serve for many texts.
struct RegexRun {
  struct Match {
    size_t begin = 0, end = 0;
  };
  Match match() const { return {places[0], places[1]}; }
  // None where the group was not in the match.
  std::optional<Match> group(int number) const {
    const auto at = static_cast<size_t>(number) * 2;
    if (places[at] == regex::kNoPlace || places[at + 1] == regex::kNoPlace) return std::nullopt;
    return Match{places[at], places[at + 1]};
  }
  // For another text.
  void start(size_t at = 0) {
    from = last_end = at;
    steps = 0;
  }

  size_t from = 0, last_end = 0;  // where the next match may begin; where the last one ended
  uint64_t steps = 0;
  std::vector<size_t> places;  // of the last match: begin and end of each group, itself first
};

// Expressions that RE2 has an equal for, on texts where both mean the same, are run by RE2; the
// others by a matcher that goes back (regex/), whose steps are limited. Differences from Java are
// on purpose: a match begins and ends between characters, never between the two halves of one
// beyond U+FFFF; a look behind may be of any length; \N{name} is not supported.
class JavaRegex {
 public:
  // `text` of java.util.regex.Pattern, without flags.
  // Errors: model_invalid saying what of the expression is wrong, and where.
  static Result<JavaRegex> compile(std::string_view text);

  // Matcher.find(): the next match. TooLong: see too_long().
  RegexFound find(std::string_view text, RegexRun& run) const;
  // Matcher.matches(): the whole text.
  RegexFound matches(std::string_view text, RegexRun& run) const;
  int groups() const;
  // Of a name; -1: there is none.
  int group_of(std::string_view name) const;
  // For errors of a row.
  static std::string too_long();

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

// What a match is replaced by: Matcher.appendReplacement().
class JavaReplacement {
 public:
  // $1 and ${name} are groups, \ makes the next character plain.
  // Errors: model_invalid saying what is wrong.
  static Result<JavaReplacement> parse(std::string_view text, const JavaRegex& regex);
  enum class Done : uint8_t { All, TooLong, TooLarge };
  // Matcher.replaceAll(), appended to `out`. TooLong: RegexFound::TooLong; TooLarge: `out` would
  // have more than `bytes_max`.
  Done replace_all(const JavaRegex& regex, std::string_view text, std::string& out,
                   size_t bytes_max) const;

 private:
  struct Piece {
    int group = -1;  // or else `text`
    std::string text;
  };
  std::vector<Piece> pieces_;
};

}  // namespace serval::tabular
