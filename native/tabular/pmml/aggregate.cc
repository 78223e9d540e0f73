// PMML's Aggregate: reduces the list in a row's field to one number. Hot path, any thread. Source:
// tabular.md 3.3; JPMML
#include <algorithm>

#include "tabular/pmml/cells.h"
#include "tabular/pmml/functions/functions.h"
#include "tabular/pmml/kinds.h"

namespace serval::tabular::pmml {
namespace {

using Function = stages::AggregateFunction;

// List -> its count, sum, average, least or largest value. NaN is left out.
class Aggregate final : public OneOutput {
 public:
  explicit Aggregate(StageSpec& spec) : OneOutput(spec) {
    function_ = spec.choice(stages::pmml_aggregate::function);
    const bool fits = function_ == Function::Count
                          ? type_ == Type::Int32
                          : is_real(type_) || (type_ == Type::Int32 && keeps_type());
    if (!fits) spec.fail("its output has a wrong type");
  }

  OnFailure on_failure() const override { return OnFailure::Pass; }
  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(in_);
    const bool fits = function_ == Function::Count ? storage_of(in.element) != Storage::Decimal
                                                   : is_real(in.element) || is_integer(in.element);
    if (in.type != Type::List || !fits) {
      return invalid_argument(place_ + ": expected lists of numbers");
    }
    Column& out = run.out(out_, type_, rows);
    Eval eval{run, 0, {}};
    for (uint32_t i = 0; i < rows.count; ++i) {
      eval.row = rows[i];
      const Value value = in.valid(eval.row) ? of_row(eval, in) : Value();
      put(out, eval.row, value);
      if (!eval.failed()) continue;
      if (Status refused = refuse_failed(run, place_, eval); !refused.ok()) return refused;
    }
    return {};
  }

 private:
  bool keeps_type() const { return function_ != Function::Average; }

  // An empty list has no sum and no average: the row is refused if one of them is requested.
  Value of_row(Eval& eval, const Column& in) const {
    double sum = 0, least = 0, most = 0;
    int64_t count = 0;
    for (uint64_t at = in.offsets[eval.row]; at < in.offsets[eval.row + 1]; ++at) {
      const Value value = element_at(in, at);
      if (value.missing() || (is_real(value.type) && std::isnan(value.real))) continue;
      count += 1;
      if (is_text(in.element)) continue;
      const double number = real_of(value);
      sum += number;
      least = count == 1 ? number : std::min(least, number);
      most = count == 1 ? number : std::max(most, number);
    }
    const std::string_view name = stages::kAggregateFunctionWords[static_cast<size_t>(function_)];
    switch (function_) {
      case Function::Count: return number_of(eval, type_, static_cast<double>(count), name);
      case Function::Sum: return count == 0 ? Value() : number_of(eval, type_, sum, name);
      case Function::Average:
        return count == 0 ? Value()
                          : number_of(eval, type_, sum / static_cast<double>(count), name);
      case Function::Min:
      case Function::Max: break;
    }
    if (count == 0)
      return eval.fail("function " + std::string(name) + ": expected values, got none");
    return number_of(eval, type_, function_ == Function::Min ? least : most, name);
  }

  Function function_ = Function::Count;
};

}  // namespace

std::unique_ptr<Stage> make_aggregate(StageSpec& spec) { return std::make_unique<Aggregate>(spec); }

}  // namespace serval::tabular::pmml
