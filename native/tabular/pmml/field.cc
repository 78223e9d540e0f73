// A field of a MiningSchema: its missing, invalid and extreme values treated, in the order that
// JPMML has; of a list, of each of its values. Hot path, any thread. Source: tabular.md 3.3
#include <algorithm>

#include "tabular/pmml/cells.h"
#include "tabular/pmml/functions/functions.h"
#include "tabular/pmml/kinds.h"

namespace serval::tabular::pmml {
namespace {

using Invalid = stages::InvalidValues;
using Outliers = stages::Outliers;

// Values by their keys; few, so in order.
class Set {
 public:
  Set(StageSpec& spec, const ValuesAttribute& attribute, Type type) {
    for (const Value& value : spec.values(attribute)) {
      if (!fits(type, value) || value.missing())
        spec.fail("a value of the domain has another type");
      else keys_.push_back(is_real(type) ? key_of(as_real(value)) : key_of(value));
    }
    std::sort(keys_.begin(), keys_.end());
  }
  bool empty() const { return keys_.empty(); }
  bool has(int64_t key) const { return std::binary_search(keys_.begin(), keys_.end(), key); }

 private:
  static Value as_real(const Value& value) {
    return is_real(value.type) ? value : Value::of_real(static_cast<double>(value.integer));
  }
  std::vector<int64_t> keys_;
};

class Field final : public Stage {
 public:
  // `list`: lists of values of that type.
  Field(StageSpec& spec, Type type, bool list)
      : place_(spec.place),
        field_(spec.text(stages::pmml_field::field)),
        in_(spec.inputs[0]),
        out_(spec.outputs[0]),
        type_(type),
        list_(list),
        valid_(spec, stages::pmml_field::valid, type),
        invalid_values_(spec, stages::pmml_field::invalid_values, type),
        missing_values_(spec, stages::pmml_field::missing_values, type),
        intervals_(intervals_of(spec, stages::pmml_field::intervals)),
        missing_value_(one_value(spec, stages::pmml_field::missing_value, type)),
        invalid_value_(one_value(spec, stages::pmml_field::invalid_value, type)),
        refuse_missing_(spec.flag(stages::pmml_field::refuse_missing)),
        low_(spec.real(stages::pmml_field::low)),
        high_(spec.real(stages::pmml_field::high)) {
    invalid_ = spec.choice(stages::pmml_field::invalid);
    if (invalid_ == Invalid::Replace && !invalid_value_) spec.fail("there is no invalid_value");
    outliers_ = spec.choice(stages::pmml_field::outliers);
    const bool numbers = outliers_ != Outliers::AsIs || !intervals_.empty();
    if (numbers && !is_scalar_number(type)) spec.fail("intervals and outliers require a number");
  }

  OnFailure on_failure() const override { return OnFailure::Pass; }
  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(in_);
    const bool list = in.type == Type::List;
    if (list != list_ || in.type == Type::Vector ||
        storage_of(list ? in.element : in.type) != storage_of(type_)) {
      return invalid_argument(place_ + ": field '" + field_ + "': expected " +
                              (list_ ? "lists of " : "") + std::string(type_name(type_)) +
                              ", got " + std::string(type_name(in.type)));
    }
    return list_ ? run_lists(run, in, rows) : run_scalars(run, in, rows);
  }

 private:
  Status run_scalars(Run& run, const Column& in, Rows rows) const {
    Column& out = run.out(out_, type_, rows);
    for (uint32_t i = 0; i < rows.count; ++i) {
      Value value = in.value(rows[i]);
      if (Status done = treat(run, rows[i], value); !done.ok()) return done;
      put(out, rows[i], value);
      if (value.state == State::Invalid) out.set_state(rows[i], State::Invalid);
    }
    return {};
  }

  // Each value of a list is treated; what is missing then is left out. A list that is missing may
  // be refused, and is not replaced. Source: JPMML.
  Status run_lists(Run& run, const Column& in, Rows rows) const {
    Column& out = run.out(out_, Type::List, rows, type_);
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      if (!in.valid(row)) {
        Value none;
        if (Status done = treat_missing(run, row, none); !done.ok()) return done;
        continue;
      }
      out.start_row(row);
      for (uint64_t at = in.offsets[row]; at < in.offsets[row + 1]; ++at) {
        Value value = element_at(in, at);
        if (Status done = treat(run, row, value); !done.ok()) return done;
        if (!value.missing()) append(out, value);
      }
      out.end_row();
    }
    return {};
  }

  // In a list, NaN counts as a missing value.
  bool is_nan(const Value& value) const {
    return list_ && is_real(value.type) && std::isnan(value.real);
  }

  // Replaces a value of a row, missing or not, as the field's treatments require.
  Status treat(Run& run, uint32_t row, Value& value) const {
    if (value.missing() || is_nan(value)) return treat_missing(run, row, value);
    const int64_t key = key_of(value);
    if (missing_values_.has(key)) return treat_missing(run, row, value);
    value.state = State::Valid;
    if (is_invalid(value, key)) return treat_invalid(run, row, value);
    if (outliers_ == Outliers::AsIs) return {};
    const double number = real_of(value);
    if (!(number < low_ || number > high_)) return {};
    if (outliers_ == Outliers::AsMissing) {
      value = replacement();
      return {};
    }
    const double bound = number < low_ ? low_ : high_;
    value = is_real(type_)
                ? Value::of_real(
                      type_ == Type::Float ? static_cast<double>(static_cast<float>(bound)) : bound)
                : Value::of_integer(static_cast<int64_t>(bound));
    return {};
  }

  bool is_invalid(const Value& value, int64_t key) const {
    if (invalid_values_.has(key)) return true;
    if (!valid_.empty() && valid_.has(key)) return false;
    if (!intervals_.empty()) {
      const double number = real_of(value);
      return std::none_of(intervals_.begin(), intervals_.end(),
                          [&](const Interval& each) { return each.contains(number); });
    }
    return !valid_.empty();
  }

  // The value that replaces a missing one.
  Value replacement() const { return missing_value_ ? *missing_value_ : Value::missing_of(type_); }

  Status treat_missing(Run& run, uint32_t row, Value& value) const {
    if (refuse_missing_) {
      value = Value::missing_of(type_);
      return run.refuse(row, place_, "field '" + field_ + "' must not be missing");
    }
    value = replacement();
    return {};
  }

  Status treat_invalid(Run& run, uint32_t row, Value& value) const {
    switch (invalid_) {
      case Invalid::AsMissing: value = replacement(); return {};
      case Invalid::Replace: value = *invalid_value_; return {};
      case Invalid::AsIs: value.state = State::Invalid; return {};
      case Invalid::Refuse: break;
    }
    const Eval eval{run, row, {}};
    const std::string text = text_of(eval, value).substr(0, 200);
    value = Value::missing_of(type_);
    return run.refuse(row, place_, "field '" + field_ + "': value \"" + text + "\" is not valid");
  }

  std::string place_, field_;
  uint32_t in_, out_;
  Type type_;
  bool list_;
  Set valid_, invalid_values_, missing_values_;
  std::vector<Interval> intervals_;
  std::optional<Value> missing_value_, invalid_value_;
  bool refuse_missing_;
  double low_, high_;
  Invalid invalid_ = Invalid::Refuse;
  Outliers outliers_ = Outliers::AsIs;
};

}  // namespace

std::unique_ptr<Stage> make_field(StageSpec& spec) {
  spec.expect_inputs(1, 1);
  spec.expect_outputs(1, 1);
  if (spec.failed()) return nullptr;
  const bool list = spec.column_type(spec.outputs[0]) == Type::List;
  const Type type = list ? spec.column_element(spec.outputs[0]) : spec.column_type(spec.outputs[0]);
  if (type == Type::Vector || type == Type::List || type == Type::Any || type == Type::Decimal) {
    spec.fail("a field is a scalar, or a list of scalars");
    return nullptr;
  }
  return std::make_unique<Field>(spec, type, list);
}

}  // namespace serval::tabular::pmml
