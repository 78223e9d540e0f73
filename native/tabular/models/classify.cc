// Kinds that post-process a classifier's scores: classify, one_vs_rest, greatest,
// multinomial_labeler. Hot path; any thread. Source: tabular.md 5.3
#include <algorithm>
#include <cmath>
#include <limits>

#include "tabular/features/columns.h"
#include "tabular/models/kinds.h"

namespace serval::tabular {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The first of the greatest scores, as in Spark: NaN is never greater.
size_t greatest_of(std::span<const double> values) {
  size_t best = 0;
  for (size_t i = 1; i < values.size(); ++i) {
    if (values[i] > values[best]) best = i;
  }
  return best;
}

void softmax(std::span<double> values) {
  double greatest = std::numeric_limits<double>::lowest();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == kInfinity) {
      std::fill(values.begin(), values.end(), 0);
      values[i] = 1;
      return;
    }
    if (values[i] > greatest) greatest = values[i];
  }
  double sum = 0;
  for (double& value : values) {
    value = std::exp(value - greatest);
    sum += value;
  }
  for (double& value : values) value *= 1 / sum;
}

void normalize(std::span<double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  if (sum == 0) return;
  for (double& value : values) value /= sum;
}

double sigmoid(double value) { return 1 / (1 + std::exp(-value)); }

using Link = stages::ScoreLink;

// Scores -> probability, prediction.
class Classify final : public ColumnStage {
 public:
  explicit Classify(StageSpec& spec)
      : ColumnStage(spec),
        link_(spec.choice(stages::classify::link)),
        thresholds_(spec.reals(stages::classify::thresholds)),
        zero_infinity_(spec.flag(stages::classify::zeroInfinity)) {
    using Role = stages::ProbabilityRole;
    const Roles<Role> roles(spec, stages::classify::roles);
    probability_ = roles[Role::Probability];
    prediction_ = roles[Role::Prediction];
    spec.expect_inputs(1, 1);
    if (spec.has(stages::classify::rawThreshold))
      raw_threshold_ = spec.real(stages::classify::rawThreshold);
    if (spec.has(stages::classify::probabilityThreshold)) {
      probability_threshold_ = spec.real(stages::classify::probabilityThreshold);
    }
    if (spec.has(stages::classify::thresholds) && thresholds_.empty()) spec.fail("no thresholds");
  }

  Status run(Run& run, Rows rows) const override {
    Column* probabilities = probability_ ? &run.out(*probability_, Type::Vector, rows) : nullptr;
    Column* predictions = prediction_ ? &run.out(*prediction_, Type::Double, rows) : nullptr;
    const bool wants_probability =
        probabilities != nullptr || !thresholds_.empty() || probability_threshold_;
    std::vector<double>& room = run.frame.scratch;
    std::vector<double> dense;
    const auto each = [&](uint32_t row, const VectorRow& in) -> std::string {
      std::string fault = fits(in.size);
      if (!fault.empty()) return "column '" + names_[0] + "': " + fault;
      const std::span<const double> raw(dense_values(in, dense), in.size);
      if (wants_probability) {
        room.assign(raw.begin(), raw.end());
        link(room);
      }
      if (probabilities != nullptr) {
        probabilities->start_row(row);
        probabilities->reals.insert(probabilities->reals.end(), room.begin(), room.end());
        probabilities->end_row();
      }
      if (predictions != nullptr) {
        predictions->reals[row] = static_cast<double>(decide(raw, room));
      }
      return {};
    };
    const auto none = [&](uint32_t row) {
      if (predictions != nullptr) predictions->set_missing(row);
    };
    return each_vector(run, rows, each, none);
  }

 private:
  std::string fits(size_t classes) const {
    const bool two = link_ == Link::FirstSigmoid || link_ == Link::SecondSigmoid ||
                     link_ == Link::Gbt || raw_threshold_ || probability_threshold_;
    const size_t expected = !thresholds_.empty() ? thresholds_.size() : two ? 2 : classes;
    if (classes == expected && classes > 0) return {};
    return "expected scores of " + std::to_string(std::max<size_t>(expected, 1)) +
           " classes, got " + std::to_string(classes);
  }

  void link(std::span<double> values) const {
    switch (link_) {
      case Link::None: break;
      case Link::Sigmoid:
        for (double& value : values) value = sigmoid(value);
        break;
      case Link::FirstSigmoid:
        values[0] = sigmoid(values[0]);
        values[1] = 1 - values[0];
        break;
      case Link::SecondSigmoid:
        values[1] = sigmoid(values[1]);
        values[0] = 1 - values[1];
        break;
      case Link::Gbt:
        values[0] = 1 / (1 + std::exp(-2 * values[0]));
        values[1] = 1 - values[0];
        break;
      case Link::Softmax: softmax(values); break;
      case Link::Normalize: normalize(values); break;
    }
  }

  size_t decide(std::span<const double> raw, std::span<const double> probability) const {
    if (raw_threshold_) return raw[1] > *raw_threshold_ ? 1 : 0;
    if (probability_threshold_) return probability[1] > *probability_threshold_ ? 1 : 0;
    if (thresholds_.empty()) return greatest_of(raw);
    size_t best = 0;
    double greatest = -kInfinity;
    for (size_t i = 0; i < probability.size(); ++i) {
      const bool infinite = zero_infinity_ && thresholds_[i] == 0;
      const double scaled = infinite ? kInfinity : probability[i] / thresholds_[i];
      if (!(scaled > greatest)) continue;
      greatest = scaled;
      best = i;
    }
    return best;
  }

  Link link_;
  std::span<const double> thresholds_;
  bool zero_infinity_;
  std::optional<uint32_t> probability_, prediction_;
  std::optional<double> raw_threshold_, probability_threshold_;
};

// Value 1 of each input -> Vector.
class OneVsRest final : public ColumnStage {
 public:
  explicit OneVsRest(StageSpec& spec) : ColumnStage(spec) {
    spec.expect_inputs(1, SIZE_MAX);
    spec.expect_outputs(1, 1);
  }

  Status run(Run& run, Rows rows) const override {
    for (size_t k = 0; k < inputs_.size(); ++k) {
      const Column& in = run.in(inputs_[k]);
      if (!Vectors::reads(in) && !all_missing(in, rows)) return mismatch(k, in, "a vector");
    }
    Column& out = run.out(outputs_[0], Type::Vector, rows);
    return each_row(run, rows, out, [&](uint32_t row) -> std::string {
      for (size_t k = 0; k < inputs_.size(); ++k) {
        const Column& in = run.in(inputs_[k]);
        if (!in.valid(row)) return missing(k);
        if (in.length(row) != 2) {
          return "column '" + names_[k] + "': expected scores of 2 classes, got " +
                 std::to_string(in.length(row));
        }
        out.reals.push_back(Vectors(in)[row].at(1));
      }
      out.end_row();
      return {};
    });
  }
};

// The first greatest value of a vector: its position (index) and the value itself (value).
class Greatest final : public ColumnStage {
 public:
  explicit Greatest(StageSpec& spec) : ColumnStage(spec) {
    using Role = stages::GreatestRole;
    const Roles<Role> roles(spec, stages::greatest::roles);
    index_ = roles[Role::Index];
    value_ = roles[Role::Value];
    spec.expect_inputs(1, 1);
  }

  Status run(Run& run, Rows rows) const override {
    Column* indices = index_ ? &run.out(*index_, Type::Double, rows) : nullptr;
    Column* values = value_ ? &run.out(*value_, Type::Double, rows) : nullptr;
    std::vector<double> dense;
    const auto each = [&](uint32_t row, const VectorRow& in) -> std::string {
      if (in.size == 0)
        return "column '" + names_[0] + "': expected a vector with values, got an empty one";
      const std::span<const double> all(dense_values(in, dense), in.size);
      const size_t best = greatest_of(all);
      if (indices != nullptr) indices->reals[row] = static_cast<double>(best);
      if (values != nullptr) values->reals[row] = all[best];
      return {};
    };
    const auto none = [&](uint32_t row) {
      if (indices != nullptr) indices->set_missing(row);
      if (values != nullptr) values->set_missing(row);
    };
    return each_vector(run, rows, each, none);
  }

 private:
  std::optional<uint32_t> index_, value_;
};

// The probabilities that reach the threshold, and their labels.
class MultinomialLabeler final : public ColumnStage {
 public:
  explicit MultinomialLabeler(StageSpec& spec)
      : ColumnStage(spec),
        names_of_(spec.text_ids(stages::multinomial_labeler::names)),
        threshold_(spec.real(stages::multinomial_labeler::threshold)) {
    using Role = stages::LabelerRole;
    const Roles<Role> roles(spec, stages::multinomial_labeler::roles);
    probabilities_ = roles[Role::Probabilities];
    labels_ = roles[Role::Labels];
    spec.expect_inputs(1, 1);
  }

  Status run(Run& run, Rows rows) const override {
    Column* probabilities =
        probabilities_ ? &run.out(*probabilities_, Type::Vector, rows) : nullptr;
    Column* labels = labels_ ? &run.out(*labels_, Type::List, rows, Type::String) : nullptr;
    std::vector<double> dense;
    const auto each = [&](uint32_t row, const VectorRow& in) -> std::string {
      if (in.size > names_of_.size()) {
        return "column '" + names_[0] + "': expected at most " + std::to_string(names_of_.size()) +
               " probabilities, got " + std::to_string(in.size);
      }
      const double* values = dense_values(in, dense);
      if (probabilities != nullptr) probabilities->start_row(row);
      if (labels != nullptr) labels->start_row(row);
      for (size_t i = 0; i < in.size; ++i) {
        if (!(values[i] >= threshold_)) continue;
        if (probabilities != nullptr) probabilities->reals.push_back(values[i]);
        if (labels != nullptr) labels->texts.push_back(names_of_[i]);
      }
      if (probabilities != nullptr) probabilities->end_row();
      if (labels != nullptr) labels->end_row();
      return {};
    };
    return each_vector(run, rows, each, [](uint32_t) {});
  }

 private:
  std::vector<TextId> names_of_;
  double threshold_;
  std::optional<uint32_t> probabilities_, labels_;
};

constexpr StageKind kClassifyKinds[] = {
    {stages::classify::kind, make_stage<Classify>},
    {stages::one_vs_rest::kind, make_stage<OneVsRest>},
    {stages::greatest::kind, make_stage<Greatest>},
    {stages::multinomial_labeler::kind, make_stage<MultinomialLabeler>},
};

}  // namespace

std::span<const StageKind> classify_kinds() { return kClassifyKinds; }

}  // namespace serval::tabular
