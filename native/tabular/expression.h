// Expressions of a plan: trees of calls, columns and constants, answered row by row. Made at load,
// immutable, shared; run on any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tabular/generated/functions.h"
#include "tabular/stage.h"

namespace serval::plan {
struct Expression;
struct Node;
}  // namespace serval::plan

namespace serval::tabular {

// What a function sees of the run. `fail` (the first one counts) makes the row refused: see
// Run::refuse.
struct Eval {
  Run& run;
  uint32_t row = 0;
  std::string failure;
  std::string_view place = {};  // of the failure, where it is not the stage's own
  bool undefined = false;   // the failure is a result that is not defined: PMML's Apply may take it
  bool keeps_nan = false;   // an Apply that treats NaN and undefined results is around a function
  bool ansi = false;        // Spark's ANSI mode: what has no answer raises
  bool ansi_types = false;  // and text beside a number is a number
  std::string raised = {};  // why the value that was computed last has no answer
  bool failed() const { return !failure.empty(); }
  // A missing value, for `return eval.fail(...)`.
  Value fail(std::string what) {
    if (failure.empty()) failure = std::move(what);
    return {};
  }
  // The row of a column that is read could not be computed.
  Value fail(const Failure& of) {
    if (!failed()) place = of.place;
    return fail(of.what);
  }
  // An error that counts only where the value is used: CASE, COALESCE, AND and OR do not use all of
  // their arguments, and their types follow from all. `missing`: of the type that the value has.
  Value raise(const Value& missing, std::string what) {
    if (raised.empty()) raised = std::move(what);
    return missing;
  }
  // The failure, taken out; `own`: the place of the stage that evaluates.
  Failure take_failure(std::string_view own) {
    Failure made{row, place.empty() ? own : place, std::move(failure)};
    failure.clear();
    place = {};
    undefined = false;
    return made;
  }
  // Of String, Binary.
  std::string_view text(const Value& value) const { return run.frame.strings.text(value.text); }
  // Interns.
  Value of_text(std::string_view text) { return Value::of_text(run.frame.strings.intern(text)); }
};

struct CallNode;

// A strict function: its arguments are evaluated, left to right, and none of them is missing: where
// one is, the call is missing (of type Any) and the function is not called, unless it
// `takes_missing`. `state`: what `prepare` made.
using CallStrict = Value (*)(Eval& eval, std::span<const Value> arguments, const void* state);
// A lazy one (if, and, coalesce) asks for those it wants: call.argument(eval, i).
using CallLazy = Value (*)(Eval& eval, const CallNode& call);
// What can be made of constant arguments at load (a compiled regular expression). constants[i] is
// null where the argument is none. May be null. Errors: its text.
using Prepare = Result<std::shared_ptr<const void>> (*)(std::span<const Value* const> constants,
                                                        const Dictionary& dictionary);

// Which arguments of a strict call Spark computes: those that it does not compute raise nothing.
enum class Reads : uint8_t {
  UntilMissing,  // from the left, up to the first that is missing
  LastFirst,     // the same from the right: divisions
  All,
  Branches,    // c1, v1, c2, v2, ... [, else]: up to the value of the first condition that is true
  UntilFound,  // up to the first that is not missing
  UntilFalse,  // AND
  UntilTrue,   // OR
  UntilEqual,  // IN
  WhereNan,    // the second one where the first is NaN
};

struct Function : FunctionName {
  CallStrict strict = nullptr;
  CallLazy lazy = nullptr;
  Prepare prepare = nullptr;
  bool takes_missing = false;  // of strict
  Reads reads = Reads::UntilMissing;
};

std::span<const Function> pmml_functions();  // pmml/functions/
std::span<const Function> sql_functions();   // sql/

// One node of an expression; what a lazy function sees of its call.
struct CallNode {
  const Function* function = nullptr;  // null: a column or a constant
  int32_t column = -1;
  Value constant;  // where there is neither function nor column
  std::vector<const CallNode*> arguments;
  std::shared_ptr<const void> state;  // what `prepare` made

  size_t count() const { return arguments.size(); }
  Value argument(Eval& eval, size_t i) const { return arguments[i]->value(eval); }
  // Its value for eval.row, or a missing one after eval.failed().
  Value value(Eval& eval) const;
};

class Expression {
 public:
  // Notes what is wrong in `spec`; the expression is none then.
  Expression(StageSpec& spec, const plan::Expression& from);
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  // The value for `row`, or a missing one after eval.failed().
  Value value(Eval& eval) const { return nodes_.back().value(eval); }
  // Fills `out` (a column of run.frame) for rows. The column's type: `type`, to which values must
  // already belong (an integer also to a real one); Any: that of the first value that is not
  // missing (where all are: the type that a missing one has, or Double). A row that fails is
  // refused, or `deferred`: it is among the column's failures.
  struct Filled {
    uint32_t out = 0;
    Type type = Type::Any;
    Type element = Type::Any;
    bool deferred = false;
    bool ansi = false;              // as Eval's
    std::string_view written = {};  // the expression, for errors that it raises
  };
  Status fill(Run& run, Rows rows, const Filled& to, std::string_view place) const;
  // Where the expression is a constant.
  const Value* constant() const;

 private:
  bool read_node(StageSpec& spec, const plan::Node& from, CallNode& made);
  bool read_call(StageSpec& spec, const plan::Node& from, CallNode& made);
  std::vector<CallNode> nodes_;  // arguments before their calls; the last one is the root
  std::vector<uint16_t> depths_;
  std::vector<bool> used_;
};

}  // namespace serval::tabular
