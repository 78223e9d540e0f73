// Kinds of stage that every importer uses: derive (expressions into columns) and pick (entries of a
// table by index). Hot path, any thread.
#include <algorithm>
#include <cmath>

#include "tabular/expression.h"

namespace serval::tabular {
namespace {

// outputs[i] = expressions[i], of the column's type in the plan. `deferred`: a failing row is
// refused where it is read, not here. `ansi`: Spark's ANSI mode; `written`: the expressions as SQL,
// for errors.
class Derive final : public Stage {
 public:
  explicit Derive(StageSpec& spec)
      : place_(spec.place),
        expressions_(spec.expressions(stages::derive::expressions)),
        deferred_(spec.flag(stages::derive::deferred)),
        ansi_(spec.flag(stages::derive::ansi)) {
    if (spec.has(stages::derive::written)) written_ = spec.texts(stages::derive::written);
    written_.resize(expressions_.size());
    spec.expect_inputs(0, 0);
    spec.expect_outputs(expressions_.size(), expressions_.size());
    for (const uint32_t column : spec.outputs) {
      outputs_.push_back({column, spec.column_type(column), spec.column_element(column)});
    }
  }

  OnFailure on_failure() const override { return OnFailure::Own; }
  Status run(Run& run, Rows rows) const override {
    for (size_t i = 0; i < expressions_.size(); ++i) {
      const Output& out = outputs_[i];
      const Expression::Filled filled{.out = out.column,
                                      .type = out.type,
                                      .element = out.element,
                                      .deferred = deferred_,
                                      .ansi = ansi_,
                                      .written = written_[i]};
      Status done = expressions_[i]->fill(run, rows, filled, place_);
      if (!done.ok()) return done;
    }
    return {};
  }

 private:
  struct Output {
    uint32_t column;
    Type type, element;
  };
  std::string place_;
  std::vector<std::unique_ptr<Expression>> expressions_;
  bool deferred_, ansi_;
  std::vector<std::string_view> written_;
  std::vector<Output> outputs_;
};

// The index of a row; -1: missing, or not below `count`.
int64_t index_at(const Column& index, uint32_t row, int64_t count) {
  if (!index.valid(row)) return -1;
  const int64_t at = index.integers[row];
  return at < count ? std::max<int64_t>(at, -1) : -1;
}

template <typename T, typename List>
void pick_scalars(Rows rows, const Column& index, const List& table, std::vector<T> Column::*values,
                  Column& out) {
  const auto count = static_cast<int64_t>(table.size());
  for (uint32_t i = 0; i < rows.count; ++i) {
    const int64_t at = index_at(index, rows[i], count);
    if (at < 0) out.set_missing(rows[i]);
    else (out.*values)[rows[i]] = table[static_cast<size_t>(at)];
  }
}

// output = table[index]; a Vector of `width` reals where the table has more than one for an index.
// With `nan_is_missing` an entry of NaN (a vector's first number) says that there is none.
class Pick final : public Stage {
 public:
  explicit Pick(StageSpec& spec)
      : place_(spec.place),
        reals_(spec.reals(stages::pick::reals)),
        integers_(spec.integers(stages::pick::integers)),
        texts_(spec.text_ids(stages::pick::texts)),
        width_(spec.integer(stages::pick::width)),
        nan_is_missing_(spec.flag(stages::pick::nan_is_missing)) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(1, 1);
    if (spec.failed()) return;
    index_ = spec.inputs[0];
    out_ = spec.outputs[0];
    type_ = spec.column_type(out_);
    const int given = spec.has(stages::pick::reals) + spec.has(stages::pick::integers) +
                      spec.has(stages::pick::texts);
    if (given != 1) spec.fail("expected one table, got " + std::to_string(given));
    if (width_ < 1 || reals_.size() % static_cast<size_t>(width_) != 0) {
      spec.fail("a width of " + std::to_string(width_) + " for " + std::to_string(reals_.size()) +
                " numbers");
    }
    const bool fits = type_ == Type::Vector ? spec.has(stages::pick::reals)
                      : type_ == Type::List || type_ == Type::Decimal || type_ == Type::Any ? false
                      : spec.has(stages::pick::reals)    ? is_real(type_) && width_ == 1
                      : spec.has(stages::pick::integers) ? storage_of(type_) == Storage::Integer
                                                         : is_text(type_);
    if (!fits) spec.fail("the table does not fit an output of " + std::string(type_name(type_)));
  }

  Status run(Run& run, Rows rows) const override {
    const Column& index = run.in(index_);
    if (!is_integer(index.type) && index.type != Type::Bool) {
      return invalid_argument(place_ + ": expected an integer to pick by, got " +
                              std::string(type_name(index.type)));
    }
    Column& out = run.out(out_, type_, rows);
    switch (storage_of(type_)) {
      case Storage::Text: pick_scalars(rows, index, texts_, &Column::texts, out); break;
      case Storage::Integer: pick_scalars(rows, index, integers_, &Column::integers, out); break;
      case Storage::Real:
        if (type_ != Type::Vector) pick_reals(rows, index, out);
        else pick_vectors(rows, index, out);
        break;
      case Storage::Decimal: break;
    }
    return {};
  }

 private:
  void pick_reals(Rows rows, const Column& index, Column& out) const {
    pick_scalars(rows, index, reals_, &Column::reals, out);
    if (!nan_is_missing_) return;
    for (uint32_t i = 0; i < rows.count; ++i) {
      if (std::isnan(out.reals[rows[i]])) out.set_missing(rows[i]);
    }
  }

  void pick_vectors(Rows rows, const Column& index, Column& out) const {
    const auto width = static_cast<size_t>(width_);
    const auto count = static_cast<int64_t>(reals_.size() / width);
    for (uint32_t i = 0; i < rows.count; ++i) {
      const int64_t at = index_at(index, rows[i], count);
      if (at < 0) continue;
      const std::span<const double> values = reals_.subspan(static_cast<size_t>(at) * width, width);
      if (nan_is_missing_ && std::isnan(values.front())) continue;
      out.start_row(rows[i]);
      out.reals.insert(out.reals.end(), values.begin(), values.end());
      out.end_row();
    }
  }

  std::string place_;
  std::span<const double> reals_;
  std::span<const int32_t> integers_;
  std::vector<TextId> texts_;
  int32_t width_;
  bool nan_is_missing_;
  uint32_t index_ = 0, out_ = 0;
  Type type_ = Type::Any;
};

template <typename Kind>
std::unique_ptr<Stage> make(StageSpec& spec) {
  return std::make_unique<Kind>(spec);
}

constexpr StageKind kKinds[] = {{stages::derive::kind, make<Derive>},
                                {stages::pick::kind, make<Pick>}};

}  // namespace

std::span<const StageKind> general_kinds() { return kKinds; }

}  // namespace serval::tabular
