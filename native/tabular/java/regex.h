// Java 17's regular expressions, which Spark uses. Made at load; matching is on the hot path, pure,
// any thread.
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

// The successive matches in one text (Matcher). Its memory can be reused for many texts.
struct RegexRun {
  struct Match {
    size_t begin = 0, end = 0;
  };
  Match match() const { return {places[0], places[1]}; }
  // Empty if the group did not take part in the match.
  std::optional<Match> group(int number) const {
    const auto at = static_cast<size_t>(number) * 2;
    if (places[at] == regex::kNoPlace || places[at + 1] == regex::kNoPlace) return std::nullopt;
    return Match{places[at], places[at + 1]};
  }
  // Restarts for another text.
  void start(size_t at = 0) {
    from = last_end = at;
    steps = 0;
  }

  size_t from = 0, last_end = 0;  // where the next match may begin; where the last one ended
  uint64_t steps = 0;
  // begin and end of each group of the last match, the whole match first
  std::vector<size_t> places;
};

// RE2 runs the expressions that it can express, on texts for which both engines agree. A
// backtracking matcher with limited steps (regex/) runs the others. Deliberate differences from
// Java: a match begins and ends between characters, never between the two halves of one beyond
// U+FFFF; lookbehind may have any length; \N{name} is not supported.
class JavaRegex {
 public:
  // `text` of java.util.regex.Pattern, without flags. Errors: model_invalid naming the fault and
  // its position in the expression.
  static Result<JavaRegex> compile(std::string_view text);

  // Matcher.find(): the next match. TooLong: see too_long().
  RegexFound find(std::string_view text, RegexRun& run) const;
  // Matcher.matches(): the whole text.
  RegexFound matches(std::string_view text, RegexRun& run) const;
  int groups() const;
  // Number of a named group; -1: there is none.
  int group_of(std::string_view name) const;
  // Text for a row's error.
  static std::string too_long();

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

// The replacement of a match: Matcher.appendReplacement().
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
