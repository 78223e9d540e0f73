// The tables of SQL's functions, one per file, and what their entries share. Load thread.
#pragma once

#include <cmath>
#include <span>

#include "tabular/sql/values.h"

namespace serval::tabular::sql {

std::span<const Function> arithmetic_functions();
std::span<const Function> rounding_functions();
std::span<const Function> math_functions();
std::span<const Function> condition_functions();
std::span<const Function> cast_functions();
std::span<const Function> text_functions();
std::span<const Function> pattern_functions();
std::span<const Function> date_functions();
std::span<const Function> try_functions();
std::span<const Function> array_functions();     // ../composite
std::span<const Function> set_functions();       // ../composite
std::span<const Function> map_functions();       // ../composite
std::span<const Function> hash_functions();      // ../hashes
std::span<const Function> bit_functions();       // ../numbers
std::span<const Function> encoding_functions();  // ../texts
std::span<const Function> word_functions();      // ../texts
std::span<const Function> regex_functions();     // ../texts
std::span<const Function> time_functions();      // ../times
std::span<const Function> json_functions();      // ../json
std::span<const Function> format_functions();    // ../texts

// All of them see missing values: those have types too.
constexpr Function function(const FunctionName& name, CallStrict call, Prepare prepare = nullptr) {
  return {name, call, nullptr, prepare, true};
}

// The same function, which Spark reads the arguments of in another way.
constexpr Function reading(Reads reads, Function function) {
  function.reads = reads;
  return function;
}

using Arguments = std::span<const Value>;

// The arguments as `types`, in `made`. False: one is missing, or it failed.
template <size_t N>
bool converted(Eval& eval, Arguments arguments, const SqlType (&types)[N], Value (&made)[N]) {
  bool valid = true;
  for (size_t i = 0; i < arguments.size() && i < N; ++i) {
    // In ANSI mode what follows a missing one is not read.
    const bool reads = valid || !eval.ansi;
    made[i] = reads ? convert(eval, arguments[i], types[i]) : missing_of(types[i]);
    valid = valid && made[i].valid();
  }
  return valid && !eval.failed();
}

// Arrays: concat() and reverse().
Value concat_arrays(Eval& eval, Arguments arguments);
Value reverse_array(Eval& eval, const Value& value);

inline Value text_value(Eval& eval, std::string_view text) { return eval.of_text(text); }

}  // namespace serval::tabular::sql
