// Stage kind pmml.support_vectors: kernel machines, one or several, and what class they vote for.
// Hot path. Source: tabular.md 3.2.
#include <algorithm>
#include <cmath>
#include <string>

#include "tabular/java/doubles.h"
#include "tabular/pmml/models/inputs.h"
#include "tabular/pmml/models/kinds.h"
#include "tabular/pmml/models/links.h"

namespace serval::tabular::pmml {
namespace {

using KernelKind = stages::SvmKernel;
using Method = stages::SvmMethod;

struct Machine {
  size_t begin, end;  // of its vectors and coefficients
  double intercept, threshold;
  int32_t target, alternate;  // labels
};

// A number of the input vector: a field's value, or 1 if the field has that value and else 0.
struct Dimension {
  uint32_t input;
  bool category;
  double code;
};

class SupportVectors final : public Stage {
 public:
  explicit SupportVectors(StageSpec& spec)
      : inputs_(spec),
        outputs_(spec.outputs.begin(), spec.outputs.end()),
        place_(spec.place),
        labels_(spec.values(stages::pmml_support_vectors::labels)),
        rounded_(spec.flag(stages::pmml_support_vectors::rounded)),
        max_wins_(spec.flag(stages::pmml_support_vectors::max_wins)) {
    read_kernel(spec);
    read_vectors(spec);
    read_machines(spec);
  }

  Status run(Run& run, Rows rows) const override {
    Inputs inputs;
    if (Status opened = inputs.open(run, inputs_); !opened.ok()) return opened;
    run.frame.scratch.resize(dimensions_.size() + vector_count_ + machines_.size());
    return method_ == Method::Regression ? run_number(run, rows, inputs)
                                         : run_classes(run, rows, inputs);
  }

 private:
  void read_kernel(StageSpec& spec) {
    kernel_ = spec.choice(stages::pmml_support_vectors::kernel);
    gamma_ = spec.real(stages::pmml_support_vectors::gamma);
    coef0_ = spec.real(stages::pmml_support_vectors::coef0);
    degree_ = spec.real(stages::pmml_support_vectors::degree);
    method_ = spec.choice(stages::pmml_support_vectors::method);
    spec.expect_outputs(method_ == Method::Regression ? 1 : 2,
                        method_ == Method::Regression ? 1 : 2);
  }

  void read_vectors(StageSpec& spec) {
    const auto at = spec.integers(stages::pmml_support_vectors::vector_inputs);
    const auto values = spec.values(stages::pmml_support_vectors::vector_values);
    vectors_ = spec.reals(stages::pmml_support_vectors::vectors);
    if (at.empty() || values.size() != at.size() || !good_indices(at, 0, inputs_.count()) ||
        vectors_.size() % at.size() != 0) {
      return spec.fail("the vectors' parts do not fit each other");
    }
    for (size_t d = 0; d < at.size(); ++d) {
      const bool category = values[d].valid();
      if (category) inputs_.compare(spec, at[d], values[d]);
      else inputs_.number(spec, at[d]);
      dimensions_.push_back({static_cast<uint32_t>(at[d]), category, code_of(values[d])});
    }
    vector_count_ = vectors_.size() / at.size();
  }

  void read_machines(StageSpec& spec) {
    const auto rows = spec.integers(stages::pmml_support_vectors::machine_rows);
    machine_vectors_ = spec.integers(stages::pmml_support_vectors::machine_vectors);
    coefficients_ = spec.reals(stages::pmml_support_vectors::machine_coefficients);
    const auto intercepts = spec.reals(stages::pmml_support_vectors::machine_intercepts);
    const size_t count = intercepts.size();
    if (count == 0 || !good_offsets(rows, count, machine_vectors_.size()) ||
        coefficients_.size() != machine_vectors_.size() ||
        !good_indices(machine_vectors_, 0, vector_count_)) {
      return spec.fail("the machines' parts do not fit each other");
    }
    for (size_t m = 0; m < count; ++m) {
      machines_.push_back({static_cast<size_t>(rows[m]), static_cast<size_t>(rows[m + 1]),
                           intercepts[m], 0, -1, -1});
    }
    if (method_ == Method::Regression) {
      if (count != 1) spec.fail("a regression has " + std::to_string(count) + " machines");
      return;
    }
    const auto targets = spec.integers(stages::pmml_support_vectors::machine_targets);
    const auto alternates = spec.integers(stages::pmml_support_vectors::machine_alternates);
    const auto thresholds = spec.reals(stages::pmml_support_vectors::machine_thresholds);
    const int32_t least = method_ == Method::OneAgainstOne ? 0 : -1;
    if (targets.size() != count || alternates.size() != count || thresholds.size() != count ||
        !good_indices(targets, 0, labels_.size()) ||
        !good_indices(alternates, least, labels_.size())) {
      return spec.fail("the machines' categories do not fit each other");
    }
    for (size_t m = 0; m < count; ++m) {
      machines_[m].target = targets[m];
      machines_[m].alternate = alternates[m];
      machines_[m].threshold = thresholds[m];
    }
  }

  // Computes the machines' numbers for a row, at the end of `scratch`. Errors: as Run::refuse.
  // `answered`: false if the row was refused.
  Status evaluate(Run& run, uint32_t row, const Inputs& inputs, bool& answered) const {
    const size_t missing = inputs.first_missing(row);
    answered = missing == inputs.count();
    if (!answered) return run.refuse(row, place_, "'" + inputs_.name(missing) + "' is missing");
    double* const x = run.frame.scratch.data();
    for (size_t d = 0; d < dimensions_.size(); ++d) {
      const double value = inputs.at(dimensions_[d].input, row);
      x[d] = dimensions_[d].category ? (value == dimensions_[d].code ? 1 : 0) : value;
    }
    double* const similarities = x + dimensions_.size();
    for (size_t v = 0; v < vector_count_; ++v) {
      similarities[v] = similarity(x, vectors_.data() + v * dimensions_.size());
    }
    double* const numbers = similarities + vector_count_;
    for (size_t m = 0; m < machines_.size(); ++m) {
      double sum = 0;
      for (size_t i = machines_[m].begin; i < machines_[m].end; ++i) {
        sum += coefficients_[i] * similarities[machine_vectors_[i]];
      }
      numbers[m] = sum + machines_[m].intercept;
    }
    return {};
  }

  double similarity(const double* x, const double* vector) const {
    double sum = 0;
    if (kernel_ == KernelKind::RadialBasis) {
      for (size_t d = 0; d < dimensions_.size(); ++d) {
        const double difference = x[d] - vector[d];
        sum += difference * difference;
      }
      return std::exp(-sum * gamma_);
    }
    for (size_t d = 0; d < dimensions_.size(); ++d) sum += x[d] * vector[d];
    if (kernel_ == KernelKind::Polynomial) return java_pow(sum * gamma_ + coef0_, degree_);
    if (kernel_ == KernelKind::Sigmoid) return std::tanh(sum * gamma_ + coef0_);
    return sum;
  }

  const double* numbers(const Run& run) const {
    return run.frame.scratch.data() + dimensions_.size() + vector_count_;
  }

  Status run_number(Run& run, Rows rows, const Inputs& inputs) const {
    Column& out = run.out(outputs_[0], Type::Double, rows);
    for (uint32_t i = 0; i < rows.count; ++i) {
      bool answered = false;
      if (Status done = evaluate(run, rows[i], inputs, answered); !done.ok()) return done;
      if (answered) out.reals[rows[i]] = numbers(run)[0];
      else out.set_missing(rows[i]);
    }
    return {};
  }

  // Outputs: the predicted value; by label, the share of votes or the distance.
  Status run_classes(Run& run, Rows rows, const Inputs& inputs) const {
    Column& predicted = run.out(outputs_[0], labels_[0].type, rows);
    Column& scores = run.out(outputs_[1], Type::Vector, rows);
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      bool answered = false;
      if (Status done = evaluate(run, row, inputs, answered); !done.ok()) return done;
      if (answered && rounded_ && !rounds(numbers(run))) {
        answered = false;
        if (Status refused =
                run.refuse(row, place_, "a machine's number rounds to neither 0 nor 1");
            !refused.ok()) {
          return refused;
        }
      }
      if (!answered) {
        predicted.set_missing(row);
        continue;
      }
      const std::span<double> by_label = add_row(scores, row, labels_.size());
      const int32_t winner = method_ == Method::OneAgainstOne ? vote(numbers(run), by_label)
                                                              : nearest(numbers(run), by_label);
      predicted.set(row, labels_[static_cast<size_t>(winner)]);
    }
    return {};
  }

  bool rounds(const double* numbers) const {
    for (size_t m = 0; m < machines_.size(); ++m) {
      const double rounded = java_round(numbers[m]);
      if (rounded != 0 && rounded != 1) return false;
    }
    return true;
  }

  int32_t voted(size_t m, const double* numbers) const {
    const bool target =
        rounded_ ? java_round(numbers[m]) == 1 : numbers[m] < machines_[m].threshold;
    return target ? machines_[m].target : machines_[m].alternate;
  }

  // Ties go to the label that was voted for first.
  int32_t vote(const double* numbers, std::span<double> votes) const {
    double most = 0;
    for (size_t m = 0; m < machines_.size(); ++m) {
      double& count = votes[static_cast<size_t>(voted(m, numbers))];
      count += 1;
      most = std::max(most, count);
    }
    size_t first = 0;
    while (votes[static_cast<size_t>(voted(first, numbers))] != most) ++first;
    for (double& share : votes) share /= static_cast<double>(machines_.size());
    return voted(first, numbers);
  }

  int32_t nearest(const double* numbers, std::span<double> distances) const {
    size_t best = 0;
    for (size_t m = 0; m < machines_.size(); ++m) {
      distances[static_cast<size_t>(machines_[m].target)] = numbers[m];
      const int order = java_order(numbers[m], numbers[best]);
      if (max_wins_ ? order > 0 : order < 0) best = m;
    }
    return machines_[best].target;
  }

  InputNames inputs_;
  std::vector<uint32_t> outputs_;
  std::string place_;
  std::vector<Value> labels_;
  bool rounded_, max_wins_;
  KernelKind kernel_ = KernelKind::Linear;
  Method method_ = Method::Regression;
  double gamma_ = 1, coef0_ = 1, degree_ = 1;
  std::vector<Dimension> dimensions_;
  std::span<const double> vectors_, coefficients_;
  std::span<const int32_t> machine_vectors_;
  size_t vector_count_ = 0;
  std::vector<Machine> machines_;
};

}  // namespace

std::unique_ptr<Stage> make_support_vectors(StageSpec& spec) {
  return std::make_unique<SupportVectors>(spec);
}

}  // namespace serval::tabular::pmml
