// Translates a Java regular expression to RE2, which runs in time linear in the text. Load thread.
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

// Empty if RE2 has no equivalent: lookaround, back references, possessive quantifiers, line
// terminators, and loops whose body may match the empty text.
std::optional<ForRe2> to_re2(const Tree& tree);

}  // namespace serval::tabular::regex
