// Regular expressions of PMML documents, which JPMML takes for Java's. Load thread;
// of patterns that are data, any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "re2/re2.h"
#include "tabular/java/regex.h"

namespace serval::tabular::pmml {

// Errors: invalid_argument saying what of it cannot be done.
Result<std::shared_ptr<const JavaRegex>> compile_regex(std::string_view pattern);

// A replacement as Java writes it ($1, \$) as RE2's. Errors: a group that the pattern has not.
Result<std::string> java_replacement(std::string_view text, const RE2& regex);

}  // namespace serval::tabular::pmml
