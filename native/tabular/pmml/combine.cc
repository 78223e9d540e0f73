// Combines the segments' results of a MiningModel: one number (combine), votes (vote), blended
// probabilities (blend). Sums run in document order. Hot path, any thread. Source: tabular.md 3.3
#include <algorithm>
#include <limits>
#include <numeric>

#include "tabular/pmml/cells.h"
#include "tabular/pmml/kinds.h"

namespace serval::tabular::pmml {
namespace {

using OnMissing = stages::SegmentMissing;
using Method = stages::CombineMethod;

bool is_weighted(Method method) {
  return method == Method::WeightedSum || method == Method::WeightedAverage ||
         method == Method::WeightedMedian || method == Method::WeightedMajorityVote;
}

// Which segments of a row count, with their weights.
class Ensemble : public Stage {
 public:
  explicit Ensemble(StageSpec& spec)
      : place_(spec.place),
        method_(spec.choice(stages::pmml_ensemble::method)),
        weights_(spec.reals(stages::pmml_ensemble::weights)),
        mask_of_(spec.integers(stages::pmml_ensemble::mask_of)),
        weight_of_(spec.integers(stages::pmml_ensemble::weight_of)),
        threshold_(spec.real(stages::pmml_ensemble::threshold)) {
    on_missing_ = spec.choice(stages::pmml_ensemble::on_missing);
    spec.expect_outputs(1, 2);
    count_ = weights_.size();
    inputs_.assign(spec.inputs.begin(), spec.inputs.end());
    outputs_.assign(spec.outputs.begin(), spec.outputs.end());
    const auto fits = [&](std::span<const int32_t> indices) {
      return indices.size() == count_ &&
             std::all_of(indices.begin(), indices.end(), [&](int32_t at) {
               return at >= -1 && at < static_cast<int64_t>(inputs_.size());
             });
    };
    if (count_ == 0 || inputs_.size() < count_ || !fits(mask_of_) || !fits(weight_of_)) {
      spec.fail("its segments do not fit together");
    }
  }

 protected:
  struct Part {
    size_t segment;
    double weight;
  };

  // The segments that predict something, and those that predict nothing.
  struct Parts {
    std::vector<Part> given;
    double missing_weight = 0;
    size_t missing = 0;
    bool all_skipped = false;  // there is none, and that is within the threshold
  };

  // Returns false if the result is missing. A vote ignores missing predictions, other methods do
  // not.
  bool parts_of(const Run& run, uint32_t row, bool votes, Parts& parts) const {
    parts.given.clear();
    parts.missing = 0;
    double all = 0, lost = 0;
    for (size_t i = 0; i < count_; ++i) {
      if (mask_of_[i] >= 0) {
        const Column& mask = run.in(inputs_[static_cast<size_t>(mask_of_[i])]);
        if (!mask.valid(row) || mask.integers[row] == 0) continue;
      }
      double weight = weights_[i];
      if (weight_of_[i] >= 0) {
        const Column& column = run.in(inputs_[static_cast<size_t>(weight_of_[i])]);
        if (missing_at(column, row) || !is_scalar_number(column.type)) return false;
        weight = real_at(column, row);
      }
      all += weight;
      const Column& column = run.in(inputs_[i]);
      const bool list = column.type == Type::Vector;
      if (list ? column.valid(row) : !missing_at(column, row)) {
        parts.given.push_back({i, weight});
        continue;
      }
      lost += weight;
      parts.missing += 1;
    }
    parts.missing_weight = lost;
    const bool skipped = on_missing_ == OnMissing::Skip && !(lost / all > threshold_);
    parts.all_skipped = parts.given.empty() && parts.missing > 0 && skipped;
    if (parts.given.empty()) return false;
    if (parts.missing == 0) return true;
    if (on_missing_ == OnMissing::Missing) return false;
    if (on_missing_ == OnMissing::Continue && !votes) return false;
    return !(lost / all > threshold_);
  }

  bool no_weight(const std::vector<Part>& parts) const {
    if (!is_weighted(method_)) return false;
    double all = 0;
    for (const Part& part : parts) all += part.weight;
    return all == 0;
  }
  Status refuse_weights(Run& run, uint32_t row) const {
    return run.refuse(row, place_, "the weights of its segments add up to 0");
  }
  bool skips_missing() const { return on_missing_ == OnMissing::Skip; }

  std::string place_;
  Method method_;
  std::span<const double> weights_;
  std::span<const int32_t> mask_of_, weight_of_;
  double threshold_;
  OnMissing on_missing_ = OnMissing::Continue;
  size_t count_ = 0;
  std::vector<uint32_t> inputs_, outputs_;
};

class Combine final : public Ensemble {
 public:
  explicit Combine(StageSpec& spec) : Ensemble(spec) {
    if (method_ > Method::WeightedMedian) spec.fail("the method does not combine numbers");
    weighted_ = is_weighted(method_);
    median_ = method_ == Method::Median || method_ == Method::WeightedMedian;
    average_ = method_ == Method::Average || method_ == Method::WeightedAverage;
    sum_ = !median_ && !average_;
    single_ = spec.flag(stages::pmml_combine::single);
  }

  Status run(Run& run, Rows rows) const override {
    for (size_t i = 0; i < count_; ++i) {
      const Type type = run.in(inputs_[i]).type;
      if (!is_scalar_number(type)) {
        return invalid_argument(place_ + ": a segment returns " + std::string(type_name(type)) +
                                ", expected a number");
      }
    }
    Column& out = run.out(outputs_[0], Type::Double, rows);
    Parts parts;
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      if (!parts_of(run, row, false, parts)) {
        // The sum of no predictions is zero if missing ones may be skipped.
        if (sum_ && parts.all_skipped) out.reals[row] = 0;
        else out.set_missing(row);
        continue;
      }
      if (average_ && no_weight(parts.given)) {
        out.set_missing(row);
        if (Status refused = refuse_weights(run, row); !refused.ok()) return refused;
        continue;
      }
      out.reals[row] = median_ ? middle(run, row, parts.given) : total(run, row, parts.given);
    }
    return {};
  }

 private:
  double at(const Run& run, const Part& part, uint32_t row) const {
    return real_at(run.in(inputs_[part.segment]), row);
  }

  // Rounds a number to the model's precision: a float if it computes with floats.
  double kept(double value) const {
    return single_ ? static_cast<double>(static_cast<float>(value)) : value;
  }

  double total(const Run& run, uint32_t row, const std::vector<Part>& parts) const {
    double sum = 0, weights = 0;
    for (const Part& part : parts) {
      const double value = kept(at(run, part, row));
      sum = kept(sum + (weighted_ ? kept(kept(part.weight) * value) : value));
      weights = kept(weights + (weighted_ ? kept(part.weight) : 1));
    }
    return average_ ? kept(sum / weights) : sum;
  }

  double middle(const Run& run, uint32_t row, std::vector<Part>& parts) const {
    if (!weighted_) {
      std::vector<double> values;
      for (const Part& part : parts) values.push_back(at(run, part, row));
      return java_median(values);
    }
    std::stable_sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) {
      return java_order(at(run, a, row), at(run, b, row)) < 0;
    });
    double all = 0, sum = 0;
    for (const Part& part : parts) all += part.weight;
    for (const Part& part : parts) {
      sum += part.weight;
      if (sum >= all / 2) return at(run, part, row);
    }
    return at(run, parts.back(), row);
  }

  bool weighted_ = false, median_ = false, average_ = false, sum_ = false, single_ = false;
};

// Votes for labels, which are texts or numbers; a segment's column has one label per row.
class Vote final : public Ensemble {
 public:
  explicit Vote(StageSpec& spec) : Ensemble(spec) {
    weighted_ = method_ == Method::WeightedMajorityVote;
    if (!weighted_ && method_ != Method::MajorityVote) {
      spec.fail("the method does not count votes");
    }
    spec.expect_outputs(2, 2);
    if (spec.failed()) return;
    type_ = spec.column_type(outputs_[1]);
    labels_ = values_of(spec, stages::pmml_vote::labels, type_, "a label");
  }

  Status run(Run& run, Rows rows) const override {
    Column& votes = run.out(outputs_[0], Type::Vector, rows);
    Column& winner = run.out(outputs_[1], type_, rows);
    Parts parts;
    std::vector<double> sums(labels_.size());
    std::vector<size_t> seen;
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      const bool voted = parts_of(run, row, true, parts);
      const int64_t best = voted ? count(run, row, parts, sums, seen) : -1;
      if (best < 0) {
        winner.set_missing(row);
        continue;
      }
      double all = 0;
      for (const double each : sums) all += each;
      votes.start_row(row);
      for (const double each : sums) votes.reals.push_back(all == 0 ? 0 : each / all);
      votes.end_row();
      put(winner, row, labels_[static_cast<size_t>(best)]);
    }
    return {};
  }

 private:
  // The label that wins: the first voted for among equals; -1: segments without a prediction have
  // more votes than any label.
  int64_t count(const Run& run, uint32_t row, const Parts& parts, std::vector<double>& sums,
                std::vector<size_t>& seen) const {
    std::fill(sums.begin(), sums.end(), 0.0);
    seen.clear();
    for (const Part& part : parts.given) {
      const int64_t label = index_of(labels_, run.in(inputs_[part.segment]), row);
      if (label < 0) continue;
      const auto k = static_cast<size_t>(label);
      if (sums[k] == 0) seen.push_back(k);
      sums[k] += weighted_ ? part.weight : 1;
    }
    int64_t best = -1;
    for (const size_t k : seen) {
      if (best < 0 || sums[k] > sums[static_cast<size_t>(best)]) best = static_cast<int64_t>(k);
    }
    const double missing = weighted_ ? parts.missing_weight : static_cast<double>(parts.missing);
    const bool beaten = best >= 0 && missing > sums[static_cast<size_t>(best)];
    return beaten && !skips_missing() ? -1 : best;
  }

  std::vector<Value> labels_;
  bool weighted_ = false;
  Type type_ = Type::Any;
};

// Blends vectors of probabilities; `maps` holds each label's position in each segment's vector (-1:
// zero).
class Blend final : public Ensemble {
 public:
  explicit Blend(StageSpec& spec)
      : Ensemble(spec),
        maps_(spec.integers(stages::pmml_blend::maps)),
        order_(spec.integers(stages::pmml_blend::order)),
        width_(static_cast<size_t>(std::max(spec.integer(stages::pmml_blend::width), 0))) {
    weighted_ = method_ == Method::WeightedAverage;
    median_ = method_ == Method::Median;
    max_ = method_ == Method::Max;
    if (!weighted_ && !median_ && !max_ && method_ != Method::Average) {
      spec.fail("the method does not combine probabilities");
    }
    if (width_ == 0 || maps_.size() != count_ * width_) spec.fail("a map for each segment");
    const auto is_label = [&](int32_t at) { return at >= 0 && static_cast<size_t>(at) < width_; };
    const bool ordered = order_.empty() || order_.size() == width_;
    if (!ordered || !std::all_of(order_.begin(), order_.end(), is_label)) {
      spec.fail("an order of all labels");
    }
  }

  Status run(Run& run, Rows rows) const override {
    for (size_t i = 0; i < count_; ++i) {
      if (run.in(inputs_[i]).type != Type::Vector) {
        return invalid_argument(place_ + ": a segment returns no probabilities");
      }
    }
    Column& out = run.out(outputs_[0], Type::Vector, rows);
    Parts found;
    std::vector<Part>& parts = found.given;
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      if (!parts_of(run, row, false, found)) continue;
      if (median_ || max_) choose(run, row, parts);
      Status refused;
      if (no_weight(parts)) refused = refuse_weights(run, row);
      else if (parts.empty()) refused = run.refuse(row, place_, "no segment is near the median");
      if (!refused.ok()) return refused;
      double weights = 0;
      for (const Part& part : parts) weights += weighted_ ? part.weight : 1;
      if (weights == 0) continue;
      out.start_row(row);
      for (size_t k = 0; k < width_; ++k) {
        double sum = 0;
        for (const Part& part : parts) {
          sum += (weighted_ ? part.weight : 1) * probability(run, part.segment, row, k);
        }
        out.reals.push_back(sum / weights);
      }
      out.end_row();
    }
    return {};
  }

 private:
  double probability(const Run& run, size_t segment, uint32_t row, size_t label) const {
    const std::span<const double> values = run.in(inputs_[segment]).row_reals(row);
    const int32_t at = maps_[segment * width_ + label];
    if (at < 0 || static_cast<size_t>(at) >= values.size()) return 0;
    return values[static_cast<size_t>(at)];
  }

  // Keeps the segments that gave the winning label its number, or came closest to it; none if the
  // winner's median is NaN.
  void choose(const Run& run, uint32_t row, std::vector<Part>& parts) const {
    std::vector<double> bests, values;
    for (size_t i = 0; i < width_; ++i) {
      const size_t k = order_.empty() ? i : static_cast<size_t>(order_[i]);
      values.clear();
      for (const Part& part : parts) values.push_back(probability(run, part.segment, row, k));
      if (max_) bests.push_back(std::accumulate(values.begin(), values.end(), values[0], java_max));
      else bests.push_back(java_median(values));
    }
    const size_t first = java_largest(bests);
    const double best = bests[first];
    const size_t winner = order_.empty() ? first : static_cast<size_t>(order_[first]);
    const auto of = [&](const Part& part) { return probability(run, part.segment, row, winner); };
    if (max_) {
      std::erase_if(parts, [&](const Part& part) { return java_order(of(part), best) != 0; });
      return;
    }
    double least = std::numeric_limits<double>::max();
    const auto distance = [&](const Part& part) { return std::fabs(best - of(part)); };
    for (const Part& part : parts) least = std::min(least, distance(part));
    std::erase_if(parts, [&](const Part& part) { return !(distance(part) <= least); });
  }

  std::span<const int32_t> maps_;
  std::span<const int32_t> order_;  // labels: of equals the first one is the winner of median, max
  size_t width_;
  bool weighted_ = false, median_ = false, max_ = false;
};

// A forest's leaves (List, one per tree, -1: none) -> votes by label, and the winner: among equals
// the one that the first tree voted for. Trees without a leaf vote for "missing".
class LeafVotes final : public Stage {
 public:
  explicit LeafVotes(StageSpec& spec)
      : place_(spec.place),
        label_of_(spec.integers(stages::pmml_leaf_votes::label_of)),
        weights_(spec.reals(stages::pmml_leaf_votes::weights)) {
    spec.expect_inputs(1, 1);
    spec.expect_outputs(2, 2);
    if (spec.failed()) return;
    in_ = spec.inputs[0];
    votes_ = spec.outputs[0];
    out_ = spec.outputs[1];
    type_ = spec.column_type(out_);
    labels_ = values_of(spec, stages::pmml_leaf_votes::labels, type_, "a label");
    const auto count = static_cast<int64_t>(labels_.size());
    const bool fit = std::all_of(label_of_.begin(), label_of_.end(),
                                 [&](int32_t label) { return label >= 0 && label < count; });
    if (!fit) spec.fail("a leaf has no label");
  }

  Status run(Run& run, Rows rows) const override {
    const Column& in = run.in(in_);
    if (in.type != Type::List || storage_of(in.element) != Storage::Integer) {
      return invalid_argument(place_ + ": expected the leaves of a forest");
    }
    Column& votes = run.out(votes_, Type::Vector, rows);
    Column& winner = run.out(out_, type_, rows);
    std::vector<double> sums(labels_.size());
    std::vector<uint32_t> first(labels_.size());
    for (uint32_t i = 0; i < rows.count; ++i) {
      const uint32_t row = rows[i];
      double missing = 0;
      const double all = in.valid(row) ? count(in.row_integers(row), sums, first, missing) : 0;
      if (!(all > 0) || missing > *std::max_element(sums.begin(), sums.end())) {
        winner.set_missing(row);
        continue;
      }
      votes.start_row(row);
      size_t best = 0;
      for (size_t k = 0; k < sums.size(); ++k) {
        votes.reals.push_back(sums[k] / all);
        if (sums[k] > sums[best] || (sums[k] == sums[best] && first[k] < first[best])) best = k;
      }
      votes.end_row();
      put(winner, row, labels_[best]);
    }
    return {};
  }

 private:
  // All votes for labels.
  double count(std::span<const int64_t> leaves, std::vector<double>& sums,
               std::vector<uint32_t>& first, double& missing) const {
    std::fill(sums.begin(), sums.end(), 0.0);
    std::fill(first.begin(), first.end(), UINT32_MAX);
    double all = 0;
    for (size_t tree = 0; tree < leaves.size() && tree < weights_.size(); ++tree) {
      if (leaves[tree] < 0 || leaves[tree] >= static_cast<int64_t>(label_of_.size())) {
        missing += weights_[tree];
        continue;
      }
      const auto label = static_cast<size_t>(label_of_[static_cast<size_t>(leaves[tree])]);
      sums[label] += weights_[tree];
      first[label] = std::min(first[label], static_cast<uint32_t>(tree));
      all += weights_[tree];
    }
    return all;
  }

  std::string place_;
  std::span<const int32_t> label_of_;
  std::span<const double> weights_;
  std::vector<Value> labels_;
  uint32_t in_ = 0, votes_ = 0, out_ = 0;
  Type type_ = Type::Any;
};

}  // namespace

std::unique_ptr<Stage> make_leaf_votes(StageSpec& spec) {
  return std::make_unique<LeafVotes>(spec);
}
std::unique_ptr<Stage> make_combine(StageSpec& spec) { return std::make_unique<Combine>(spec); }
std::unique_ptr<Stage> make_vote(StageSpec& spec) { return std::make_unique<Vote>(spec); }
std::unique_ptr<Stage> make_blend(StageSpec& spec) { return std::make_unique<Blend>(spec); }

}  // namespace serval::tabular::pmml
