// The stage kinds `linear_shap`: Shapley values of linear models, for requests that ask for it, and
// `explained_sum`: those of sums of models. The value of a feature of a linear model is its
// coefficient times its difference to the mean over the background rows. Hot path; any thread.
// Source: Lundberg, Lee: A unified approach to interpreting model predictions, corollary 1.
#include <algorithm>

#include "tabular/features/columns.h"
#include "tabular/models/kinds.h"

namespace serval::tabular {
namespace {

class LinearShap final : public ColumnStage {
 public:
  explicit LinearShap(StageSpec& spec)
      : ColumnStage(spec),
        coefficients_(spec.reals(stages::linear_shap::coefficients)),
        intercepts_(spec.reals(stages::linear_shap::intercepts)),
        vector_(spec.flag(stages::linear_shap::vector)),
        unmeant_(spec.text(stages::linear_shap::unmeant)) {
    const auto means = spec.reals(stages::linear_shap::means);
    spec.expect_outputs(2, 2);
    if (vector_) spec.expect_inputs(1, 1);
    if (intercepts_.empty() || coefficients_.size() % intercepts_.size() != 0) {
      spec.fail("expected as many coefficients for each intercept");
    }
    if (spec.failed()) return;
    width_ = coefficients_.size() / intercepts_.size();
    if (!vector_ && inputs_.size() != width_) {
      spec.fail("expected " + std::to_string(width_) + " inputs, got " +
                std::to_string(inputs_.size()));
    }
    if (means.size() != (unmeant_.empty() ? width_ : 0)) {
      spec.fail("expected " + std::to_string(width_) + " means, got " +
                std::to_string(means.size()));
    }
    for (const uint32_t output : spec.outputs) {
      if (spec.column_type(output) == Type::List && spec.column_element(output) == Type::Double) {
        continue;
      }
      spec.fail("an output that is no list of Doubles");
    }
    if (!spec.failed() && unmeant_.empty()) set_means({means.begin(), means.end()});
  }

  bool on_request() const override { return true; }

  Status learn(Run& run, Rows rows) override {
    std::vector<double> means(width_, 0);
    Status read = each_features(run, rows, [&](uint32_t, const double* values) {
      for (size_t i = 0; i < width_; ++i) means[i] += values[i];
    });
    if (!read.ok()) return read;
    for (double& mean : means) mean /= rows.count;
    set_means(std::move(means));
    return {};
  }

  Status run(Run& run, Rows rows) const override {
    if (means_.empty() && width_ > 0)
      return invalid_argument(place_ + ": " + std::string(unmeant_));
    const uint64_t size = uint64_t{width_} * intercepts_.size() * rows.count;
    if (size > run.options.column_values_max) return run.too_many(size, place_);
    Column& values = run.out(outputs_[0], Type::List, rows, Type::Double);
    Column& expected = run.out(outputs_[1], Type::List, rows, Type::Double);
    values.reals.reserve(size);
    return each_features(run, rows, [&](uint32_t row, const double* features) {
      values.start_row(row);
      for (size_t i = 0; i < width_; ++i) {
        for (size_t score = 0; score < intercepts_.size(); ++score) {
          values.reals.push_back(coefficients_[score * width_ + i] * (features[i] - means_[i]));
        }
      }
      values.end_row();
      expected.start_row(row);
      expected.reals.insert(expected.reals.end(), expected_.begin(), expected_.end());
      expected.end_row();
    });
  }

 private:
  void set_means(std::vector<double> means) {
    means_ = std::move(means);
    expected_.assign(intercepts_.begin(), intercepts_.end());
    for (size_t score = 0; score < expected_.size(); ++score) {
      for (size_t i = 0; i < width_; ++i) {
        expected_[score] += coefficients_[score * width_ + i] * means_[i];
      }
    }
  }

  // Calls each(row, features) for rows that have features. Errors: invalid_argument naming a column
  // or row.
  template <typename Each>
  Status each_features(Run& run, Rows rows, Each&& each) const {
    std::vector<double> room(width_);
    if (!vector_) return each_scalars(run, rows, room, each);
    return each_vector(
        run, rows,
        [&](uint32_t row, const VectorRow& in) {
          std::string fault = wrong_size(width_, in);
          if (fault.empty()) each(row, dense_values(in, room));
          return fault;
        },
        [](uint32_t) {});
  }

  // Missing values and NaN are 0.
  template <typename Each>
  Status each_scalars(Run& run, Rows rows, std::vector<double>& room, Each&& each) const {
    for (size_t i = 0; i < width_; ++i) {
      const Column& column = run.in(inputs_[i]);
      if (!Numbers::reads(column) && !all_missing(column, rows)) {
        return mismatch(i, column, "a number");
      }
    }
    for (uint32_t at = 0; at < rows.count; ++at) {
      for (size_t i = 0; i < width_; ++i) {
        const Column& column = run.in(inputs_[i]);
        const double value = column.valid(rows[at]) ? Numbers(column)[rows[at]] : 0;
        room[i] = value == value ? value : 0;
      }
      each(rows[at], room.data());
    }
    return {};
  }

  std::span<const double> coefficients_, intercepts_;
  bool vector_;
  std::string_view unmeant_;
  size_t width_ = 0;
  std::vector<double> means_, expected_;
};

// Lists of Doubles -> a list of their sums.
class ExplainedSum final : public ColumnStage {
 public:
  explicit ExplainedSum(StageSpec& spec)
      : ColumnStage(spec),
        weights_(spec.reals(stages::explained_sum::weights)),
        counts_(spec.integers(stages::explained_sum::counts)),
        places_(spec.integers(stages::explained_sum::places)),
        base_(spec.reals(stages::explained_sum::base)) {
    const int32_t size = spec.integer(stages::explained_sum::size);
    spec.expect_outputs(1, 1);
    uint64_t total = 0;
    bool fits = weights_.size() == inputs_.size() && counts_.size() == inputs_.size() && size > 0;
    for (const int32_t count : counts_) {
      fits = fits && count >= 0;
      total += static_cast<uint64_t>(std::max(count, 0));
    }
    for (const int32_t place : places_) fits = fits && place >= 0 && place < size;
    fits = fits && total == places_.size();
    fits = fits && (base_.empty() || base_.size() == static_cast<size_t>(size));
    if (!fits) spec.fail("the weights, counts and places do not fit each other");
    size_ = static_cast<size_t>(std::max(size, 0));
    for (const uint32_t column : spec.inputs) expect_list(spec, column, "an input");
    for (const uint32_t column : spec.outputs) expect_list(spec, column, "an output");
  }

  bool on_request() const override { return true; }

  Status run(Run& run, Rows rows) const override {
    const uint64_t all = uint64_t{size_} * rows.count;
    if (all > run.options.column_values_max) return run.too_many(all, place_);
    Column& out = run.out(outputs_[0], Type::List, rows, Type::Double);
    out.reals.reserve(all);
    return each_row(run, rows, out, [&](uint32_t row) {
      double* const sums = append_dense(out, size_);
      for (size_t i = 0; i < base_.size(); ++i) sums[i] = base_[i];
      const int32_t* place = places_.data();
      for (size_t i = 0; i < inputs_.size(); ++i) {
        const Column& in = run.in(inputs_[i]);
        if (!in.valid(row)) return missing(i);
        const VectorRow values = Vectors(in)[row];
        const auto count = static_cast<size_t>(counts_[i]);
        std::string fault = wrong_size(count, values, i);
        if (!fault.empty()) return fault;
        for (size_t k = 0; k < count; ++k) sums[*place++] += weights_[i] * values.values[k];
      }
      out.end_row();
      return std::string();
    });
  }

 private:
  static void expect_list(StageSpec& spec, uint32_t column, const char* what) {
    if (spec.column_type(column) == Type::List && spec.column_element(column) == Type::Double) {
      return;
    }
    spec.fail(std::string(what) + " that is no list of Doubles");
  }

  std::span<const double> weights_;
  std::span<const int32_t> counts_, places_;
  std::span<const double> base_;
  size_t size_ = 0;
};

std::unique_ptr<Stage> make_linear_shap(StageSpec& spec) {
  return std::make_unique<LinearShap>(spec);
}

constexpr StageKind kContributionKinds[] = {
    {stages::linear_shap::kind, make_linear_shap},
    {stages::explained_sum::kind, make_stage<ExplainedSum>},
};

}  // namespace

std::span<const StageKind> contribution_kinds() { return kContributionKinds; }

}  // namespace serval::tabular
