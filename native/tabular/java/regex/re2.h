// A regular expression of Java as RE2 has it, which takes no more time than the text is long. Load
// thread.
#pragma once

#include <optional>
#include <string>

#include "tabular/java/regex/ast.h"

namespace serval::tabular::regex {

struct ForRe2 {
  std::string text;
  bool has_end = false;     // right only for texts that do not end with a line end
  bool ascii_only = false;  // right only for texts in ASCII
};

// None where RE2 has no equal: looking around, references back, possessive quantifiers, lines, and
// loops whose body may match nothing.
std::optional<ForRe2> to_re2(const Tree& tree);

}  // namespace serval::tabular::regex
