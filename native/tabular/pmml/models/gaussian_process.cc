// Stage kind pmml.gaussian_process: kernel regression over training instances. Everything that does
// not depend on the row is solved when the stage is created. Hot path. Source: tabular.md 3.2; the
// formulas are those of the PMML standard's page on Gaussian process models.
#include <algorithm>
#include <cmath>
#include <string>

#include "tabular/pmml/models/inputs.h"
#include "tabular/pmml/models/kinds.h"

namespace serval::tabular::pmml {
namespace {

using Kernel = stages::GaussianKernel;

// Instances that can be solved for: n^3 / 3 steps at load, n^2 numbers of memory.
constexpr size_t kInstancesMax = 4096;

// Outputs: the mean; perhaps the standard error.
class GaussianProcess final : public Stage {
 public:
  explicit GaussianProcess(StageSpec& spec)
      : inputs_(spec),
        outputs_(spec.outputs.begin(), spec.outputs.end()),
        instances_(spec.reals(stages::pmml_gaussian_process::instances)),
        lambdas_(spec.reals(stages::pmml_gaussian_process::lambdas)),
        gamma_(spec.real(stages::pmml_gaussian_process::gamma)),
        noise_(spec.real(stages::pmml_gaussian_process::noise_variance)),
        degree_(spec.real(stages::pmml_gaussian_process::degree)) {
    kernel_ = spec.choice(stages::pmml_gaussian_process::kernel);
    for (size_t i = 0; i < inputs_.count(); ++i) inputs_.number(spec, static_cast<int32_t>(i));
    const auto targets = spec.reals(stages::pmml_gaussian_process::targets);
    count_ = targets.size();
    if (count_ == 0 || inputs_.count() == 0 || instances_.size() != count_ * inputs_.count() ||
        lambdas_.size() != inputs_.count()) {
      spec.fail("the instances' parts do not fit each other");
      return;
    }
    if (count_ > kInstancesMax) {
      spec.fail("there are " + std::to_string(count_) + " training instances; the limit is " +
                std::to_string(kInstancesMax));
      return;
    }
    if (!factorize()) {
      spec.fail("the kernel matrix is not positive definite");
      return;
    }
    weights_.assign(targets.begin(), targets.end());
    solve_lower(weights_);
    solve_upper(weights_);
  }

  Status run(Run& run, Rows rows) const override {
    Inputs inputs;
    if (Status opened = inputs.open(run, inputs_); !opened.ok()) return opened;
    for (const uint32_t output : outputs_) run.out(output, Type::Double, rows);
    std::vector<double>& kernels = run.frame.scratch;
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      if (inputs.first_missing(row) < inputs.count()) {
        for (const uint32_t output : outputs_) run.frame.columns[output].set_missing(row);
        continue;
      }
      const std::span<const double> x = inputs.load(row);
      kernels.resize(count_);
      double mean = 0;
      for (size_t n = 0; n < count_; ++n) {
        kernels[n] = kernel(x.data(), instances_.data() + n * x.size());
        mean += kernels[n] * weights_[n];
      }
      run.frame.columns[outputs_[0]].reals[row] = mean;
      if (outputs_.size() == 2) run.frame.columns[outputs_[1]].reals[row] = error(kernels);
    }
    return {};
  }

 private:
  double kernel(const double* x, const double* z) const {
    double sum = 0;
    for (size_t d = 0; d < lambdas_.size(); ++d) {
      const double part = std::abs(x[d] - z[d]) / lambdas_[d];
      if (kernel_ == Kernel::SquaredExponential) sum += 0.5 * part * part;
      else if (kernel_ == Kernel::AbsoluteExponential) sum += part;
      else sum += std::pow(part, degree_);
    }
    return gamma_ * std::exp(-sum);
  }

  // Factors the kernel matrix plus noise as L L^T. Returns false if it is not positive definite.
  bool factorize() {
    lower_.assign(count_ * count_, 0);
    const size_t fields = lambdas_.size();
    for (size_t r = 0; r < count_; ++r) {
      for (size_t c = 0; c <= r; ++c) {
        double sum = kernel(instances_.data() + r * fields, instances_.data() + c * fields);
        if (r == c) sum += noise_;
        for (size_t k = 0; k < c; ++k) sum -= lower_[r * count_ + k] * lower_[c * count_ + k];
        if (r == c && !(sum > 0)) return false;
        lower_[r * count_ + c] = r == c ? std::sqrt(sum) : sum / lower_[c * count_ + c];
      }
    }
    return true;
  }

  void solve_lower(std::span<double> b) const {
    for (size_t r = 0; r < count_; ++r) {
      for (size_t c = 0; c < r; ++c) b[r] -= lower_[r * count_ + c] * b[c];
      b[r] /= lower_[r * count_ + r];
    }
  }

  void solve_upper(std::span<double> b) const {
    for (size_t r = count_; r-- > 0;) {
      for (size_t c = r + 1; c < count_; ++c) b[r] -= lower_[c * count_ + r] * b[c];
      b[r] /= lower_[r * count_ + r];
    }
  }

  // Square root of the predicted value's variance, noise included. Changes `kernels`.
  double error(std::vector<double>& kernels) const {
    solve_lower(kernels);
    double variance = gamma_ + noise_;
    for (const double part : kernels) variance -= part * part;
    return std::sqrt(std::max(variance, 0.0));
  }

  InputNames inputs_;
  std::vector<uint32_t> outputs_;
  std::span<const double> instances_, lambdas_;
  double gamma_, noise_, degree_;
  Kernel kernel_ = Kernel::SquaredExponential;
  size_t count_ = 0;
  std::vector<double> lower_;    // [count, count]
  std::vector<double> weights_;  // (K + noise)^-1 targets
};

}  // namespace

std::unique_ptr<Stage> make_gaussian_process(StageSpec& spec) {
  spec.expect_outputs(1, 2);
  return std::make_unique<GaussianProcess>(spec);
}

}  // namespace serval::tabular::pmml
