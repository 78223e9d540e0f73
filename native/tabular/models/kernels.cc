// Kernel machines: kernel_values, pairwise_coupling. Hot path; any thread.
// Source: scikit-learn's svm/src/libsvm/svm.cpp
#include <algorithm>
#include <cmath>

#include "tabular/features/columns.h"
#include "tabular/java/doubles.h"
#include "tabular/models/kinds.h"

namespace serval::tabular {
namespace {

// Vector -> Vector of its similarities to the support vectors. Sums run in the order of the
// features.
class KernelValues final : public VectorStage {
 public:
  explicit KernelValues(StageSpec& spec)
      : VectorStage(spec, false),
        vectors_(spec.reals(stages::kernel_values::vectors)),
        kernel_(spec.choice(stages::kernel_values::kernel)),
        gamma_(spec.real(stages::kernel_values::gamma)),
        coef0_(spec.real(stages::kernel_values::coef0)),
        degree_(spec.real(stages::kernel_values::degree)) {
    const int32_t count = spec.integer(stages::kernel_values::count);
    if (count < 1 || vectors_.size() % static_cast<size_t>(count) != 0) {
      spec.fail("expected the numbers of " + std::to_string(count) + " vectors, got " +
                std::to_string(vectors_.size()));
      return;
    }
    count_ = static_cast<size_t>(count);
    width_ = vectors_.size() / count_;
  }

 private:
  std::string answer(const VectorRow& in, Column& out, size_t& size) const override {
    std::string fault = wrong_size(width_, in);
    if (!fault.empty()) return fault;
    thread_local std::vector<double> room;
    const double* x = dense_values(in, room);
    size = count_;
    double* values = append_dense(out, count_);
    for (size_t v = 0; v < count_; ++v) values[v] = similarity(x, vectors_.data() + v * width_);
    return {};
  }

  double similarity(const double* x, const double* vector) const {
    double sum = 0;
    if (kernel_ == stages::SvmKernel::RadialBasis) {
      for (size_t i = 0; i < width_; ++i) sum += (x[i] - vector[i]) * (x[i] - vector[i]);
      return std::exp(-gamma_ * sum);
    }
    for (size_t i = 0; i < width_; ++i) sum += x[i] * vector[i];
    if (kernel_ == stages::SvmKernel::Polynomial) return java_pow(gamma_ * sum + coef0_, degree_);
    if (kernel_ == stages::SvmKernel::Sigmoid) return std::tanh(gamma_ * sum + coef0_);
    return sum;
  }

  std::span<const double> vectors_;
  stages::SvmKernel kernel_;
  double gamma_, coef0_, degree_;
  size_t count_ = 0, width_ = 0;
};

// Vector of the pairs' decision values -> Vector of the classes' probabilities.
class PairwiseCoupling final : public VectorStage {
 public:
  explicit PairwiseCoupling(StageSpec& spec)
      : VectorStage(spec, false),
        slopes_(spec.reals(stages::pairwise_coupling::slopes)),
        offsets_(spec.reals(stages::pairwise_coupling::offsets)) {
    const int32_t classes = spec.integer(stages::pairwise_coupling::classes);
    if (classes < 2 || classes > kClassesMax) {
      spec.fail("expected 2 to " + std::to_string(kClassesMax) + " classes");
      return;
    }
    classes_ = static_cast<size_t>(classes);
    pairs_ = classes_ * (classes_ - 1) / 2;
    if (slopes_.size() != pairs_ || offsets_.size() != pairs_) {
      spec.fail("expected slopes and offsets of " + std::to_string(pairs_) + " pairs");
    }
  }

 private:
  static constexpr int32_t kClassesMax = 4096;
  static constexpr double kLeast = 1e-7;

  std::string answer(const VectorRow& in, Column& out, size_t& size) const override {
    std::string fault = wrong_size(pairs_, in);
    if (!fault.empty()) return fault;
    thread_local std::vector<double> room, r, products;
    const double* values = dense_values(in, room);
    const size_t k = classes_;
    r.assign(k * k, 0);
    for (size_t i = 0, pair = 0; i < k; ++i) {
      for (size_t j = i + 1; j < k; ++j, ++pair) {
        r[i * k + j] = sigmoid(slopes_[pair] * values[pair] + offsets_[pair]);
        r[j * k + i] = 1 - r[i * k + j];
      }
    }
    size = k;
    couple(r.data(), append_dense(out, k), products);
    return {};
  }

  // 1 / (1 + e^value), kept away from 0 and 1.
  static double sigmoid(double value) {
    const double p =
        value >= 0 ? std::exp(-value) / (1 + std::exp(-value)) : 1 / (1 + std::exp(value));
    return std::min(std::max(p, kLeast), 1 - kLeast);
  }

  // The second method of Wu, Lin and Weng, with libsvm's limits. `r`: [k, k], the probability of
  // the row's class in each pair.
  void couple(const double* r, double* p, std::vector<double>& products) const {
    const size_t k = classes_;
    const auto at = [&](size_t t, size_t j) { return -r[j * k + t] * r[t * k + j]; };
    products.assign(2 * k, 0);
    double* const qp = products.data();
    double* const diagonal = qp + k;
    for (size_t t = 0; t < k; ++t) {
      p[t] = 1 / static_cast<double>(k);
      for (size_t j = 0; j < k; ++j) {
        if (j != t) diagonal[t] += r[j * k + t] * r[j * k + t];
      }
    }
    const double near = 0.005 / static_cast<double>(k);
    for (size_t round = 0; round < std::max<size_t>(100, k); ++round) {
      double total = 0, most = 0;
      for (size_t t = 0; t < k; ++t) {
        qp[t] = 0;
        for (size_t j = 0; j < k; ++j) qp[t] += (j == t ? diagonal[t] : at(t, j)) * p[j];
        total += p[t] * qp[t];
      }
      for (size_t t = 0; t < k; ++t) most = std::max(most, std::abs(qp[t] - total));
      if (most < near) return;
      for (size_t t = 0; t < k; ++t) {
        const double step = (total - qp[t]) / diagonal[t];
        p[t] += step;
        total = (total + step * (step * diagonal[t] + 2 * qp[t])) / (1 + step) / (1 + step);
        for (size_t j = 0; j < k; ++j) {
          qp[j] = (qp[j] + step * (j == t ? diagonal[t] : at(t, j))) / (1 + step);
          p[j] /= 1 + step;
        }
      }
    }
  }

  std::span<const double> slopes_, offsets_;
  size_t classes_ = 0, pairs_ = 0;
};

constexpr StageKind kKernelKinds[] = {
    {stages::kernel_values::kind, make_stage<KernelValues>},
    {stages::pairwise_coupling::kind, make_stage<PairwiseCoupling>},
};

}  // namespace

std::span<const StageKind> kernel_kinds() { return kKernelKinds; }

}  // namespace serval::tabular
