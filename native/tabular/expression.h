// Expressions of a plan: trees of calls, columns and constants, answered row by row. Made at load,
// immutable, shared; run on any thread.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tabular/stage.h"

namespace serval::tabular {

// What a function sees of the run. `fail` (the first one counts) makes the row refused: see
// Run::refuse.
struct Eval {
  Run& run;
  uint32_t row = 0;
  std::string failure;
  bool failed() const { return !failure.empty(); }
  Value fail(std::string what);
  std::string_view text(const Value& value) const;  // of String, Binary
  Value of_text(std::string_view text);             // interns
};

struct CallNode;

// A strict function: its arguments are there. `state`: what `prepare` made.
using CallStrict = Value (*)(Eval& eval, std::span<const Value> arguments, const void* state);
// A lazy one (if, and, coalesce) asks for those it wants: call.argument(eval, i).
using CallLazy = Value (*)(Eval& eval, const CallNode& call);
// What can be made of constant arguments at load (a compiled regular expression). constants[i] is
// null where the argument is none. May be null. Errors: its text.
using Prepare = Result<std::shared_ptr<const void>> (*)(std::span<const Value* const> constants,
                                                        const Dictionary& dictionary);

struct Function {
  std::string_view name;  // "pmml.if": the prefix is the dialect's
  int arguments_min = 0, arguments_max = 0;  // -1 = any number
  CallStrict strict = nullptr;
  CallLazy lazy = nullptr;
  Prepare prepare = nullptr;
};

std::span<const Function> pmml_functions();  // pmml/functions/
std::span<const Function> sql_functions();   // sql/

class Expression {
 public:
  // The value for `row`, or a missing one after eval.failed().
  Value value(Eval& eval) const;
  // Fills `out` (a column of run.frame) for rows. The column's type: `type`, to which values must
  // already belong; Any: that of the first value that is not missing (Double where all are).
  Status fill(Run& run, Rows rows, uint32_t out, Type type, std::string_view place) const;

  // as core implements it
};

}  // namespace serval::tabular
