// Regressions that are not linear: isotonic, factorization_machine. Hot path; any thread.
// Source: tabular.md 5.3
#include <algorithm>
#include <bit>
#include <cmath>

#include "tabular/features/columns.h"
#include "tabular/models/kinds.h"

namespace serval::tabular {
namespace {

// Java's order of doubles, for Arrays.binarySearch: -0.0 before 0.0, NaN last.
int compare(double a, double b) {
  if (a < b) return -1;
  if (a > b) return 1;
  const auto x = std::bit_cast<int64_t>(std::isnan(a) ? std::nan("") : a);
  const auto y = std::bit_cast<int64_t>(std::isnan(b) ? std::nan("") : b);
  return x == y ? 0 : x < y ? -1 : 1;
}

// A number, or a value of a Vector -> Double: linear between boundaries, constant outside of them.
class Isotonic final : public ColumnStage {
 public:
  explicit Isotonic(StageSpec& spec)
      : ColumnStage(spec),
        boundaries_(spec.reals(stages::isotonic::boundaries)),
        predictions_(spec.reals(stages::isotonic::predictions)),
        index_(spec.integer(stages::isotonic::index)) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(1, 1);
    if (boundaries_.empty() || boundaries_.size() != predictions_.size()) {
      spec.fail("expected a prediction for each boundary");
    }
    if (!std::is_sorted(boundaries_.begin(), boundaries_.end())) {
      spec.fail("expected boundaries in ascending order");
    }
    if (index_ < 0) spec.fail("a feature index of " + std::to_string(index_));
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(inputs_[0]);
    Column& out = run.out(outputs_[0], Type::Double, rows);
    if (!Numbers::reads(in)) {
      const auto each = [&](uint32_t row, const VectorRow& vector) -> std::string {
        const auto index = static_cast<size_t>(index_);
        if (index >= vector.size) {
          return "column '" + names_[0] + "': expected a vector of " + std::to_string(index + 1) +
                 " values or more, got " + std::to_string(vector.size);
        }
        out.reals[row] = predict(vector.at(index));
        return {};
      };
      return each_vector(run, rows, each, [&](uint32_t row) { out.set_missing(row); });
    }
    const Numbers numbers(in);
    return each_row(run, rows, out, [&](uint32_t row) {
      if (!in.valid(row)) return missing(0);
      out.reals[row] = predict(numbers[row]);
      return std::string();
    });
  }

 private:
  double predict(double x) const {
    // Java's binary search, which may find any of several equal boundaries.
    int64_t low = 0, high = static_cast<int64_t>(boundaries_.size()) - 1;
    while (low <= high) {
      const int64_t middle = (low + high) >> 1;
      const int order = compare(boundaries_[static_cast<size_t>(middle)], x);
      if (order == 0) return predictions_[static_cast<size_t>(middle)];
      if (order < 0) low = middle + 1;
      else high = middle - 1;
    }
    const auto above = static_cast<size_t>(low);
    if (above == 0) return predictions_.front();
    if (above == boundaries_.size()) return predictions_.back();
    const double x1 = boundaries_[above - 1], x2 = boundaries_[above];
    const double y1 = predictions_[above - 1], y2 = predictions_[above];
    return y1 + (y2 - y1) * (x - x1) / (x2 - x1);
  }

  std::span<const double> boundaries_, predictions_;
  int32_t index_;
};

// Linear part and pairwise products by factors [features, size]. -> Double, or (-score, score).
class FactorizationMachine final : public ColumnStage {
 public:
  explicit FactorizationMachine(StageSpec& spec)
      : ColumnStage(spec),
        intercept_(spec.real(stages::factorization_machine::intercept)),
        linear_(spec.reals(stages::factorization_machine::linear)),
        factors_(spec.reals(stages::factorization_machine::factors)),
        mirror_(spec.flag(stages::factorization_machine::mirror)) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(1, 1);
    const int32_t size = spec.integer(stages::factorization_machine::size);
    size_ = static_cast<size_t>(std::max(size, 0));
    if (size < 1 || factors_.size() % size_ != 0) {
      spec.fail("expected factors of " + std::to_string(size) + " values");
      return;
    }
    features_ = factors_.size() / size_;
    if (linear_.size() != features_) spec.fail("expected a coefficient for each feature");
  }

  Status run(Run& run, Rows rows) const override {
    Column& out = run.out(outputs_[0], mirror_ ? Type::Vector : Type::Double, rows);
    std::vector<double> sums;
    const auto each = [&](uint32_t row, const VectorRow& in) -> std::string {
      std::string fault = wrong_size(features_, in);
      if (!fault.empty()) return fault;
      const double score = score_of(in, sums);
      if (!mirror_) {
        out.reals[row] = score;
        return {};
      }
      out.start_row(row);
      out.reals.push_back(-score);
      out.reals.push_back(score);
      out.end_row();
      return {};
    };
    return each_vector(run, rows, each, [&](uint32_t row) {
      if (!mirror_) out.set_missing(row);
    });
  }

 private:
  // `sums`: work area for the sum and the sum of squares of each factor.
  double score_of(const VectorRow& in, std::vector<double>& sums) const {
    sums.assign(2 * size_, 0);
    double* sum = sums.data();
    double* squares = sums.data() + size_;
    in.for_each([&](size_t feature, double value) {
      const double* factor = factors_.data() + feature * size_;
      for (size_t k = 0; k < size_; ++k) {
        const double product = factor[k] * value;
        squares[k] += product * product;
        sum[k] += product;
      }
    });
    double score = intercept_ + in.dot(linear_.data());
    for (size_t k = 0; k < size_; ++k) score += 0.5 * (sum[k] * sum[k] - squares[k]);
    return score;
  }

  double intercept_;
  std::span<const double> linear_, factors_;
  size_t size_ = 0, features_ = 0;
  bool mirror_;
};

constexpr StageKind kCurvesKinds[] = {
    {stages::isotonic::kind, make_stage<Isotonic>},
    {stages::factorization_machine::kind, make_stage<FactorizationMachine>},
};

}  // namespace

std::span<const StageKind> curve_kinds() { return kCurvesKinds; }

}  // namespace serval::tabular
