// A regular expression as steps for the backtracking matcher. Made at load; immutable; any thread.
#pragma once

#include <string_view>
#include <vector>

#include "tabular/java/regex/ast.h"

namespace serval::tabular::regex {

// Limits: steps of an expression, steps run on one text, and backtracking positions.
inline constexpr size_t kProgramStepsMax = 100'000;
inline constexpr uint64_t kRegexStepsMax = 20'000'000;
inline constexpr size_t kRegexPlacesMax = 1'000'000;

enum class Step : uint8_t {
  Set,        // a character of sets[a]
  RepeatSet,  // of sets[a], min to max times, by `mode`
  Split,      // at a; and if that fails, at b
  Jump,       // to a
  Save,       // the place, in slot a
  LoopInit,   // of loop a
  LoopTest,   // of loop a: once more from b, or on at c; min to max times, by `mode`
  LoopEnter,  // of loop a: counts, and notes the place
  Look,       // runs steps up to their Accept, then continues at a; `negated`
  Behind,     // the same, min to max characters before
  Atomic,     // the same, without going back into them
  Back,       // the text of group a; `fold`
  // end of the expression, or of the steps of a Behind, an Atomic or another lookaround
  Accept,
  AcceptBehind,  // where it began only
  Begin,
  End,
  LastEnd,
  Caret,
  Dollar,
  WordEdge,
  Grapheme,
  GraphemeEdge
};

struct Instruction {
  Step step = Step::Accept;
  uint32_t a = 0, b = 0, c = 0;
  int min = 0, max = 0;
  Mode mode = Mode::Greedy;
  Fold fold = Fold::None;
  bool negated = false, multi_line = false, unix_lines = false, unicode = false;
};

struct Program {
  std::vector<Instruction> code;
  std::vector<Set> sets;
  uint32_t loops = 0;
  int groups = 0;
};

// Errors: the expression is too large.
Result<Program> compile(const Tree& tree);

// Places of a match: begin and end of each group, the whole match first; kNoPlace.
inline constexpr size_t kNoPlace = static_cast<size_t>(-1);

struct Subject {
  std::string_view text;
  size_t from = 0;            // where a match may begin first
  size_t last_end = 0;        // of the match before: \G
  bool whole = false;         // the match is all of the text
  uint64_t* steps = nullptr;  // steps run so far, over all searches in the text
};

enum class Found : uint8_t { No, Yes, TooLong };

// Finds the first match that begins at `from` or later. `places` has (groups + 1) * 2 entries,
// filled if there is a match. TooLong: more than kRegexStepsMax steps, or more than kRegexPlacesMax
// backtracking positions.
Found search(const Program& program, const Subject& subject, std::vector<size_t>& places);

}  // namespace serval::tabular::regex
