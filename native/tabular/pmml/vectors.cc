// Vectors of scores by label: made of columns, classified by, and taken apart. Hot path, any
// thread. Source: tabular.md 3.3
#include <algorithm>

#include "tabular/pmml/cells.h"
#include "tabular/pmml/kinds.h"

namespace serval::tabular::pmml {
namespace {

// inputs: scalars -> one Vector; missing if an input is.
class Vector final : public OneOutput {
 public:
  explicit Vector(StageSpec& spec)
      : OneOutput(spec, 1, SIZE_MAX), inputs_(spec.inputs.begin(), spec.inputs.end()) {}

  Status run(Run& run, Rows rows) const override {
    for (const uint32_t column : inputs_) {
      const Type type = run.in(column).type;
      if (is_scalar_number(type)) continue;
      return invalid_argument(place_ + ": expected numbers, got " + std::string(type_name(type)));
    }
    Column& out = run.out(out_, Type::Vector, rows);
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      const bool missing = std::any_of(inputs_.begin(), inputs_.end(), [&](uint32_t column) {
        return missing_at(run.in(column), row);
      });
      if (missing) continue;
      out.start_row(row);
      for (const uint32_t column : inputs_) out.reals.push_back(real_at(run.in(column), row));
      out.end_row();
    }
    return {};
  }

 private:
  std::vector<uint32_t> inputs_;
};

// Vector -> the label of its largest number (NaN is the largest); among equals the first one.
class Classify final : public OneOutput {
 public:
  explicit Classify(StageSpec& spec)
      : OneOutput(spec),
        labels_(values_of(spec, stages::pmml_classify::labels, type_, "a label")) {}

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(in_);
    if (in.type != Type::Vector) return invalid_argument(place_ + ": expected a vector");
    Column& out = run.out(out_, type_, rows);
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      const size_t best = in.valid(row) ? java_largest(in.row_reals(row)) : labels_.size();
      if (best >= labels_.size()) out.set_missing(row);
      else put(out, row, labels_[best]);
    }
    return {};
  }

 private:
  std::vector<Value> labels_;
};

// Vector -> its numbers at `index`, one output each (-1: zero, of a label that it has not). With a
// second input, one output: the number of the label that this one is.
class Pick final : public Stage {
 public:
  explicit Pick(StageSpec& spec)
      : place_(spec.place),
        index_(spec.integers(stages::pmml_pick::index)),
        labels_(spec.values(stages::pmml_pick::labels)) {
    spec.expect_inputs(1, 2);
    if (spec.failed()) return;
    inputs_.assign(spec.inputs.begin(), spec.inputs.end());
    outputs_.assign(spec.outputs.begin(), spec.outputs.end());
    const size_t expected = inputs_.size() == 2 ? 1 : index_.size();
    spec.expect_outputs(expected, expected);
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(inputs_[0]);
    if (in.type != Type::Vector) return invalid_argument(place_ + ": expected a vector");
    if (inputs_.size() == 2) return pick_chosen(run, in, rows);
    for (size_t k = 0; k < outputs_.size(); ++k) {
      Column& out = run.out(outputs_[k], Type::Double, rows);
      for (uint32_t i = 0; i < rows.count; ++i) put_at(in, rows[i], index_[k], out);
    }
    return {};
  }

 private:
  static void put_at(const Column& in, uint32_t row, int64_t at, Column& out) {
    if (!in.valid(row)) {
      out.set_missing(row);
      return;
    }
    const std::span<const double> values = in.row_reals(row);
    const bool there = at >= 0 && at < static_cast<int64_t>(values.size());
    out.reals[row] = there ? values[static_cast<size_t>(at)] : 0;
  }

  Status pick_chosen(Run& run, const Column& in, Rows rows) const {
    const Column& chosen = run.in(inputs_[1]);
    Column& out = run.out(outputs_[0], Type::Double, rows);
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      if (missing_at(chosen, row)) out.set_missing(row);
      else put_at(in, row, index_of(labels_, chosen, row), out);
    }
    return {};
  }

  std::string place_;
  std::span<const int32_t> index_;
  std::vector<Value> labels_;
  std::vector<uint32_t> inputs_, outputs_;
};

// Vector of affinities -> of rank k the label, or the number itself.
class Ranked final : public OneOutput {
 public:
  explicit Ranked(StageSpec& spec)
      : OneOutput(spec),
        labels_(spec.text_ids(stages::pmml_ranked::labels)),
        rank_(spec.integer(stages::pmml_ranked::rank)),
        largest_(spec.flag(stages::pmml_ranked::largest)) {
    if (rank_ < 1) spec.fail("a rank is 1 or more");
    if (type_ != Type::Double && type_ != Type::String) spec.fail("it gives a label or a number");
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(in_);
    if (in.type != Type::Vector) return invalid_argument(place_ + ": expected a vector");
    Column& out = run.out(out_, type_, rows);
    std::vector<uint32_t> order;
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      if (in.valid(row)) rank_row(in.row_reals(row), order);
      else order.clear();
      const auto at = static_cast<size_t>(rank_ - 1);
      if (at >= order.size() || (type_ == Type::String && order[at] >= labels_.size())) {
        out.set_missing(row);
      } else if (type_ == Type::String) {
        out.texts[row] = labels_[order[at]];
      } else {
        out.reals[row] = in.row_reals(row)[order[at]];
      }
    }
    return {};
  }

 private:
  void rank_row(std::span<const double> values, std::vector<uint32_t>& order) const {
    order.clear();
    for (uint32_t i = 0; i < values.size(); ++i) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      const int order_of_two = java_order(values[a], values[b]);
      return largest_ ? order_of_two > 0 : order_of_two < 0;
    });
  }

  std::vector<TextId> labels_;
  int32_t rank_;
  bool largest_;
};

// List of text, or Vector -> its element of that rank; missing if it is shorter.
class Element final : public OneOutput {
 public:
  explicit Element(StageSpec& spec)
      : OneOutput(spec), rank_(spec.integer(stages::pmml_element::rank)) {
    if (rank_ < 1) spec.fail("a rank is 1 or more");
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(in_);
    const bool texts = in.type == Type::List && is_text(in.element);
    if (!(texts ? is_text(type_) : in.type == Type::Vector && type_ == Type::Double)) {
      return invalid_argument(place_ + ": expected a list of " + std::string(type_name(type_)));
    }
    Column& out = run.out(out_, type_, rows);
    const auto at = static_cast<size_t>(rank_ - 1);
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      if (!in.valid(row) || at >= in.length(row)) out.set_missing(row);
      else if (texts) out.texts[row] = in.row_texts(row)[at];
      else out.reals[row] = in.row_reals(row)[at];
    }
    return {};
  }

 private:
  int32_t rank_;
};

}  // namespace

std::unique_ptr<Stage> make_vector(StageSpec& spec) { return std::make_unique<Vector>(spec); }
std::unique_ptr<Stage> make_classify(StageSpec& spec) { return std::make_unique<Classify>(spec); }
std::unique_ptr<Stage> make_pick(StageSpec& spec) { return std::make_unique<Pick>(spec); }
std::unique_ptr<Stage> make_ranked(StageSpec& spec) { return std::make_unique<Ranked>(spec); }
std::unique_ptr<Stage> make_element(StageSpec& spec) { return std::make_unique<Element>(spec); }

}  // namespace serval::tabular::pmml
