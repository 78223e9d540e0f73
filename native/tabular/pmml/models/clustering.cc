// Stage kind pmml.clustering: the nearest centre of a center-based ClusteringModel. Hot path.
// Source: tabular.md 3.2.
#include <string>

#include "tabular/java/doubles.h"
#include "tabular/pmml/models/kinds.h"
#include "tabular/pmml/models/measures.h"

namespace serval::tabular::pmml {
namespace {

// Outputs: the winner's id; by cluster, its distance or similarity; perhaps the winner's name.
class Clustering final : public Stage {
 public:
  explicit Clustering(StageSpec& spec)
      : inputs_(spec),
        outputs_(spec.outputs.begin(), spec.outputs.end()),
        place_(spec.place),
        measure_(spec, inputs_.count()),
        ids_(spec.text_ids(stages::pmml_clustering::ids)),
        names_(spec.text_ids(stages::pmml_clustering::names)),
        centers_(spec.reals(stages::pmml_clustering::centers)) {
    for (size_t i = 0; i < inputs_.count(); ++i) inputs_.number(spec, static_cast<int32_t>(i));
    if (ids_.empty() || centers_.size() != ids_.size() * inputs_.count() ||
        names_.size() != (outputs_.size() == 3 ? ids_.size() : 0)) {
      spec.fail("the clusters' parts do not fit each other");
      return;
    }
    if (measure_.similarity() && Measure::first_not_binary(centers_) < centers_.size()) {
      spec.fail("a cluster of a binary similarity has a number that is neither 0 nor 1");
    }
  }

  Status run(Run& run, Rows rows) const override {
    Inputs inputs;
    if (Status opened = inputs.open(run, inputs_); !opened.ok()) return opened;
    for (const uint32_t output : {outputs_.front(), outputs_.back()}) {
      if (output != outputs_[1]) run.out(output, Type::String, rows);
    }
    Column& scores = run.out(outputs_[1], Type::Vector, rows);
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      const std::span<const double> x = inputs.load(row);
      const double adjustment = measure_.adjustment(x);
      if (measure_.similarity() || !std::isfinite(adjustment)) {
        bool answered = false;
        if (Status checked = check(run, row, x, answered); !checked.ok()) return checked;
        if (!answered) {
          for (size_t o = 0; o < outputs_.size(); o += 2) {
            run.frame.columns[outputs_[o]].set_missing(row);
          }
          continue;
        }
      }
      const std::span<double> own = add_row(scores, row, ids_.size());
      const size_t winner = choose(x, adjustment, own);
      if (measure_.similarity() && std::isnan(own[winner])) {
        drop_added(scores, own.size());
        for (size_t o = 0; o < outputs_.size(); o += 2) {
          run.frame.columns[outputs_[o]].set_missing(row);
        }
        Status refused = run.refuse(row, place_, "a similarity is undefined");
        if (!refused.ok()) return refused;
        continue;
      }
      run.frame.columns[outputs_[0]].texts[row] = ids_[winner];
      if (outputs_.size() == 3) run.frame.columns[outputs_[2]].texts[row] = names_[winner];
    }
    return {};
  }

 private:
  // A row that similarities cannot be had of is refused, and one without any value.
  Status check(Run& run, uint32_t row, std::span<const double> x, bool& answered) const {
    answered = false;
    if (!measure_.similarity()) return run.refuse(row, place_, "all its fields are missing");
    const size_t bad = Measure::first_not_binary(x);
    answered = bad == x.size();
    if (answered) return {};
    return run.refuse(row, place_, "'" + inputs_.name(bad) + "' is neither 0 nor 1");
  }

  // The first one of equals; a distance that is NaN is the farthest.
  size_t choose(std::span<const double> x, double adjustment, std::span<double> scores) const {
    size_t best = 0;
    for (size_t c = 0; c < scores.size(); ++c) {
      scores[c] = measure_.compare(x, centers_.subspan(c * x.size(), x.size()), adjustment);
      const int order = java_order(scores[c], scores[best]);
      if (measure_.similarity() ? order > 0 : order < 0) best = c;
    }
    return best;
  }

  InputNames inputs_;
  std::vector<uint32_t> outputs_;
  std::string place_;
  Measure measure_;
  std::vector<TextId> ids_, names_;
  std::span<const double> centers_;  // [clusters, fields]
};

}  // namespace

std::unique_ptr<Stage> make_clustering(StageSpec& spec) {
  spec.expect_outputs(2, 3);
  return std::make_unique<Clustering>(spec);
}

}  // namespace serval::tabular::pmml
