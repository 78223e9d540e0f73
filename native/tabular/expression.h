// Expressions of a plan: trees of calls, columns and constants, evaluated row by row. Made at load,
// immutable and shared; run on any thread.
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

// The part of a run that functions see. `fail` makes the row refused (the first call counts): see
// Run::refuse.
struct Eval {
  Run& run;
  uint32_t row = 0;
  std::string failure;
  std::string_view place = {};  // place of the failure, if it differs from the stage's
  bool undefined = false;  // the failure is an undefined result, which PMML's Apply may replace
  bool keeps_nan = false;  // an enclosing Apply handles NaN and undefined results
  bool ansi = false;       // Spark's ANSI mode: an undefined result raises an error
  // Spark's ANSI types: text combined with a number is converted to a number
  bool ansi_types = false;
  std::string raised = {};  // why the value computed last is undefined
  bool failed() const { return !failure.empty(); }
  // A missing value, for `return eval.fail(...)`.
  Value fail(std::string what) {
    if (failure.empty()) failure = std::move(what);
    return {};
  }
  // Fails because the row that is read could not be computed.
  Value fail(const Failure& of) {
    if (!failed()) place = of.place;
    return fail(of.what);
  }
  // Records an error that counts only if the value is used: CASE, COALESCE, AND and OR don't use
  // all of their arguments, but their types follow from all. `missing` has the type of the value.
  Value raise(const Value& missing, std::string what) {
    if (raised.empty()) raised = std::move(what);
    return missing;
  }
  // Moves the failure out; `own` is the place of the stage that evaluates.
  Failure take_failure(std::string_view own) {
    Failure made{row, place.empty() ? own : place, std::move(failure)};
    failure.clear();
    place = {};
    undefined = false;
    return made;
  }
  // The text of a String or Binary value.
  std::string_view text(const Value& value) const { return run.frame.strings.text(value.text); }
  // Interns the text and returns it as a value.
  Value of_text(std::string_view text) { return Value::of_text(run.frame.strings.intern(text)); }
};

struct CallNode;

// A strict function: its arguments are evaluated from left to right. If one is missing, the call is
// missing (of type Any) and the function is not called, unless it has `takes_missing`. `state` is
// the result of `prepare`.
using CallStrict = Value (*)(Eval& eval, std::span<const Value> arguments, const void* state);
// A lazy function (if, and, coalesce) evaluates the arguments it needs: call.argument(eval, i).
using CallLazy = Value (*)(Eval& eval, const CallNode& call);
// Precomputes state from constant arguments at load (a compiled regular expression). constants[i]
// is null if the argument is not constant. May be null. The error is a text.
using Prepare = Result<std::shared_ptr<const void>> (*)(std::span<const Value* const> constants,
                                                        const Dictionary& dictionary);

// The arguments of a strict call that Spark evaluates; the others raise no errors.
enum class Reads : uint8_t {
  UntilMissing,  // from the left, up to the first missing one
  LastFirst,     // from the right, up to the first missing one: divisions
  All,
  Branches,    // c1, v1, c2, v2, ... [, else]: up to the value of the first true condition
  UntilFound,  // up to the first one that is not missing
  UntilFalse,  // AND
  UntilTrue,   // OR
  UntilEqual,  // IN
  WhereNan,    // the second one only if the first is NaN
};

struct Function : FunctionName {
  CallStrict strict = nullptr;
  CallLazy lazy = nullptr;
  Prepare prepare = nullptr;
  bool takes_missing = false;  // for strict functions
  Reads reads = Reads::UntilMissing;
};

std::span<const Function> pmml_functions();  // pmml/functions/
std::span<const Function> sql_functions();   // sql/

// A node of an expression; lazy functions receive it as their call.
struct CallNode {
  const Function* function = nullptr;  // null: a column or a constant
  int32_t column = -1;
  Value constant;  // used if there is neither a function nor a column
  std::vector<const CallNode*> arguments;
  std::shared_ptr<const void> state;  // result of `prepare`

  size_t count() const { return arguments.size(); }
  Value argument(Eval& eval, size_t i) const { return arguments[i]->value(eval); }
  // The node's value for eval.row, or a missing one after eval.failed().
  Value value(Eval& eval) const;
};

class Expression {
 public:
  // Records faults in `spec`; the expression is empty then.
  Expression(StageSpec& spec, const plan::Expression& from);
  Expression(const Expression&) = delete;
  Expression& operator=(const Expression&) = delete;

  // The value for `row`, or a missing one after eval.failed().
  Value value(Eval& eval) const { return nodes_.back().value(eval); }
  // Fills `out` (a column of run.frame) for rows. The column's type is `type`, to which values must
  // already belong (integers also fit a real type). With Any it is the type of the first value that
  // is not missing, or if all are missing, the type of a missing one or Double. A row that fails is
  // refused or, with `deferred`, added to the column's failures.
  struct Filled {
    uint32_t out = 0;
    Type type = Type::Any;
    Type element = Type::Any;
    bool deferred = false;
    bool ansi = false;              // see Eval
    std::string_view written = {};  // source of the expression, for the errors it raises
  };
  Status fill(Run& run, Rows rows, const Filled& to, std::string_view place) const;
  // Returns the constant if the expression is one, else null.
  const Value* constant() const;

 private:
  bool read_node(StageSpec& spec, const plan::Node& from, CallNode& made);
  bool read_call(StageSpec& spec, const plan::Node& from, CallNode& made);
  std::vector<CallNode> nodes_;  // arguments precede their calls; the last node is the root
  std::vector<uint16_t> depths_;
  std::vector<bool> used_;
};

}  // namespace serval::tabular
