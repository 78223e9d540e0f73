// Clusters: k_means, bisecting_k_means, gaussian_mixture. Hot path; any thread.
// Source: tabular.md 5.3
#include <algorithm>
#include <cmath>
#include <limits>

#include "tabular/features/columns.h"
#include "tabular/models/kinds.h"

namespace serval::tabular {
namespace {

constexpr double kFarthest = std::numeric_limits<double>::infinity();

double squared_distance(const double* a, const double* b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    const double off = a[i] - b[i];
    sum += off * off;
  }
  return sum;
}

double dot(const double* a, const double* b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

// Points: finds the one that is nearest to a row's vector.
class Centers {
 public:
  Centers(StageSpec& spec, size_t count) : values_(spec.reals(stages::centers::centers)) {
    cosine_ = spec.choice(stages::centers::distance) == stages::Distance::Cosine;
    if (count == 0 || values_.size() % count != 0) {
      spec.fail("expected the values of " + std::to_string(count) + " centers");
      return;
    }
    width_ = values_.size() / count;
    for (size_t k = 0; k < count; ++k) {
      norms_.push_back(std::sqrt(dot(at(k), at(k), width_)));
      if (cosine_ && norms_.back() == 0) spec.fail("a center of zeros has no cosine distance");
    }
  }

  size_t width() const { return width_; }
  // Returns why the point cannot be compared, or an empty text.
  std::string fault_of(const double* point) const {
    if (!cosine_ || dot(point, point, width_) > 0) return {};
    return "a vector of zeros has no cosine distance";
  }
  // The nearest of `count` points from `first` on; among equals the first.
  size_t nearest(const double* point, size_t first, size_t count) const {
    const double norm = cosine_ ? std::sqrt(dot(point, point, width_)) : 0;
    double least = kFarthest;
    size_t best = first;
    for (size_t k = first; k < first + count; ++k) {
      const double distance = cosine_ ? 1 - dot(at(k), point, width_) / norms_[k] / norm
                                      : squared_distance(at(k), point, width_);
      if (!(distance < least)) continue;
      least = distance;
      best = k;
    }
    return best;
  }

 private:
  const double* at(size_t k) const { return values_.data() + k * width_; }
  std::span<const double> values_;
  std::vector<double> norms_;
  size_t width_ = 0;
  bool cosine_ = false;
};

// Vector -> Int32.
class ClusterStage : public VectorToNumberStage {
 protected:
  ClusterStage(StageSpec& spec, size_t centers)
      : VectorToNumberStage(spec, Type::Int32), centers_(spec, centers) {}
  virtual double cluster_of(const double* point) const = 0;
  Centers centers_;

 private:
  std::string answer(const VectorRow& in, double& out) const final {
    thread_local std::vector<double> room;
    std::string fault = wrong_size(centers_.width(), in);
    if (!fault.empty()) return fault;
    const double* point = dense_values(in, room);
    fault = centers_.fault_of(point);
    if (!fault.empty()) return "column '" + names_[0] + "': " + fault;
    out = cluster_of(point);
    return {};
  }
};

size_t count_of(StageSpec& spec) {
  const int32_t count = spec.integer(stages::k_means::k);
  if (count < 1) spec.fail("expected 1 cluster or more");
  return static_cast<size_t>(std::max(count, 0));
}

class KMeans final : public ClusterStage {
 public:
  explicit KMeans(StageSpec& spec) : ClusterStage(spec, count_of(spec)) { count_ = count_of(spec); }

 private:
  double cluster_of(const double* point) const override {
    return static_cast<double>(centers_.nearest(point, 0, count_));
  }
  size_t count_;
};

class BisectingKMeans final : public ClusterStage {
 public:
  explicit BisectingKMeans(StageSpec& spec)
      : ClusterStage(spec, spec.integers(stages::bisecting_k_means::indices).size()),
        firsts_(spec.integers(stages::bisecting_k_means::firsts)),
        counts_(spec.integers(stages::bisecting_k_means::counts)),
        indices_(spec.integers(stages::bisecting_k_means::indices)) {
    if (firsts_.size() != indices_.size() || counts_.size() != indices_.size()) {
      spec.fail("expected children of each node");
      return;
    }
    for (size_t i = 0; i < indices_.size(); ++i) {
      // Children come after their parents, so every traversal ends.
      const int64_t end = int64_t{firsts_[i]} + counts_[i];
      const bool within = counts_[i] >= 0 && end <= static_cast<int64_t>(indices_.size());
      if (!within || (counts_[i] > 0 && firsts_[i] <= static_cast<int64_t>(i))) {
        spec.fail("node " + std::to_string(i) + " has children that are not after it");
      }
    }
  }

 private:
  double cluster_of(const double* point) const override {
    size_t node = 0;
    while (counts_[node] > 0) {
      node = centers_.nearest(point, static_cast<size_t>(firsts_[node]),
                              static_cast<size_t>(counts_[node]));
    }
    return indices_[node];
  }
  std::span<const int32_t> firsts_, counts_, indices_;
};

// Vector -> probability, prediction.
class GaussianMixture final : public ColumnStage {
 public:
  explicit GaussianMixture(StageSpec& spec)
      : ColumnStage(spec),
        weights_(spec.reals(stages::gaussian_mixture::weights)),
        means_(spec.reals(stages::gaussian_mixture::means)),
        roots_(spec.reals(stages::gaussian_mixture::roots)),
        constants_(spec.reals(stages::gaussian_mixture::constants)) {
    using Role = stages::ProbabilityRole;
    const Roles<Role> roles(spec, stages::gaussian_mixture::roles);
    probability_ = roles[Role::Probability];
    prediction_ = roles[Role::Prediction];
    spec.expect_inputs(1, 1);
    const size_t k = weights_.size();
    if (k == 0 || means_.size() % k != 0 || constants_.size() != k) {
      spec.fail("expected a mean and a constant for each weight");
      return;
    }
    width_ = means_.size() / k;
    if (roots_.size() != k * width_ * width_) spec.fail("expected a matrix for each weight");
  }

  Status run(Run& run, Rows rows) const override {
    Column* probabilities = probability_ ? &run.out(*probability_, Type::Vector, rows) : nullptr;
    Column* predictions = prediction_ ? &run.out(*prediction_, Type::Int32, rows) : nullptr;
    std::vector<double> room, off, answer;
    const auto each = [&](uint32_t row, const VectorRow& in) -> std::string {
      std::string fault = wrong_size(width_, in);
      if (!fault.empty()) return fault;
      probabilities_of(dense_values(in, room), off, answer);
      if (probabilities != nullptr) {
        probabilities->start_row(row);
        probabilities->reals.insert(probabilities->reals.end(), answer.begin(), answer.end());
        probabilities->end_row();
      }
      if (predictions != nullptr) {
        const auto best = std::max_element(answer.begin(), answer.end());
        predictions->integers[row] = best - answer.begin();
      }
      return {};
    };
    const auto none = [&](uint32_t row) {
      if (predictions != nullptr) predictions->set_missing(row);
    };
    return each_vector(run, rows, each, none);
  }

 private:
  void probabilities_of(const double* point, std::vector<double>& off,
                        std::vector<double>& answer) const {
    constexpr double kEpsilon = std::numeric_limits<double>::epsilon();  // Spark adds it
    answer.clear();
    off.resize(width_);
    double sum = 0;
    for (size_t k = 0; k < weights_.size(); ++k) {
      for (size_t i = 0; i < width_; ++i) off[i] = point[i] - means_[k * width_ + i];
      double squares = 0;
      for (size_t i = 0; i < width_; ++i) {
        const double part = dot(roots_.data() + (k * width_ + i) * width_, off.data(), width_);
        squares += part * part;
      }
      answer.push_back(kEpsilon + weights_[k] * std::exp(constants_[k] - 0.5 * squares));
      sum += answer.back();
    }
    for (double& probability : answer) probability /= sum;
  }

  std::span<const double> weights_, means_, roots_, constants_;
  size_t width_ = 0;
  std::optional<uint32_t> probability_, prediction_;
};

constexpr StageKind kClustersKinds[] = {
    {stages::k_means::kind, make_stage<KMeans>},
    {stages::bisecting_k_means::kind, make_stage<BisectingKMeans>},
    {stages::gaussian_mixture::kind, make_stage<GaussianMixture>},
};

}  // namespace

std::span<const StageKind> cluster_kinds() { return kClustersKinds; }

}  // namespace serval::tabular
