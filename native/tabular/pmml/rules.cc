// A PMML rule set: which rules fire, and what they say together. Hot path, any thread.
// Source: tabular.md 3.3
#include <algorithm>

#include "tabular/pmml/cells.h"
#include "tabular/pmml/kinds.h"

namespace serval::tabular::pmml {
namespace {

// Outputs: the score, the confidences by label (0 for those that no rule spoke for), the rule's id.
class Rules final : public Stage {
 public:
  explicit Rules(StageSpec& spec)
      : place_(spec.place),
        predicates_(spec.expressions("predicates")),
        label_of_(spec.integers("label_of")),
        weights_(spec.reals("weights")),
        confidences_(spec.reals("confidences")),
        ids_(spec.text_ids("ids")),
        default_label_(spec.integer("default_label", -1)),
        default_confidence_(spec.real("default_confidence", 0)) {
    const std::string_view method = spec.text("method");
    sums_ = method == "weightedSum";
    max_ = method == "weightedMax";
    if (!sums_ && !max_ && method != "firstHit")
      spec.fail("method is '" + std::string(method) + "'");
    spec.expect_outputs(3, 3);
    if (spec.failed()) return;
    outputs_.assign(spec.outputs.begin(), spec.outputs.end());
    type_ = spec.column_type(outputs_[0]);
    labels_ = values_of(spec, "labels", type_, "a score");
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
    std::vector<size_t> fired;  // rules, in the document's order
  };

  void fire(Eval& eval, Answer& answer) const {
    answer.label = answer.rule = -1;
    answer.confidences.assign(labels_.size(), 0);
    answer.fired.clear();
    double best = 0;
    for (size_t i = 0; i < predicates_.size(); ++i) {
      const Value value = predicates_[i]->value(eval);
      if (eval.failed()) return;
      if (value.missing() || value.integer == 0) continue;
      answer.fired.push_back(i);
      if (sums_) {
        answer.confidences[static_cast<size_t>(label_of_[i])] += weights_[i];
      } else if (!max_ || answer.rule < 0 || weights_[i] > best) {
        best = weights_[i];
        answer.rule = static_cast<int32_t>(i);
        if (!max_) break;
      }
    }
    if (answer.fired.empty()) {
      answer.label = default_label_;
      if (default_label_ >= 0) {
        answer.confidences[static_cast<size_t>(default_label_)] = default_confidence_;
      }
      return;
    }
    if (sums_) return sum_up(answer);
    answer.label = label_of_[static_cast<size_t>(answer.rule)];
    answer.confidences[static_cast<size_t>(answer.label)] =
        confidences_[static_cast<size_t>(answer.rule)];
  }

  // The label with the largest weight, of equals the one whose rule fired first; the first rule of
  // it that fired and has the largest weight gives the id.
  void sum_up(Answer& answer) const {
    double best = -1;
    for (const size_t i : answer.fired) {
      const double sum = answer.confidences[static_cast<size_t>(label_of_[i])];
      if (sum > best) {
        best = sum;
        answer.label = label_of_[i];
      }
    }
    double weight = 0;
    for (const size_t i : answer.fired) {
      if (label_of_[i] != answer.label) continue;
      if (answer.rule >= 0 && !(weights_[i] > weight)) continue;
      answer.rule = static_cast<int32_t>(i);
      weight = weights_[i];
    }
    for (double& each : answer.confidences) each /= static_cast<double>(answer.fired.size());
  }

  std::string place_;
  std::vector<std::unique_ptr<Expression>> predicates_;
  std::span<const int32_t> label_of_;
  std::span<const double> weights_, confidences_;
  std::vector<TextId> ids_;
  std::vector<Value> labels_;
  int32_t default_label_;
  double default_confidence_;
  bool sums_ = false, max_ = false;
  std::vector<uint32_t> outputs_;
  Type type_ = Type::Any;
};

}  // namespace

std::unique_ptr<Stage> make_rules(StageSpec& spec) { return std::make_unique<Rules>(spec); }

}  // namespace serval::tabular::pmml
