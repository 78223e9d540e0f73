// Regular expressions of PMML documents, which JPMML takes for Java's. Load thread;
// of patterns that are data, any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tabular/java/regex.h"

namespace serval::tabular::pmml {

// Errors: invalid_argument saying what of it cannot be done.
Result<std::shared_ptr<const JavaRegex>> compile_regex(std::string_view pattern);

}  // namespace serval::tabular::pmml
