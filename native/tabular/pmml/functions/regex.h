// Regular expressions of PMML documents, with RE2: what Java has beyond it is refused by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "re2/re2.h"

namespace serval::tabular::pmml {

// Errors: invalid_argument, where RE2 does not take it or it needs too much memory.
Result<std::shared_ptr<const RE2>> compile_regex(std::string_view pattern);

// A replacement as Java writes it ($1, \$) as RE2's. Errors: a group that the pattern has not.
Result<std::string> java_replacement(std::string_view text, const RE2& regex);

}  // namespace serval::tabular::pmml
