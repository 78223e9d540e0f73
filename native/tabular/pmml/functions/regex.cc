// Compilation of PMML's regular expressions. Load thread; patterns that are data, any thread.
#include "tabular/pmml/functions/regex.h"

namespace serval::tabular::pmml {
namespace {

constexpr size_t kPatternBytesMax = 65'536;

}  // namespace

Result<std::shared_ptr<const JavaRegex>> compile_regex(std::string_view pattern) {
  if (pattern.size() > kPatternBytesMax) {
    return invalid_argument("a regular expression is longer than " +
                            std::to_string(kPatternBytesMax) + " bytes");
  }
  auto made = JavaRegex::compile(pattern);
  if (!made.ok()) return invalid_argument(made.error().message);
  return std::make_shared<const JavaRegex>(std::move(made.value()));
}

}  // namespace serval::tabular::pmml
