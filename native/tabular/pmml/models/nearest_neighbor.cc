// Stage kind pmml.nearest_neighbor: finds the nearest training instances and their result for each
// target. Hot path. Source: tabular.md 3.2.
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "tabular/java/doubles.h"
#include "tabular/pmml/cells.h"
#include "tabular/pmml/models/derived_instances.h"
#include "tabular/pmml/models/kinds.h"
#include "tabular/pmml/models/measures.h"

namespace serval::tabular::pmml {
namespace {

using Scoring = stages::Scoring;

// For a categorical target, numbers[instance] is an index in `values`, which are in the order in
// which ties are broken: labels with more instances first, then smaller ones.
struct Target {
  Scoring scoring;
  std::span<const double> numbers;
  std::vector<Value> values;
  std::vector<uint32_t> ranks;  // by value
  bool categorical() const { return scoring >= Scoring::MajorityVote; }
  bool weighted() const {
    return scoring == Scoring::WeightedAverage || scoring == Scoring::WeightedMajorityVote;
  }
};

struct Neighbor {
  double score;
  uint32_t instance;
};

// Outputs: the result of each target; then, with "ranked", the ids of that many nearest instances
// and their distances or similarities.
class NearestNeighbor final : public Stage {
 public:
  explicit NearestNeighbor(StageSpec& spec)
      : inputs_(spec),
        outputs_(spec.outputs.begin(), spec.outputs.end()),
        place_(spec.place),
        measure_(spec, inputs_.count()),
        threshold_(spec.real(stages::pmml_nearest_neighbor::threshold)) {
    read_instances(spec);
    read_targets(spec);
    const int32_t neighbors = spec.integer(stages::pmml_nearest_neighbor::neighbors);
    const int32_t ranked = spec.integer(stages::pmml_nearest_neighbor::ranked);
    const auto most =
        static_cast<int32_t>(instances_.size() / std::max<size_t>(inputs_.count(), 1));
    if (neighbors < 1 || neighbors > most || ranked < 0 || ranked > most) {
      spec.fail("there are " + std::to_string(most) + " instances, and " +
                std::to_string(neighbors) + " neighbours");
      return;
    }
    neighbors_ = static_cast<uint32_t>(neighbors);
    ranked_ = static_cast<uint32_t>(ranked);
    ids_ = spec.text_ids(stages::pmml_nearest_neighbor::ids);
    if (ids_.size() != (ranked_ > 0 ? count_ : 0) ||
        outputs_.size() != targets_.size() + (ranked_ > 0 ? 2 : 0)) {
      spec.fail("the outputs do not fit");
    }
  }

  Status run(Run& run, Rows rows) const override {
    Inputs inputs;
    if (Status opened = inputs.open(run, inputs_); !opened.ok()) return opened;
    for (size_t t = 0; t < targets_.size(); ++t) {
      run.out(outputs_[t], targets_[t].categorical() ? targets_[t].values[0].type : Type::Double,
              rows);
    }
    Column none_ids, none_scores;
    Column& ids = ranked_ == 0 ? none_ids
                               : run.out(outputs_[targets_.size()], Type::List, rows, Type::String);
    Column& scores =
        ranked_ == 0 ? none_scores : run.out(outputs_[targets_.size() + 1], Type::Vector, rows);
    std::vector<Neighbor> nearest;
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      const std::span<const double> x = inputs.load(row);
      bool answered = false;
      if (Status checked = check(run, row, x, answered); !checked.ok()) return checked;
      if (answered) find(x, run.frame.scratch, nearest);
      if (const char* why = answered ? undefined(nearest) : nullptr; why != nullptr) {
        answered = false;
        if (Status refused = run.refuse(row, place_, why); !refused.ok()) return refused;
      }
      for (size_t t = 0; t < targets_.size(); ++t) {
        Column& out = run.frame.columns[outputs_[t]];
        if (answered) out.set(row, answer(targets_[t], nearest, run.frame.scratch));
        else out.set_missing(row);
      }
      if (answered && ranked_ > 0) write_ranked(row, nearest, ids, scores);
      if (run.cancel != nullptr && (i & 15U) == 15 && run.cancel->cancelled()) {
        return make_error(ErrorCode::Cancelled, "the request was cancelled");
      }
    }
    return {};
  }

 private:
  // Codes of text fields are places in "categories".
  void read_instances(StageSpec& spec) {
    const auto given = spec.reals(stages::pmml_nearest_neighbor::instances);
    const auto texts = spec.integers(stages::pmml_nearest_neighbor::text_fields);
    const auto categories = spec.text_ids(stages::pmml_nearest_neighbor::categories);
    const size_t fields = inputs_.count();
    if (fields == 0 || given.empty() || given.size() % fields != 0 || texts.size() != fields) {
      return spec.fail("the instances' parts do not fit each other");
    }
    instances_.assign(given.begin(), given.end());
    count_ = given.size() / fields;
    const std::vector<DerivedField> derived = derived_instances(spec, count_);
    for (const DerivedField& field : derived) {
      if (field.input >= fields) return spec.fail("a derived field is not an input");
      for (size_t i = 0; i < count_; ++i) instances_[i * fields + field.input] = field.values[i];
    }
    const auto is_derived = [&derived](size_t input) {
      return std::any_of(derived.begin(), derived.end(),
                         [input](const DerivedField& each) { return each.input == input; });
    };
    for (size_t f = 0; f < fields; ++f) {
      const bool text = texts[f] != 0;
      if (text) inputs_.compare(spec, static_cast<int32_t>(f), Value::of_text(0));
      else inputs_.number(spec, static_cast<int32_t>(f));
      for (size_t i = f; text && !is_derived(f) && i < instances_.size(); i += fields) {
        const double at = instances_[i];
        if (!(at >= 0 && at < static_cast<double>(categories.size()))) {
          return spec.fail("the category of an instance is out of range");
        }
        instances_[i] = static_cast<double>(categories[static_cast<size_t>(at)]);
      }
    }
    if (measure_.similarity() && Measure::first_not_binary(instances_) < instances_.size()) {
      spec.fail("an instance of a binary similarity has a number that is neither 0 nor 1");
    }
  }

  void read_targets(StageSpec& spec) {
    const auto scorings = spec.choices(stages::pmml_nearest_neighbor::target_scorings);
    const auto numbers = spec.reals(stages::pmml_nearest_neighbor::target_numbers);
    const auto values = spec.values(stages::pmml_nearest_neighbor::target_values);
    const auto rows = spec.integers(stages::pmml_nearest_neighbor::target_value_rows);
    if (numbers.size() != scorings.size() * count_ ||
        !good_offsets(rows, scorings.size(), values.size())) {
      return spec.fail("the targets' parts do not fit each other");
    }
    for (size_t t = 0; t < scorings.size(); ++t) {
      Target target{scorings[t], numbers.subspan(t * count_, count_), {}, {}};
      if (target.weighted() && measure_.similarity()) {
        spec.fail("weighted votes require a distance, but the measure is a similarity");
      }
      target.values.assign(values.begin() + rows[t], values.begin() + rows[t + 1]);
      if (target.categorical() && !rank(spec, target)) {
        return spec.fail("the category of a target is out of range");
      }
      targets_.push_back(std::move(target));
    }
  }

  // Which one of equals wins: first the one with more instances, then the smaller one.
  static bool rank(StageSpec& spec, Target& target) {
    std::vector<size_t> counts(target.values.size(), 0);
    for (const double at : target.numbers) {
      if (!(at >= 0 && at < static_cast<double>(counts.size()))) return false;
      ++counts[static_cast<size_t>(at)];
    }
    std::vector<uint32_t> order(counts.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
      if (counts[a] != counts[b]) return counts[a] > counts[b];
      const Value& left = target.values[a];
      const Value& right = target.values[b];
      if (is_text(left.type)) {
        return spec.dictionary().text(left.text) < spec.dictionary().text(right.text);
      }
      return code_of(left) < code_of(right);
    });
    target.ranks.resize(order.size());
    for (uint32_t i = 0; i < order.size(); ++i) target.ranks[order[i]] = i;
    return true;
  }

  // Refuses rows without any value, and rows for which no similarity can be computed.
  Status check(Run& run, uint32_t row, std::span<const double> x, bool& answered) const {
    if (!measure_.similarity()) {
      answered = std::isfinite(measure_.adjustment(x));
      return answered ? Status() : run.refuse(row, place_, "all its fields are missing");
    }
    const size_t bad = Measure::first_not_binary(x);
    answered = bad == x.size();
    if (answered) return {};
    return run.refuse(row, place_, "'" + inputs_.name(bad) + "' is neither 0 nor 1");
  }

  // Returns why there is no result, or null if there is one.
  const char* undefined(const std::vector<Neighbor>& nearest) const {
    if (measure_.similarity()) {
      // NaN is the largest score and comes first.
      return std::isnan(nearest.front().score) ? "a similarity is undefined" : nullptr;
    }
    for (const Target& target : targets_) {
      if (target.scoring != Scoring::WeightedAverage) continue;
      double weights = 0;
      for (uint32_t k = 0; k < neighbors_; ++k) weights += weight(target, nearest[k]);
      if (weights == 0) return "the weights of its neighbours add up to 0";
    }
    return nullptr;
  }

  // The nearest instances in order; among equals the first one of the table. A NaN distance is the
  // farthest.
  void find(std::span<const double> x, std::vector<double>& scores,
            std::vector<Neighbor>& nearest) const {
    const double adjustment = measure_.adjustment(x);
    const bool more = measure_.similarity();
    const size_t wanted = std::max(neighbors_, ranked_);
    const auto nearer = [more](const Neighbor& a, const Neighbor& b) {
      const int order = java_order(a.score, b.score);
      if (order != 0) return more ? order > 0 : order < 0;
      return a.instance < b.instance;
    };
    scores.clear();
    nearest.clear();
    const std::span<const double> all(instances_);
    for (uint32_t i = 0; i < count_; ++i) {
      const std::span<const double> instance = all.subspan(i * x.size(), x.size());
      Neighbor found{measure_.compare(x, instance, adjustment), i};
      if (nearest.size() == wanted) {
        if (!nearer(found, nearest.front())) continue;
        std::pop_heap(nearest.begin(), nearest.end(), nearer);
        nearest.pop_back();
      }
      nearest.push_back(found);
      std::push_heap(nearest.begin(), nearest.end(), nearer);
    }
    std::sort_heap(nearest.begin(), nearest.end(), nearer);
  }

  double weight(const Target& target, const Neighbor& neighbor) const {
    return target.weighted() ? 1.0 / (neighbor.score + threshold_) : 1.0;
  }

  Value answer(const Target& target, const std::vector<Neighbor>& nearest,
               std::vector<double>& scratch) const {
    const std::span<const Neighbor> used(nearest.data(), neighbors_);
    if (target.categorical()) return target.values[vote(target, used, scratch)];
    if (target.scoring == Scoring::Median) return Value::of_real(median(target, used, scratch));
    double sum = 0, weights = 0;
    for (const Neighbor& neighbor : used) {
      const double part = weight(target, neighbor);
      sum += target.weighted() ? target.numbers[neighbor.instance] * part
                               : target.numbers[neighbor.instance];
      weights += part;
    }
    return Value::of_real(sum / weights);
  }

  static double median(const Target& target, std::span<const Neighbor> used,
                       std::vector<double>& scratch) {
    scratch.clear();
    for (const Neighbor& neighbor : used) scratch.push_back(target.numbers[neighbor.instance]);
    return java_median(scratch);
  }

  size_t vote(const Target& target, std::span<const Neighbor> used,
              std::vector<double>& votes) const {
    votes.assign(target.values.size(), 0);
    const auto voted = [&](const Neighbor& neighbor) {
      return static_cast<size_t>(target.numbers[neighbor.instance]);
    };
    for (const Neighbor& neighbor : used) votes[voted(neighbor)] += weight(target, neighbor);
    size_t winner = voted(used.front());
    for (const Neighbor& neighbor : used.subspan(1)) {
      const size_t v = voted(neighbor);
      const int order = java_order(votes[v], votes[winner]);
      if (order > 0 || (order == 0 && target.ranks[v] < target.ranks[winner])) winner = v;
    }
    return winner;
  }

  void write_ranked(uint32_t row, const std::vector<Neighbor>& nearest, Column& ids,
                    Column& scores) const {
    const std::span<double> out = add_row(scores, row, ranked_);
    ids.start_row(row);
    for (uint32_t r = 0; r < ranked_; ++r) {
      ids.texts.push_back(ids_[nearest[r].instance]);
      out[r] = nearest[r].score;
    }
    ids.end_row();
  }

  InputNames inputs_;
  std::vector<uint32_t> outputs_;
  std::string place_;
  Measure measure_;
  double threshold_;
  uint32_t neighbors_ = 1, ranked_ = 0;
  size_t count_ = 0;
  std::vector<double> instances_;  // [instances, fields]
  std::vector<TextId> ids_;
  std::vector<Target> targets_;
};

}  // namespace

std::unique_ptr<Stage> make_nearest_neighbor(StageSpec& spec) {
  return std::make_unique<NearestNeighbor>(spec);
}

}  // namespace serval::tabular::pmml
