// PMML's expressions that are tables: NormContinuous, NormDiscrete, Discretize, MapValues. Hot
// path, any thread. Source: tabular.md 3.3
#include <algorithm>
#include <array>
#include <unordered_map>

#include "tabular/pmml/cells.h"
#include "tabular/pmml/kinds.h"

namespace serval::tabular::pmml {
namespace {

// Base of all tables: holds the output for a missing input.
class Table : public OneOutput {
 public:
  Table(StageSpec& spec, size_t most_inputs) : OneOutput(spec, 1, most_inputs) {
    if (!spec.failed()) map_missing_ = one_value(spec, stages::pmml_table::map_missing, type_);
  }
  OnFailure on_failure() const override { return OnFailure::Pass; }

 protected:
  static void put_or_missing(Column& out, uint32_t row, const std::optional<Value>& value) {
    if (value) put(out, row, *value);
    else out.set_missing(row);
  }
  // Calls `put_number(number, out, row)` for each row whose numeric input is present.
  template <typename PutNumber>
  Status each_number(Run& run, Rows rows, PutNumber put_number) const {
    const Column& in = run.in(in_);
    if (!is_scalar_number(in.type)) {
      return invalid_argument(place_ + ": expected a number, got " +
                              std::string(type_name(in.type)));
    }
    Column& out = run.out(out_, type_, rows);
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      if (missing_at(in, row)) put_or_missing(out, row, map_missing_);
      else put_number(real_at(in, row), out, row);
    }
    return {};
  }

  std::optional<Value> map_missing_;
};

class NormContinuous final : public Table {
 public:
  explicit NormContinuous(StageSpec& spec)
      : Table(spec, 1),
        orig_(spec.reals(stages::pmml_norm_continuous::orig)),
        norm_(spec.reals(stages::pmml_norm_continuous::norm)) {
    const stages::Outliers outliers = spec.choice(stages::pmml_norm_continuous::outliers);
    missing_outliers_ = outliers == stages::Outliers::AsMissing;
    clamps_ = outliers == stages::Outliers::AsExtreme;
    if (orig_.size() < 2 || orig_.size() != norm_.size()) spec.fail("expected two points or more");
    if (!std::is_sorted(orig_.begin(), orig_.end())) spec.fail("its points are not in order");
    if (!is_real(type_)) spec.fail("its output is a real number");
  }

  Status run(Run& run, Rows rows) const override {
    return each_number(
        run, rows, [this](double value, Column& out, uint32_t row) { normalise(value, out, row); });
  }

 private:
  void normalise(double value, Column& out, uint32_t row) const {
    const size_t last = orig_.size() - 1;
    if (value < orig_[0] || value > orig_[last]) {
      if (missing_outliers_) {
        out.set_missing(row);
        return;
      }
      if (clamps_) {
        out.reals[row] = without_sign_of_zero(value < orig_[0] ? norm_[0] : norm_[last]);
        return;
      }
    }
    const auto above = std::upper_bound(orig_.begin() + 1, orig_.end() - 1, value);
    const auto at = static_cast<size_t>(above - orig_.begin());
    const double part = (value - orig_[at - 1]) / (orig_[at] - orig_[at - 1]);
    out.reals[row] = without_sign_of_zero(norm_[at - 1] + part * (norm_[at] - norm_[at - 1]));
  }

  std::span<const double> orig_, norm_;
  bool missing_outliers_ = false, clamps_ = false;
};

class NormDiscrete final : public Table {
 public:
  explicit NormDiscrete(StageSpec& spec) : Table(spec, 1) {
    const std::vector<Value> values = spec.values(stages::pmml_norm_discrete::value);
    if (values.size() != 1) spec.fail("expected one value");
    else value_ = values.front();
    if (!is_real(type_)) spec.fail("its output is a real number");
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(in_);
    if (storage_of(in.type) != storage_of(value_.type)) {
      return invalid_argument(place_ + ": expected " + std::string(type_name(value_.type)) +
                              ", got " + std::string(type_name(in.type)));
    }
    const int64_t key = key_of(value_);
    Column& out = run.out(out_, type_, rows);
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      if (missing_at(in, row)) put_or_missing(out, row, map_missing_);
      else out.reals[row] = key_at(in, row) == key ? 1 : 0;
    }
    return {};
  }

 private:
  Value value_;
};

class Discretize final : public Table {
 public:
  explicit Discretize(StageSpec& spec)
      : Table(spec, 1),
        intervals_(intervals_of(spec, stages::pmml_discretize::intervals)),
        results_(values_of(spec, stages::pmml_discretize::results, type_, "a result")),
        default_(one_value(spec, stages::pmml_discretize::otherwise, type_)) {
    if (results_.size() != intervals_.size()) spec.fail("expected a result for each interval");
  }

  Status run(Run& run, Rows rows) const override {
    return each_number(run, rows, [this](double value, Column& out, uint32_t row) {
      const auto found = std::find_if(intervals_.begin(), intervals_.end(),
                                      [&](const Interval& each) { return each.contains(value); });
      if (found == intervals_.end()) put_or_missing(out, row, default_);
      else put(out, row, results_[static_cast<size_t>(found - intervals_.begin())]);
    });
  }

 private:
  std::vector<Interval> intervals_;
  std::vector<Value> results_;
  std::optional<Value> default_;
};

constexpr size_t kColumnsMax = 64;

class MapValues final : public Table {
 public:
  explicit MapValues(StageSpec& spec)
      : Table(spec, kColumnsMax),
        inputs_(spec.inputs.begin(), spec.inputs.end()),
        results_(values_of(spec, stages::pmml_map_values::results, type_, "a result")),
        default_(one_value(spec, stages::pmml_map_values::otherwise, type_)) {
    const std::vector<Value> keys = spec.values(stages::pmml_map_values::keys);
    if (keys.size() != inputs_.size() * results_.size()) {
      spec.fail("expected a key of each input for each result");
    }
    if (spec.failed()) return;
    std::vector<std::span<const Value>> columns;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      columns.push_back(std::span(keys).subspan(i * results_.size(), results_.size()));
    }
    for (size_t row = 0; row < results_.size(); ++row) {
      uint64_t hash = 0;
      for (const auto& column : columns) {
        keys_.push_back(key_of(column[row]));
        hash = mixed(hash, keys_.back());
      }
      index_.emplace(hash, static_cast<uint32_t>(row));
    }
    for (const auto& column : columns) {
      storages_.push_back(column.empty() ? Storage::Text : storage_of(column.front().type));
    }
  }

  Status run(Run& run, Rows rows) const override {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Type type = run.in(inputs_[i]).type;
      if (results_.empty() || storage_of(type) == storages_[i]) continue;
      return invalid_argument(place_ + ": a column of " + std::string(type_name(type)) +
                              " does not fit the table");
    }
    Column& out = run.out(out_, type_, rows);
    for (uint32_t i = 0; i < rows.count; ++i) look_up(run, rows[i], out);
    return {};
  }

 private:
  static uint64_t mixed(uint64_t hash, int64_t key) {
    hash = (hash ^ static_cast<uint64_t>(key)) * 0x9E3779B97F4A7C15ULL;
    return hash ^ (hash >> 32);
  }

  // The first row of the table whose keys match.
  void look_up(Run& run, uint32_t row, Column& out) const {
    std::array<int64_t, kColumnsMax> keys;
    uint64_t hash = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const Column& in = run.in(inputs_[i]);
      if (missing_at(in, row)) {
        put_or_missing(out, row, map_missing_);
        return;
      }
      keys[i] = key_at(in, row);
      hash = mixed(hash, keys[i]);
    }
    uint32_t best = UINT32_MAX;
    const auto [begin, end] = index_.equal_range(hash);
    for (auto at = begin; at != end; ++at) {
      const int64_t* own = keys_.data() + at->second * inputs_.size();
      if (at->second < best && std::equal(own, own + inputs_.size(), keys.begin())) {
        best = at->second;
      }
    }
    if (best == UINT32_MAX) put_or_missing(out, row, default_);
    else put(out, row, results_[best]);
  }

  std::vector<uint32_t> inputs_;
  std::vector<Value> results_;
  std::optional<Value> default_;
  std::vector<int64_t> keys_;  // of all rows, consecutive
  std::vector<Storage> storages_;
  std::unordered_multimap<uint64_t, uint32_t> index_;
};

}  // namespace

std::unique_ptr<Stage> make_norm_continuous(StageSpec& spec) {
  return std::make_unique<NormContinuous>(spec);
}
std::unique_ptr<Stage> make_norm_discrete(StageSpec& spec) {
  return std::make_unique<NormDiscrete>(spec);
}
std::unique_ptr<Stage> make_discretize(StageSpec& spec) {
  return std::make_unique<Discretize>(spec);
}
std::unique_ptr<Stage> make_map_values(StageSpec& spec) {
  return std::make_unique<MapValues>(spec);
}

}  // namespace serval::tabular::pmml
