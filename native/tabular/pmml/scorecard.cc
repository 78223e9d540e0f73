// A PMML scorecard: the sum of partial scores, and the reason codes by what they cost. Hot path,
// any thread. Source: tabular.md 3.3
#include <algorithm>

#include "tabular/pmml/cells.h"
#include "tabular/pmml/functions/functions.h"
#include "tabular/pmml/kinds.h"

namespace serval::tabular::pmml {
namespace {

// Outputs: the score; with a second one, the reason codes, the worst one first.
class Scorecard final : public Stage {
 public:
  explicit Scorecard(StageSpec& spec)
      : place_(spec.place),
        offsets_(spec.integers(stages::pmml_scorecard::offsets)),
        predicates_(spec.expressions(stages::pmml_scorecard::predicates)),
        partial_(spec.reals(stages::pmml_scorecard::partial)),
        complex_of_(spec.integers(stages::pmml_scorecard::complex_of)),
        complex_(spec.expressions(stages::pmml_scorecard::complex)),
        reasons_(spec.text_ids(stages::pmml_scorecard::reasons)),
        baselines_(spec.reals(stages::pmml_scorecard::baselines)),
        initial_(spec.real(stages::pmml_scorecard::initial)),
        above_(spec.flag(stages::pmml_scorecard::points_above)) {
    spec.expect_outputs(1, 2);
    outputs_.assign(spec.outputs.begin(), spec.outputs.end());
    const size_t count = predicates_.size();
    const bool in_order = offsets_.size() >= 2 && offsets_.front() == 0 &&
                          std::is_sorted(offsets_.begin(), offsets_.end()) &&
                          static_cast<size_t>(offsets_.back()) == count;
    const bool complex = std::all_of(complex_of_.begin(), complex_of_.end(), [&](int32_t at) {
      return at >= -1 && at < static_cast<int64_t>(complex_.size());
    });
    if (!in_order || !complex || partial_.size() != count || complex_of_.size() != count) {
      spec.fail("its characteristics do not fit together");
    }
    const bool reasons = outputs_.size() > 1;
    if (reasons && (reasons_.size() != count || baselines_.size() + 1 != offsets_.size())) {
      spec.fail("its reason codes do not fit together");
    }
  }

  Status run(Run& run, Rows rows) const override {
    Column& score = run.out(outputs_[0], Type::Double, rows);
    Column* reasons =
        outputs_.size() > 1 ? &run.out(outputs_[1], Type::List, rows, Type::String) : nullptr;
    Eval eval{run, 0, {}};
    std::vector<Reason> found;
    for (uint32_t i = 0; i < rows.count; ++i) {
      eval.row = rows[i];
      double sum = initial_;
      found.clear();
      const bool whole = add_up(eval, sum, found);
      if (eval.failed()) {
        if (Status refused = refuse_failed(run, place_, eval); !refused.ok()) return refused;
      }
      if (!whole) {
        score.set_missing(eval.row);
        continue;
      }
      score.reals[eval.row] = sum;
      if (reasons != nullptr) put_reasons(eval.row, found, *reasons);
    }
    return {};
  }

 private:
  struct Reason {
    TextId code;
    double points;
  };

  // False: the row failed.
  bool add_up(Eval& eval, double& sum, std::vector<Reason>& found) const {
    for (size_t c = 0; c + 1 < offsets_.size(); ++c) {
      size_t at = static_cast<size_t>(offsets_[c]);
      const auto end = static_cast<size_t>(offsets_[c + 1]);
      for (; at < end; ++at) {
        const Value value = predicates_[at]->value(eval);
        if (eval.failed()) return false;
        if (!value.missing() && value.integer != 0) break;
      }
      if (at == end) {
        eval.fail("no attribute of characteristic " + std::to_string(c + 1) + " applies");
        return false;
      }
      double points = partial_[at];
      if (complex_of_[at] >= 0) {
        const Value value = complex_[static_cast<size_t>(complex_of_[at])]->value(eval);
        if (eval.failed()) return false;
        if (value.missing() || !is_number(value)) {
          eval.fail("a partial score of characteristic " + std::to_string(c + 1) + " is missing");
          return false;
        }
        points = real_of(value);
      }
      sum += points;
      if (outputs_.size() < 2) continue;
      note(reasons_[at], above_ ? points - baselines_[c] : baselines_[c] - points, found);
    }
    return true;
  }

  static void note(TextId code, double points, std::vector<Reason>& found) {
    const auto known = std::find_if(found.begin(), found.end(),
                                    [&](const Reason& each) { return each.code == code; });
    if (known == found.end()) found.push_back({code, points});
    else known->points += points;
  }

  static void put_reasons(uint32_t row, std::vector<Reason>& found, Column& out) {
    std::erase_if(found, [](const Reason& each) { return java_order(each.points, 0) < 0; });
    std::stable_sort(found.begin(), found.end(), [](const Reason& a, const Reason& b) {
      return java_order(a.points, b.points) > 0;
    });
    out.start_row(row);
    for (const Reason& each : found) out.texts.push_back(each.code);
    out.end_row();
  }

  std::string place_;
  std::span<const int32_t> offsets_;
  std::vector<std::unique_ptr<Expression>> predicates_;
  std::span<const double> partial_;
  std::span<const int32_t> complex_of_;
  std::vector<std::unique_ptr<Expression>> complex_;
  std::vector<TextId> reasons_;
  std::span<const double> baselines_;
  double initial_;
  bool above_;
  std::vector<uint32_t> outputs_;
};

}  // namespace

std::unique_ptr<Stage> make_scorecard(StageSpec& spec) { return std::make_unique<Scorecard>(spec); }

}  // namespace serval::tabular::pmml
