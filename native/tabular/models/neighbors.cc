// Nearest training rows: nearest_rows. Hot path; any thread.
// Source: scikit-learn's neighbors/_base.py, _classification.py, _regression.py
#include <algorithm>
#include <cmath>
#include <limits>

#include "tabular/features/columns.h"
#include "tabular/models/kinds.h"

namespace serval::tabular {
namespace {

constexpr double kFarthestRow = std::numeric_limits<double>::infinity();

// Vector -> Vector: the mean of the values of the nearest rows. All rows are compared; sums run in
// the order of the features, then in that of the distances.
class NearestRows final : public VectorStage {
 public:
  explicit NearestRows(StageSpec& spec)
      : VectorStage(spec, false),
        rows_(spec.reals(stages::nearest_rows::rows)),
        values_(spec.reals(stages::nearest_rows::values)),
        metric_(spec.choice(stages::nearest_rows::metric)),
        p_(spec.real(stages::nearest_rows::p)),
        by_distance_(spec.flag(stages::nearest_rows::by_distance)) {
    const int32_t count = spec.integer(stages::nearest_rows::count),
                  neighbors = spec.integer(stages::nearest_rows::neighbors);
    if (count < 1 || rows_.size() % static_cast<size_t>(count) != 0 || values_.empty() ||
        values_.size() % static_cast<size_t>(count) != 0) {
      spec.fail("the rows and their values do not fit each other");
      return;
    }
    if (neighbors < 1 || neighbors > count) {
      spec.fail("expected 1 to " + std::to_string(count) + " neighbors, got " +
                std::to_string(neighbors));
      return;
    }
    if (!(p_ > 0)) {
      spec.fail("p: expected a number above 0");
      return;
    }
    count_ = static_cast<size_t>(count);
    neighbors_ = static_cast<size_t>(neighbors);
    features_ = rows_.size() / count_;
    width_ = values_.size() / count_;
  }

 private:
  using Metric = stages::NeighborMetric;
  struct Near {
    double distance;  // of euclidean: its square, of minkowski: its power
    size_t row;
    bool operator<(const Near& other) const {
      return distance < other.distance || (distance == other.distance && row < other.row);
    }
  };

  std::string answer(const VectorRow& in, Column& out, size_t& size) const override {
    std::string fault = wrong_size(features_, in);
    if (!fault.empty()) return fault;
    thread_local std::vector<double> room;
    thread_local std::vector<Near> all;
    const double* x = dense_values(in, room);
    all.resize(count_);
    for (size_t row = 0; row < count_; ++row) {
      const double distance = apart(x, rows_.data() + row * features_);
      all[row] = {distance == distance ? distance : kFarthestRow, row};
    }
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(neighbors_);
    std::partial_sort(all.begin(), end, all.end());
    size = width_;
    average({all.data(), neighbors_}, append_dense(out, width_));
    return {};
  }

  double apart(const double* x, const double* row) const {
    double sum = 0;
    switch (metric_) {
      case Metric::Euclidean:
        for (size_t i = 0; i < features_; ++i) sum += (x[i] - row[i]) * (x[i] - row[i]);
        return sum;
      case Metric::Manhattan:
        for (size_t i = 0; i < features_; ++i) sum += std::abs(x[i] - row[i]);
        return sum;
      case Metric::Chebyshev:
        for (size_t i = 0; i < features_; ++i) sum = std::max(sum, std::abs(x[i] - row[i]));
        return sum;
      case Metric::Minkowski:
        for (size_t i = 0; i < features_; ++i) sum += std::pow(std::abs(x[i] - row[i]), p_);
        return sum;
    }
    return sum;
  }

  double distance_of(const Near& near) const {
    if (metric_ == Metric::Euclidean) return std::sqrt(near.distance);
    return metric_ == Metric::Minkowski ? std::pow(near.distance, 1 / p_) : near.distance;
  }

  void average(std::span<const Near> nearest, double* mean) const {
    const bool is_hit = by_distance_ && nearest.front().distance == 0;
    double total = 0;
    for (const Near& near : nearest) {
      double weight = 1;
      if (is_hit) weight = near.distance == 0 ? 1 : 0;
      else if (by_distance_) weight = 1 / distance_of(near);
      total += weight;
      const double* values = values_.data() + near.row * width_;
      for (size_t i = 0; i < width_; ++i) mean[i] += values[i] * weight;
    }
    for (size_t i = 0; i < width_; ++i) mean[i] /= total;
  }

  std::span<const double> rows_, values_;
  Metric metric_;
  double p_;
  bool by_distance_;
  size_t count_ = 0, neighbors_ = 0, features_ = 0, width_ = 0;
};

constexpr StageKind kNeighborKinds[] = {
    {stages::nearest_rows::kind, make_stage<NearestRows>},
};

}  // namespace

std::span<const StageKind> neighbor_kinds() { return kNeighborKinds; }

}  // namespace serval::tabular
