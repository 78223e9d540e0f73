// PMML's functions: all tables together, and what they share. Load thread; the functions: any
// thread.
#include "tabular/pmml/functions/functions.h"

#include <vector>

namespace serval::tabular {
namespace {

std::vector<Function> all_functions() {
  std::vector<Function> made;
  for (const auto table :
       {pmml::arithmetic_functions(), pmml::math_functions(), pmml::logic_functions(),
        pmml::predicate_functions(), pmml::text_functions(), pmml::format_functions(),
        pmml::date_functions(), pmml::value_functions()}) {
    made.insert(made.end(), table.begin(), table.end());
  }
  return made;
}

}  // namespace

namespace pmml {

Value fail_missing(Eval& eval, std::string_view function) {
  return eval.fail("function " + std::string(function) + " does not accept missing values");
}

Value fail_type(Eval& eval, std::string_view function, const char* expected, const Value& got) {
  return eval.fail("function " + std::string(function) + ": expected " + expected + ", got " +
                   std::string(type_name(got.type)));
}

}  // namespace pmml

std::span<const Function> pmml_functions() {
  static const std::vector<Function> functions = all_functions();
  return functions;
}

}  // namespace serval::tabular
