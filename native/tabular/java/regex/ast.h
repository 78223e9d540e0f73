// A regular expression of Java as a tree: made by parser.h, read by program.h and re2.h. Load
// thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tabular/java/regex/unicode.h"

namespace serval::tabular::regex {

inline constexpr int kNoMax = 0x7FFFFFFF;

enum class Kind : uint8_t {
  Empty,
  Set,          // one character of `set`
  Sequence,     // of `parts`
  Choice,       // of `parts`, the first one first
  Group,        // parts[0]; number `group` where it is > 0
  Repeat,       // parts[0], min to max times, by `mode`
  Atomic,       // parts[0], without going back into it
  Look,         // lookaround for parts[0]: `negated`, `behind`
  Back,         // what group `group` took; ignoring case by `fold`
  Begin,        // \A
  End,          // \z
  LastEnd,      // \G
  Caret,        // ^ of (?m); `unix_lines`
  Dollar,       // $, \Z; `multi_line`, `unix_lines`
  WordEdge,     // \b, \B: `negated`; `unicode`: of (?U)
  Grapheme,     // \X
  GraphemeEdge  // \b{g}
};
enum class Mode : uint8_t { Greedy, Lazy, Possessive };
enum class Fold : uint8_t { None, Ascii, Unicode };

struct Node {
  Kind kind = Kind::Empty;
  Set set;
  std::vector<std::unique_ptr<Node>> parts;
  int group = 0;
  int min = 0, max = 0;
  Mode mode = Mode::Greedy;
  Fold fold = Fold::None;
  bool negated = false, behind = false, multi_line = false, unix_lines = false, unicode = false;
  bool is_line_end = false;  // of a Group: \R
};
using NodePtr = std::unique_ptr<Node>;

struct Names {
  std::string name;
  int group = 0;
};

struct Tree {
  NodePtr root;
  int groups = 0;  // those that capture
  std::vector<Names> names;
};

// `text` of java.util.regex.Pattern, without flags. Errors: model_invalid saying what is wrong, and
// at which character.
Result<Tree> parse(std::string_view text);

// How many characters it may take at least and at most; max kNoMax: any number.
struct Length {
  int min = 0, max = 0;
};
Length length_of(const Node& node);

}  // namespace serval::tabular::regex
