// Segments of a MiningModel: which rows each one gets, and whose results count. Hot path, any
// thread. Source: tabular.md 3.3
#include <algorithm>

#include "tabular/pmml/cells.h"
#include "tabular/pmml/kinds.h"

namespace serval::tabular::pmml {
namespace {

// Runs a block for the rows whose predicate is true and, with an input, for which no earlier
// segment ran. Outputs: whether it ran; with an input also whether any has run so far.
class Segment final : public Stage {
 public:
  explicit Segment(StageSpec& spec)
      : place_(spec.place),
        predicate_(spec.expression(stages::pmml_segment::predicate)),
        block_(spec.block(stages::pmml_segment::block)) {
    spec.expect_inputs(0, 1);
    spec.expect_outputs(spec.inputs.empty() ? 1 : 2, spec.inputs.empty() ? 1 : 2);
    if (spec.failed()) return;
    exclusive_ = !spec.inputs.empty();
    if (exclusive_) {
      before_ = spec.inputs[0];
      after_ = spec.outputs[1];
    }
    mask_ = spec.outputs[0];
  }

  Status run(Run& run, Rows rows) const override {
    Column& mask = run.out(mask_, Type::Bool, rows);
    std::vector<uint32_t> chosen;
    Eval eval{run, 0, {}};
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      eval.row = row;
      const Column* before = exclusive_ ? &run.in(before_) : nullptr;
      const bool taken = before != nullptr && before->valid(row) && before->integers[row] != 0;
      const Value value = taken ? Value() : predicate_->value(eval);
      if (eval.failed()) {
        if (Status refused = refuse_failed(run, place_, eval); !refused.ok()) return refused;
        continue;
      }
      if (value.missing() || value.integer == 0) continue;
      mask.integers[row] = 1;
      chosen.push_back(row);
    }
    if (exclusive_) mark(run, rows);
    if (chosen.empty()) {
      block_.skip(run);
      return {};
    }
    if (chosen.size() == rows.count) return block_.run(run, rows);
    return block_.run(run, {static_cast<uint32_t>(chosen.size()), chosen.data()});
  }

 private:
  void mark(Run& run, Rows rows) const {
    Column& after = run.out(after_, Type::Bool, rows);
    const Column& before = run.in(before_);
    const Column& mask = run.in(mask_);
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      const bool taken = before.valid(row) && before.integers[row] != 0;
      after.integers[row] = taken || mask.integers[row] != 0 ? 1 : 0;
    }
  }

  std::string place_;
  std::unique_ptr<Expression> predicate_;
  Block block_;
  uint32_t mask_ = 0, before_ = 0, after_ = 0;
  bool exclusive_ = false;
};

bool is_set(const Column& mask, uint32_t row) { return mask.valid(row) && mask.integers[row] != 0; }

// Input: n masks, then columns. Output: the column of the first mask that is set, or of the last
// mask. `column_of` maps each mask to its column (-1: the row is missing). `refused` is the reason
// for refusing a row that selects a mask (empty: the row is accepted). With `only`, a row with two
// masks set is refused. The numbers of a vector are reordered if `maps` gives the source index of
// each label (-1: zero).
class Choose final : public Stage {
 public:
  explicit Choose(StageSpec& spec)
      : place_(spec.place),
        last_(spec.flag(stages::pmml_choose::last)),
        only_(spec.flag(stages::pmml_choose::only)),
        column_of_(spec.integers(stages::pmml_choose::column_of)),
        maps_(spec.integers(stages::pmml_choose::maps)),
        width_(static_cast<size_t>(std::max(spec.integer(stages::pmml_choose::width), 0))) {
    spec.expect_outputs(1, 1);
    for (const std::string_view reason : spec.texts(stages::pmml_choose::refused))
      refused_.emplace_back(reason);
    const size_t count = column_of_.size();
    const bool known = std::all_of(column_of_.begin(), column_of_.end(), [&](int32_t at) {
      return at == -1 ||
             (at >= static_cast<int64_t>(count) && at < static_cast<int64_t>(spec.inputs.size()));
    });
    if (count == 0 || spec.inputs.size() < count || !known || refused_.size() != count) {
      spec.fail("its masks and columns do not fit together");
    }
    if (spec.failed()) return;
    masks_.assign(spec.inputs.begin(), spec.inputs.begin() + static_cast<ptrdiff_t>(count));
    columns_.assign(spec.inputs.begin() + static_cast<ptrdiff_t>(count), spec.inputs.end());
    out_ = spec.outputs[0];
    type_ = spec.column_type(out_);
    element_ = spec.column_element(out_);
    if (type_ == Type::Vector && maps_.size() != count * width_) spec.fail("a map for each column");
    if (type_ == Type::List && !is_text(element_)) spec.fail("lists are of text");
  }

  Status run(Run& run, Rows rows) const override {
    for (const uint32_t column : columns_) {
      const Type type = run.in(column).type;
      const bool list = type == Type::Vector || type == Type::List;
      const bool same = storage_of(type) == storage_of(type_) ||
                        (is_real(type_) && storage_of(type) == Storage::Integer);
      if (list || type_ == Type::Vector || type_ == Type::List ? type == type_ : same) continue;
      return invalid_argument(place_ + ": segments give results of different types");
    }
    Column& out = run.out(out_, type_, rows, element_);
    for (uint32_t i = 0; i < rows.count; ++i) {
      const int64_t chosen = choose(run, rows[i]);
      if (Status refused = refuse(run, rows[i], chosen); !refused.ok()) return refused;
      const int32_t at = chosen < 0 ? -1 : column_of_[static_cast<size_t>(chosen)];
      const Column* from =
          at < 0 ? nullptr : &run.in(columns_[static_cast<size_t>(at) - masks_.size()]);
      if (from == nullptr || from->state(rows[i]) == State::Missing) {
        if (type_ != Type::Vector && type_ != Type::List) out.set_missing(rows[i]);
        continue;
      }
      if (type_ == Type::Vector) put_vector(*from, static_cast<size_t>(chosen), rows[i], out);
      else if (type_ == Type::List) put_list(*from, rows[i], out);
      else put(out, rows[i], from->value(rows[i]));
    }
    return {};
  }

 private:
  Status refuse(Run& run, uint32_t row, int64_t chosen) const {
    if (chosen < 0) return {};
    const std::string& reason = refused_[static_cast<size_t>(chosen)];
    if (!reason.empty()) return run.refuse(row, place_, reason);
    if (!only_) return {};
    const auto set = std::count_if(masks_.begin(), masks_.end(),
                                   [&](uint32_t mask) { return is_set(run.in(mask), row); });
    if (set < 2) return {};
    return run.refuse(row, place_, "more than one segment of the chain returns the same target");
  }

  int64_t choose(const Run& run, uint32_t row) const {
    for (size_t i = 0; i < masks_.size(); ++i) {
      const size_t at = last_ ? masks_.size() - 1 - i : i;
      if (is_set(run.in(masks_[at]), row)) return static_cast<int64_t>(at);
    }
    return -1;
  }

  void put_vector(const Column& from, size_t which, uint32_t row, Column& out) const {
    const std::span<const double> values = from.row_reals(row);
    out.start_row(row);
    for (const int32_t at : maps_.subspan(which * width_, width_)) {
      const bool there = at >= 0 && static_cast<size_t>(at) < values.size();
      out.reals.push_back(there ? values[static_cast<size_t>(at)] : 0);
    }
    out.end_row();
  }

  static void put_list(const Column& from, uint32_t row, Column& out) {
    const std::span<const TextId> values = from.row_texts(row);
    out.start_row(row);
    out.texts.insert(out.texts.end(), values.begin(), values.end());
    out.end_row();
  }

  std::string place_;
  bool last_, only_;
  std::span<const int32_t> column_of_;
  std::vector<std::string> refused_;
  std::span<const int32_t> maps_;
  size_t width_;
  std::vector<uint32_t> masks_, columns_;
  uint32_t out_ = 0;
  Type type_ = Type::Any, element_ = Type::Any;
};

// n masks, n scalar columns -> a List of those whose masks are set and that are not missing.
class Collect final : public Stage {
 public:
  explicit Collect(StageSpec& spec) : place_(spec.place) {
    spec.expect_outputs(1, 1);
    if (spec.inputs.empty() || spec.inputs.size() % 2 != 0) spec.fail("masks and columns");
    if (spec.failed()) return;
    inputs_.assign(spec.inputs.begin(), spec.inputs.end());
    out_ = spec.outputs[0];
    element_ = spec.column_element(out_);
    if (spec.column_type(out_) != Type::List || element_ == Type::Decimal) {
      spec.fail("its output is a list, and not of decimals");
    }
  }

  Status run(Run& run, Rows rows) const override {
    const size_t count = inputs_.size() / 2;
    for (size_t i = 0; i < count; ++i) {
      const Type type = run.in(inputs_[count + i]).type;
      if (type == Type::Vector || type == Type::List || storage_of(type) != storage_of(element_)) {
        return invalid_argument(place_ + ": segments give results of different types");
      }
    }
    Column& out = run.out(out_, Type::List, rows, element_);
    for (uint32_t i = 0; i < rows.count; ++i) {
      out.start_row(rows[i]);
      for (size_t k = 0; k < count; ++k) {
        const Column& from = run.in(inputs_[count + k]);
        if (is_set(run.in(inputs_[k]), rows[i]) && !missing_at(from, rows[i])) {
          append(out, from.value(rows[i]));
        }
      }
      out.end_row();
    }
    return {};
  }

 private:
  std::string place_;
  std::vector<uint32_t> inputs_;
  uint32_t out_ = 0;
  Type element_ = Type::Any;
};

}  // namespace

std::unique_ptr<Stage> make_segment(StageSpec& spec) { return std::make_unique<Segment>(spec); }
std::unique_ptr<Stage> make_choose(StageSpec& spec) { return std::make_unique<Choose>(spec); }
std::unique_ptr<Stage> make_collect(StageSpec& spec) { return std::make_unique<Collect>(spec); }

}  // namespace serval::tabular::pmml
