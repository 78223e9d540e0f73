// A field of a MiningSchema: its missing, invalid and extreme values treated, in the order that
// JPMML has. Hot path, any thread. Source: tabular.md 3.3
#include <algorithm>

#include "tabular/pmml/cells.h"
#include "tabular/pmml/functions/functions.h"
#include "tabular/pmml/kinds.h"

namespace serval::tabular::pmml {
namespace {

enum class Invalid : uint8_t { Refuse, AsIs, AsMissing, Replace };
enum class Outliers : uint8_t { AsIs, AsMissing, AsExtreme };

// Values by their keys; few, so in order.
class Set {
 public:
  Set(StageSpec& spec, std::string_view name, Type type) {
    for (const Value& value : spec.values(name)) {
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
  explicit Field(StageSpec& spec, Type type)
      : place_(spec.place),
        field_(spec.text("field")),
        in_(spec.inputs[0]),
        out_(spec.outputs[0]),
        type_(type),
        valid_(spec, "valid", type),
        invalid_values_(spec, "invalid_values", type),
        missing_values_(spec, "missing_values", type),
        intervals_(intervals_of(spec, "intervals")),
        missing_value_(one_value(spec, "missing_value", type)),
        invalid_value_(one_value(spec, "invalid_value", type)),
        refuse_missing_(spec.flag("refuse_missing")),
        low_(spec.real("low", 0)),
        high_(spec.real("high", 0)) {
    const std::string_view invalid = spec.text("invalid", "refuse");
    if (invalid == "as_is") invalid_ = Invalid::AsIs;
    else if (invalid == "as_missing") invalid_ = Invalid::AsMissing;
    else if (invalid == "replace") invalid_ = Invalid::Replace;
    else if (invalid != "refuse") spec.fail("invalid is '" + std::string(invalid) + "'");
    if (invalid_ == Invalid::Replace && !invalid_value_) spec.fail("there is no invalid_value");
    const std::string_view outliers = spec.text("outliers", "as_is");
    if (outliers == "as_missing") outliers_ = Outliers::AsMissing;
    else if (outliers == "as_extreme") outliers_ = Outliers::AsExtreme;
    else if (outliers != "as_is") spec.fail("outliers is '" + std::string(outliers) + "'");
    const bool numbers = outliers_ != Outliers::AsIs || !intervals_.empty();
    if (numbers && !is_scalar_number(type)) spec.fail("intervals and outliers are of numbers");
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(in_);
    if (storage_of(in.type) != storage_of(type_) || in.type == Type::Vector ||
        in.type == Type::List) {
      return invalid_argument(place_ + ": field '" + field_ + "': expected " +
                              std::string(type_name(type_)) + ", got " +
                              std::string(type_name(in.type)));
    }
    Column& out = run.out(out_, type_, rows);
    for (uint32_t i = 0; i < rows.count; ++i) {
      if (Status done = treat(run, in, out, rows[i]); !done.ok()) return done;
    }
    return {};
  }

 private:
  Status treat(Run& run, const Column& in, Column& out, uint32_t row) const {
    if (missing_at(in, row)) return treat_missing(run, out, row);
    const int64_t key = key_at(in, row);
    if (missing_values_.has(key)) return treat_missing(run, out, row);
    if (is_invalid(in, row, key)) return treat_invalid(run, in, out, row);
    Value value = in.value(row);
    value.state = State::Valid;
    if (outliers_ != Outliers::AsIs) {
      const double number = real_at(in, row);
      if (number < low_ || number > high_) {
        if (outliers_ == Outliers::AsMissing) {
          put_missing(out, row);
          return {};
        }
        const double bound = number < low_ ? low_ : high_;
        value = is_real(type_) ? Value::of_real(type_ == Type::Float
                                                    ? static_cast<double>(static_cast<float>(bound))
                                                    : bound)
                               : Value::of_integer(static_cast<int64_t>(bound));
      }
    }
    put(out, row, value);
    return {};
  }

  bool is_invalid(const Column& in, uint32_t row, int64_t key) const {
    if (invalid_values_.has(key)) return true;
    if (!valid_.empty() && valid_.has(key)) return false;
    if (!intervals_.empty()) {
      const double number = real_at(in, row);
      return std::none_of(intervals_.begin(), intervals_.end(),
                          [&](const Interval& each) { return each.contains(number); });
    }
    return !valid_.empty();
  }

  void put_missing(Column& out, uint32_t row) const {
    if (missing_value_) put(out, row, *missing_value_);
    else out.set_missing(row);
  }

  Status treat_missing(Run& run, Column& out, uint32_t row) const {
    if (refuse_missing_) {
      out.set_missing(row);
      return run.refuse(row, place_, "field '" + field_ + "' must not be missing");
    }
    put_missing(out, row);
    return {};
  }

  Status treat_invalid(Run& run, const Column& in, Column& out, uint32_t row) const {
    switch (invalid_) {
      case Invalid::AsMissing: put_missing(out, row); return {};
      case Invalid::Replace: put(out, row, *invalid_value_); return {};
      case Invalid::AsIs:
        put(out, row, in.value(row));
        out.set_state(row, State::Invalid);
        return {};
      case Invalid::Refuse: break;
    }
    out.set_missing(row);
    const Eval eval{run, row, {}};
    Value value = in.value(row);
    value.state = State::Valid;
    return run.refuse(row, place_,
                      "field '" + field_ + "': value \"" + text_of(eval, value).substr(0, 200) +
                          "\" is not valid");
  }

  std::string place_, field_;
  uint32_t in_, out_;
  Type type_;
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
  const Type type = spec.column_type(spec.outputs[0]);
  if (type == Type::Vector || type == Type::List || type == Type::Any || type == Type::Decimal) {
    spec.fail("a field is a scalar");
    return nullptr;
  }
  return std::make_unique<Field>(spec, type);
}

}  // namespace serval::tabular::pmml
