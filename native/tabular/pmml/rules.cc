// A PMML rule set: which rules fire, and what they say together. Hot path, any thread.
// Source: tabular.md 3.3
#include <algorithm>

#include "tabular/pmml/cells.h"
#include "tabular/pmml/kinds.h"

namespace serval::tabular::pmml {
namespace {

// Outputs: the score, the confidences by label (0 for those that no rule spoke for), the rule's id.
// Each label has the confidence of one of its rules that fire: the first one, or the first one of
// the heaviest; or the sum of their weights by the number of all that fire. The first rule that
// fires says the score, or the label whose confidence is the highest, the first one of equals.
// Source: JPMML.
class Rules final : public Stage {
 public:
  explicit Rules(StageSpec& spec)
      : place_(spec.place),
        predicates_(spec.expressions(stages::pmml_rules::predicates)),
        label_of_(spec.integers(stages::pmml_rules::label_of)),
        weights_(spec.reals(stages::pmml_rules::weights)),
        confidences_(spec.reals(stages::pmml_rules::confidences)),
        ids_(spec.text_ids(stages::pmml_rules::ids)),
        default_label_(spec.integer(stages::pmml_rules::default_label)) {
    has_default_ = spec.has(stages::pmml_rules::default_confidence) && default_label_ >= 0;
    default_confidence_ = spec.real(stages::pmml_rules::default_confidence);
    const stages::RulesMethod method = spec.choice(stages::pmml_rules::method);
    sums_ = method == stages::RulesMethod::WeightedSum;
    max_ = method == stages::RulesMethod::WeightedMax;
    spec.expect_outputs(3, 3);
    if (spec.failed()) return;
    outputs_.assign(spec.outputs.begin(), spec.outputs.end());
    type_ = spec.column_type(outputs_[0]);
    labels_ = values_of(spec, stages::pmml_rules::labels, type_, "a score");
    const size_t count = predicates_.size();
    const auto in = [&](int32_t label) {
      return label >= 0 && label < static_cast<int64_t>(labels_.size());
    };
    if (label_of_.size() != count || weights_.size() != count || confidences_.size() != count ||
        ids_.size() != count || !std::all_of(label_of_.begin(), label_of_.end(), in) ||
        default_label_ < -1 || default_label_ >= static_cast<int64_t>(labels_.size())) {
      spec.fail("its rules do not fit together");
    }
  }

  Status run(Run& run, Rows rows) const override {
    Column& score = run.out(outputs_[0], type_, rows);
    Column& confidences = run.out(outputs_[1], Type::Vector, rows);
    Column& id = run.out(outputs_[2], Type::String, rows);
    Eval eval{run, 0, {}};
    Answer answer;
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      eval.row = row;
      fire(eval, answer);
      if (eval.failed()) {
        if (Status refused = refuse_failed(run, place_, eval); !refused.ok()) return refused;
        answer.label = answer.rule = -1;
      }
      if (answer.rule < 0) id.set_missing(row);
      else id.texts[row] = ids_[static_cast<size_t>(answer.rule)];
      if (answer.label < 0) {
        score.set_missing(row);
        continue;
      }
      put(score, row, labels_[static_cast<size_t>(answer.label)]);
      confidences.start_row(row);
      confidences.reals.insert(confidences.reals.end(), answer.confidences.begin(),
                               answer.confidences.end());
      confidences.end_row();
    }
    return {};
  }

 private:
  struct Answer {
    int32_t label = -1, rule = -1;
    std::vector<double> confidences;
    std::vector<int32_t> heaviest;  // by label: its current rule; -1: none fired
    std::vector<int32_t> fired;     // labels, in the order of their first rules
  };

  void fire(Eval& eval, Answer& answer) const {
    answer.label = answer.rule = -1;
    answer.confidences.assign(labels_.size(), 0);
    answer.heaviest.assign(labels_.size(), -1);
    answer.fired.clear();
    size_t count = 0;
    for (size_t i = 0; i < predicates_.size(); ++i) {
      const Value value = predicates_[i]->value(eval);
      if (eval.failed()) return;
      if (value.missing() || value.integer == 0) continue;
      count += 1;
      note(static_cast<int32_t>(i), answer);
    }
    if (count == 0) return fall_back(eval, answer);
    for (const int32_t label : answer.fired) {
      double& confidence = answer.confidences[static_cast<size_t>(label)];
      const int32_t rule = answer.heaviest[static_cast<size_t>(label)];
      if (sums_) confidence /= static_cast<double>(count);
      else confidence = confidences_[static_cast<size_t>(rule)];
      const bool first = answer.label < 0;
      if (!first && !(sums_ || max_)) continue;
      if (!first && !(confidence > answer.confidences[static_cast<size_t>(answer.label)])) continue;
      answer.label = label;
      answer.rule = rule;
    }
  }

  // A rule that fires.
  void note(int32_t rule, Answer& answer) const {
    const auto label = static_cast<size_t>(label_of_[static_cast<size_t>(rule)]);
    const double weight = weights_[static_cast<size_t>(rule)];
    int32_t& heaviest = answer.heaviest[label];
    if (heaviest < 0) answer.fired.push_back(static_cast<int32_t>(label));
    const bool heavier = heaviest < 0 || weight > weights_[static_cast<size_t>(heaviest)];
    if (heaviest < 0 || ((sums_ || max_) && heavier)) heaviest = rule;
    if (sums_) answer.confidences[label] += weight;
  }

  // No rule fires.
  void fall_back(Eval& eval, Answer& answer) const {
    if (!has_default_) {
      eval.fail("no rule fires, and there are no defaultScore and defaultConfidence");
      return;
    }
    answer.label = default_label_;
    answer.confidences[static_cast<size_t>(default_label_)] = default_confidence_;
  }

  std::string place_;
  std::vector<std::unique_ptr<Expression>> predicates_;
  std::span<const int32_t> label_of_;
  std::span<const double> weights_, confidences_;
  std::vector<TextId> ids_;
  std::vector<Value> labels_;
  int32_t default_label_;
  double default_confidence_ = 0;
  bool has_default_ = false, sums_ = false, max_ = false;
  std::vector<uint32_t> outputs_;
  Type type_ = Type::Any;
};

}  // namespace

std::unique_ptr<Stage> make_rules(StageSpec& spec) { return std::make_unique<Rules>(spec); }

}  // namespace serval::tabular::pmml
