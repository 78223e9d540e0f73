// Stage kind pmml.general_regression: GeneralRegressionModel's designs (PPMatrix), equations
// (ParamMatrix) and links, and Cox regression's baseline hazards. Hot path.
// Source: tabular.md 3.2.
#include <algorithm>
#include <string>

#include "tabular/pmml/models/inputs.h"
#include "tabular/pmml/models/kinds.h"
#include "tabular/pmml/models/links.h"

namespace serval::tabular::pmml {
namespace {

using Kind = stages::RegressionModel;

// 1 where the input equals code, else 0; or, with a contrast, the number of the input's category.
struct FactorCell {
  uint32_t input;
  double code;
  int32_t contrast;
};
struct Contrast {
  std::vector<double> codes;
  std::vector<double> numbers;
};
struct CovariateCell {
  uint32_t input;
  double exponent;
};
// The factor of one parameter.
struct Design {
  std::vector<FactorCell> factors;
  std::vector<CovariateCell> covariates;
};
struct Term {
  int32_t design;  // -1: the parameter alone
  double beta;
};
struct Baseline {
  double stratum;
  double max_time;
  std::vector<double> times;  // ascending
  std::vector<double> hazards;
};

// Outcome of a row's evaluation: a number, or why there is none.
enum class Outcome : uint8_t { Number, Missing, NoCategory };

class GeneralRegression final : public Stage {
 public:
  explicit GeneralRegression(StageSpec& spec)
      : inputs_(spec),
        place_(spec.place),
        output_(spec.outputs.empty() ? 0 : spec.outputs[0]),
        classification_(spec.flag(stages::pmml_general_regression::classification)) {
    read_kind(spec);
    read_designs(spec);
    read_equations(spec);
    if (kind_ == Kind::Cox) read_baselines(spec);
    offset_value_ = spec.real(stages::pmml_general_regression::offset_value);
    offset_ = input(spec, stages::pmml_general_regression::offset_input);
    trials_value_ = spec.real(stages::pmml_general_regression::trials_value);
    trials_ = input(spec, stages::pmml_general_regression::trials_input);
    for (const int32_t number : {offset_, trials_, time_}) {
      if (number >= 0) inputs_.number(spec, number);
    }
    reference_ = spec.real(stages::pmml_general_regression::reference);
  }

  OnFailure on_failure() const override { return OnFailure::Own; }
  Status run(Run& run, Rows rows) const override {
    Inputs inputs;
    if (Status opened = inputs.open(run, inputs_); !opened.ok()) return opened;
    if (classification_) return run_classes(run, rows, inputs);
    Column& out = run.out(output_, Type::Double, rows);
    std::vector<double>& scratch = run.frame.scratch;
    for (uint32_t i = 0; i < rows.count; ++i) {
      RowReader reader(inputs, rows[i]);
      std::string refusal;
      double value = 0;
      const bool answered = kind_ == Kind::Cox ? hazard(reader, scratch, value, refusal)
                                               : mean(reader, scratch, value, refusal);
      if (answered) {
        out.reals[rows[i]] = value;
        continue;
      }
      out.set_missing(rows[i]);
      if (Status refused = refuse(run, reader, refusal); !refused.ok()) return refused;
    }
    return {};
  }

 private:
  // Handles a row without a result, which is refused if an input could not be computed, or for the
  // reason in `refusal`.
  Status refuse(Run& run, const RowReader& reader, const std::string& refusal) const {
    if (reader.failed() != nullptr) return run.refuse(*reader.failed());
    return refusal.empty() ? Status() : run.refuse(reader.row(), place_, refusal);
  }

  void read_kind(StageSpec& spec) {
    kind_ = spec.choice(stages::pmml_general_regression::model);
    const bool classes = kind_ == Kind::Multinomial || kind_ == Kind::Ordinal;
    if (classification_ ? !classes && kind_ != Kind::Generalized : classes) {
      spec.fail("the model does not fit the mining function");
    }
    link_ = spec.choice(stages::pmml_general_regression::link);
    link_parameter_ = spec.real(stages::pmml_general_regression::link_parameter);
  }

  int32_t input(StageSpec& spec, const IntegerAttribute& attribute) {
    const int32_t at = spec.integer(attribute);
    if (at < -1 || (at >= 0 && static_cast<size_t>(at) >= inputs_.count())) {
      spec.fail("attribute '" + std::string(attribute.name) + "' names no input");
      return -1;
    }
    return at;
  }

  void read_designs(StageSpec& spec) {
    const auto rows = spec.integers(stages::pmml_general_regression::factor_rows);
    const auto at = spec.integers(stages::pmml_general_regression::factor_inputs);
    const auto values = spec.values(stages::pmml_general_regression::factor_values);
    const auto contrasts = spec.integers(stages::pmml_general_regression::factor_contrasts);
    const auto covariate_rows = spec.integers(stages::pmml_general_regression::covariate_rows);
    const auto covariates = spec.integers(stages::pmml_general_regression::covariate_inputs);
    const auto exponents = spec.reals(stages::pmml_general_regression::covariate_exponents);
    const size_t count = rows.empty() ? 0 : rows.size() - 1;
    read_contrasts(spec);
    if (!good_offsets(rows, count, at.size()) || values.size() != at.size() ||
        contrasts.size() != at.size() || !good_indices(at, 0, inputs_.count()) ||
        !good_indices(contrasts, -1, contrasts_.size()) ||
        !good_offsets(covariate_rows, count, covariates.size()) ||
        exponents.size() != covariates.size() || !good_indices(covariates, 0, inputs_.count())) {
      return spec.fail("the designs' parts do not fit each other");
    }
    designs_.resize(count);
    for (size_t d = 0; d < count; ++d) {
      for (auto i = static_cast<size_t>(rows[d]); i < static_cast<size_t>(rows[d + 1]); ++i) {
        inputs_.compare(spec, at[i], values[i]);
        designs_[d].factors.push_back(
            {static_cast<uint32_t>(at[i]), code_of(values[i]), contrasts[i]});
      }
      for (auto i = static_cast<size_t>(covariate_rows[d]);
           i < static_cast<size_t>(covariate_rows[d + 1]); ++i) {
        inputs_.number(spec, covariates[i]);
        designs_[d].covariates.push_back({static_cast<uint32_t>(covariates[i]), exponents[i]});
      }
    }
  }

  void read_contrasts(StageSpec& spec) {
    const auto rows = spec.integers(stages::pmml_general_regression::contrast_rows);
    const auto values = spec.values(stages::pmml_general_regression::contrast_values);
    const auto numbers = spec.reals(stages::pmml_general_regression::contrast_numbers);
    if (rows.empty()) return;
    if (!good_offsets(rows, rows.size() - 1, values.size()) || numbers.size() != values.size()) {
      return spec.fail("the contrasts' parts do not fit each other");
    }
    contrasts_.resize(rows.size() - 1);
    for (size_t c = 0; c < contrasts_.size(); ++c) {
      for (auto i = static_cast<size_t>(rows[c]); i < static_cast<size_t>(rows[c + 1]); ++i) {
        contrasts_[c].codes.push_back(code_of(values[i]));
        contrasts_[c].numbers.push_back(numbers[i]);
      }
    }
  }

  void read_equations(StageSpec& spec) {
    const auto rows = spec.integers(stages::pmml_general_regression::equation_rows);
    const auto at = spec.integers(stages::pmml_general_regression::equation_designs);
    const auto betas = spec.reals(stages::pmml_general_regression::equation_betas);
    const size_t count = rows.empty() ? 0 : rows.size() - 1;
    if (count == 0 || (count > 1 && !classification_) || !good_offsets(rows, count, at.size()) ||
        betas.size() != at.size() || !good_indices(at, -1, designs_.size())) {
      return spec.fail("the equations' parts do not fit each other");
    }
    equations_.resize(count);
    for (size_t e = 0; e < count; ++e) {
      for (auto i = static_cast<size_t>(rows[e]); i < static_cast<size_t>(rows[e + 1]); ++i) {
        equations_[e].push_back({at[i], betas[i]});
      }
    }
  }

  void read_baselines(StageSpec& spec) {
    const auto rows = spec.integers(stages::pmml_general_regression::baseline_rows);
    const auto times = spec.reals(stages::pmml_general_regression::baseline_times);
    const auto hazards = spec.reals(stages::pmml_general_regression::baseline_hazards);
    const auto most = spec.reals(stages::pmml_general_regression::baseline_max_times);
    const auto strata = spec.values(stages::pmml_general_regression::baseline_strata);
    time_ = input(spec, stages::pmml_general_regression::time_input);
    stratum_ = input(spec, stages::pmml_general_regression::stratum_input);
    if (time_ < 0 || most.empty() || !good_offsets(rows, most.size(), times.size()) ||
        hazards.size() != times.size() ||
        (stratum_ < 0 ? most.size() != 1 : strata.size() != most.size())) {
      return spec.fail("the baseline hazards' parts do not fit each other");
    }
    for (size_t b = 0; b < most.size(); ++b) {
      const auto begin = static_cast<size_t>(rows[b]);
      const auto end = static_cast<size_t>(rows[b + 1]);
      Baseline made{0,
                    most[b],
                    {times.begin() + static_cast<ptrdiff_t>(begin),
                     times.begin() + static_cast<ptrdiff_t>(end)},
                    {hazards.begin() + static_cast<ptrdiff_t>(begin),
                     hazards.begin() + static_cast<ptrdiff_t>(end)}};
      if (made.times.empty() || !std::is_sorted(made.times.begin(), made.times.end())) {
        spec.fail("baseline times do not ascend");
      }
      if (stratum_ >= 0) {
        inputs_.compare(spec, stratum_, strata[b]);
        made.stratum = code_of(strata[b]);
      }
      baselines_.push_back(std::move(made));
    }
  }

  // The designs' numbers of a row, into `values`.
  Outcome design_values(RowReader& reader, std::vector<double>& values) const {
    values.resize(designs_.size());
    for (size_t d = 0; d < designs_.size(); ++d) {
      const Outcome outcome = design_value(designs_[d], reader, values[d]);
      if (outcome != Outcome::Number) return outcome;
    }
    return Outcome::Number;
  }

  Outcome design_value(const Design& design, RowReader& reader, double& value) const {
    double product = 1;
    for (const FactorCell& cell : design.factors) {
      if (reader.missing(cell.input)) return Outcome::Missing;
      const double code = reader.at(cell.input);
      if (cell.contrast < 0) {
        if (code != cell.code) product = 0;
        continue;
      }
      const Contrast& contrast = contrasts_[static_cast<size_t>(cell.contrast)];
      const auto found = std::find(contrast.codes.begin(), contrast.codes.end(), code);
      if (found == contrast.codes.end()) return Outcome::NoCategory;
      product *= contrast.numbers[static_cast<size_t>(found - contrast.codes.begin())];
    }
    value = product;
    if (product == 0) return Outcome::Number;
    for (const CovariateCell& cell : design.covariates) {
      if (reader.missing(cell.input)) return Outcome::Missing;
      const double x = reader.at(cell.input);
      product *= cell.exponent == 1 ? x : std::pow(x, cell.exponent);
    }
    value = product;
    return Outcome::Number;
  }

  static double sum_of(const std::vector<Term>& equation, const std::vector<double>& designs) {
    double sum = 0;
    for (const Term& term : equation) {
      sum += term.design < 0 ? term.beta : term.beta * designs[static_cast<size_t>(term.design)];
    }
    return sum;
  }

  // The offset and trials of a row. False: `refusal` says which one is missing.
  bool offset_and_trials(RowReader& reader, double& offset, double& trials,
                         std::string& refusal) const {
    offset = offset_value_;
    trials = trials_value_;
    if (offset_ >= 0 && !variable(reader, offset_, offset, refusal)) return false;
    return trials_ < 0 || variable(reader, trials_, trials, refusal);
  }

  bool variable(RowReader& reader, int32_t at, double& value, std::string& refusal) const {
    const auto input = static_cast<size_t>(at);
    if (reader.missing(input)) {
      refusal = "'" + inputs_.name(input) + "' is missing";
      return false;
    }
    value = reader.at(input);
    return true;
  }

  // False: missing, or refused.
  bool designs_of(RowReader& reader, std::vector<double>& scratch, std::string& refusal) const {
    const Outcome outcome = design_values(reader, scratch);
    if (outcome == Outcome::NoCategory) refusal = "a factor's value is not in its contrast matrix";
    return outcome == Outcome::Number;
  }

  bool mean(RowReader& reader, std::vector<double>& scratch, double& value,
            std::string& refusal) const {
    if (!designs_of(reader, scratch, refusal)) return false;
    value = sum_of(equations_[0], scratch);
    if (kind_ == Kind::Linear) return true;
    double offset = 0, trials = 1;
    if (!offset_and_trials(reader, offset, trials, refusal)) return false;
    value = inverse_link(link_, value + offset, link_parameter_) * trials;
    return true;
  }

  bool hazard(RowReader& reader, std::vector<double>& scratch, double& value,
              std::string& refusal) const {
    const Baseline* baseline = &baselines_[0];
    if (stratum_ >= 0) {
      double stratum = 0;
      if (!variable(reader, stratum_, stratum, refusal)) return false;
      const auto found =
          std::find_if(baselines_.begin(), baselines_.end(),
                       [stratum](const Baseline& each) { return each.stratum == stratum; });
      if (found == baselines_.end()) return false;
      baseline = &*found;
    }
    double time = 0;
    if (!variable(reader, time_, time, refusal)) return false;
    if (!(time <= baseline->max_time)) return false;
    value = 0;
    if (time < baseline->times.front()) return true;
    const auto after = std::upper_bound(baseline->times.begin(), baseline->times.end(), time);
    const double hazard =
        baseline->hazards[static_cast<size_t>(after - baseline->times.begin() - 1)];
    if (!designs_of(reader, scratch, refusal)) return false;
    value = std::exp(sum_of(equations_[0], scratch) - reference_) * hazard;
    return true;
  }

  Status run_classes(Run& run, Rows rows, const Inputs& inputs) const {
    Column& out = run.out(output_, Type::Vector, rows);
    std::vector<double>& scratch = run.frame.scratch;
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      RowReader reader(inputs, row);
      std::string refusal;
      double offset = 0, trials = 1;
      if (!designs_of(reader, scratch, refusal) ||
          (kind_ != Kind::Multinomial && !offset_and_trials(reader, offset, trials, refusal))) {
        if (Status refused = refuse(run, reader, refusal); !refused.ok()) return refused;
        continue;
      }
      const std::span<double> values = add_row(out, row, equations_.size() + 1);
      for (size_t e = 0; e < equations_.size(); ++e) values[e] = sum_of(equations_[e], scratch);
      if (make_probabilities(values, offset, trials)) continue;
      drop_added(out, values.size());
      if (Status refused = run.refuse(row, place_, std::string(kNoShares)); !refused.ok()) {
        return refused;
      }
    }
    return {};
  }

  // Multinomial: normalizes e^score, which may be infinite, as in JPMML-Evaluator. Returns false if
  // the scores cannot be normalized.
  bool make_probabilities(std::span<double> values, double offset, double trials) const {
    const size_t last = values.size() - 1;
    if (kind_ == Kind::Multinomial) {
      values[last] = 0;
      for (double& value : values) value = std::exp(value);
      return simplemax(values);
    }
    double before = 0;
    for (size_t e = 0; e < last; ++e) {
      const double up_to = inverse_link(link_, values[e] + offset, link_parameter_) *
                           (kind_ == Kind::Generalized ? trials : 1);
      values[e] = up_to - before;
      before = up_to;
    }
    values[last] = 1.0 - before;
    return true;
  }

  InputNames inputs_;
  std::string place_;
  uint32_t output_;
  bool classification_;
  Kind kind_ = Kind::Linear;
  Link link_ = Link::Identity;
  double link_parameter_ = 0;
  std::vector<Contrast> contrasts_;
  std::vector<Design> designs_;
  std::vector<std::vector<Term>> equations_;
  std::vector<Baseline> baselines_;
  double offset_value_ = 0, trials_value_ = 1, reference_ = 0;
  int32_t offset_ = -1, trials_ = -1, time_ = -1, stratum_ = -1;
};

}  // namespace

std::unique_ptr<Stage> make_general_regression(StageSpec& spec) {
  spec.expect_outputs(1, 1);
  return std::make_unique<GeneralRegression>(spec);
}

}  // namespace serval::tabular::pmml
