// The stage kinds that explain forests, for requests that ask for it: `forest_shap` and
// `forest_trees`. Hot path, any thread.
#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "tabular/forest/interventional.h"
#include "tabular/forest/shap.h"

namespace serval::tabular {
namespace {

constexpr size_t kShapLanes = ForestShap::kLanes;
constexpr uint32_t kBlockRows = 32;

using Forests = std::vector<std::shared_ptr<const SharedForest>>;

Forests read_forests(StageSpec& spec, std::span<const int32_t> columns) {
  Forests made;
  for (const int32_t column : columns) {
    auto forest = spec.forest_of(column);
    if (forest == nullptr) return {};
    made.push_back(std::move(forest));
  }
  if (made.empty()) spec.fail("there are no forests");
  return made;
}

void expect_count(StageSpec& spec, const char* what, size_t got, size_t expected) {
  if (got == expected) return;
  spec.fail("expected " + std::to_string(expected) + " " + what + ", got " + std::to_string(got));
}

Error cancelled_run() { return make_error(ErrorCode::Cancelled, "the run was cancelled"); }

// Reads a forest's features, and finds rows without a vector (2) or a result (1).
Status read_rows(const SharedForest& shared, Run& run, Rows rows, uint32_t first, uint32_t count,
                 double* features, std::vector<int32_t>& leaves, uint8_t* lost) {
  uint8_t unread[kBlockRows];
  Status read = shared.features.read(run, rows, first, count, features, unread);
  if (!read.ok()) return read;
  for (uint32_t i = 0; i < count; ++i) {
    if (unread[i] != 0) lost[i] = 2;
    if (!shared.forest.may_stay()) continue;
    leaves.resize(shared.forest.tree_count());
    shared.forest.walk_trees(features + i * shared.forest.stride(), leaves.data());
    const bool stays =
        std::any_of(leaves.begin(), leaves.end(), [](int32_t leaf) { return leaf < 0; });
    if (stays) lost[i] = std::max<uint8_t>(lost[i], 1);
  }
  return {};
}

class ForestShapStage final : public Stage {
 public:
  explicit ForestShapStage(StageSpec& spec)
      : place_(spec.place),
        forests_(read_forests(spec, spec.integers(stages::forest_shap::forests))),
        first_scores_(spec.integers(stages::forest_shap::scores)),
        players_(spec.integers(stages::forest_shap::players)),
        share_offsets_(spec.integers(stages::forest_shap::share_offsets)),
        share_features_(spec.integers(stages::forest_shap::share_features)),
        covers_(spec.reals(stages::forest_shap::covers)),
        bias_(spec.reals(stages::forest_shap::bias)),
        scale_(spec.real(stages::forest_shap::scale)),
        uncovered_(spec.text(stages::forest_shap::uncovered)),
        lacks_(spec.text(stages::forest_shap::lacks)) {
    const int32_t scores = spec.integer(stages::forest_shap::score_count);
    const int32_t features = spec.integer(stages::forest_shap::feature_count);
    spec.expect_outputs(2, 2);
    if (spec.failed()) return;
    if (scores < 1 || features < 1) {
      spec.fail("expected scores and features");
      return;
    }
    scores_ = static_cast<size_t>(scores);
    feature_count_ = static_cast<size_t>(features);
    check_scores(spec);
    if (lacks_.empty()) check_players(spec);
    if (spec.failed()) return;
    values_ = spec.outputs[0];
    expected_ = spec.outputs[1];
    for (const uint32_t output : spec.outputs) {
      if (spec.column_type(output) == Type::List && spec.column_element(output) == Type::Double) {
        continue;
      }
      spec.fail("an output that is no list of Doubles");
    }
  }

  bool on_request() const override { return true; }
  Status learn(Run& run, Rows rows) override;
  Status run(Run& run, Rows rows) const override;

 private:
  // Parts of Frame::scratch for one block.
  struct Work {
    double* features;
    double* answers;  // by row: feature_count_ * scores_
    double* values;   // by player and lane; relative ones by player and number of a leaf
    double* walk;
  };
  struct Built {
    std::once_flag once;
    std::vector<ForestShap> shaps;
    std::vector<InterventionalShap> relative;  // instead of shaps: relative to background rows
    std::vector<double> expected;              // by score
    std::string fault;
    size_t stride = 0, walk = 0;  // the most of any forest
  };

  void check_scores(StageSpec& spec) const;
  void check_players(StageSpec& spec);
  void build() const;
  std::string build_forest(size_t forest, std::span<const double> covers,
                           std::span<const int32_t> players) const;
  Work work_in(std::vector<double>& scratch, size_t block) const;
  Status explain(Run& run, Rows rows, uint32_t first, uint32_t count, const Work& work,
                 std::vector<int32_t>& leaves, uint8_t* lost) const;
  void add_lanes(size_t forest, const Work& work, uint32_t first, uint32_t count) const;
  void add_relative(size_t forest, const Work& work, uint32_t row, uint8_t* lost) const;
  void share(size_t score, const double* values, size_t stride, double* answer) const;

  std::string place_;
  Forests forests_;
  std::span<const int32_t> first_scores_, players_, share_offsets_, share_features_;
  std::span<const double> covers_, bias_;
  double scale_;
  std::string_view uncovered_, lacks_;
  std::vector<std::vector<double>> background_;  // by forest: rows of its features
  size_t scores_ = 1, feature_count_ = 1, player_count_ = 0;
  uint32_t values_ = 0, expected_ = 0;
  // Made by the first request for them: models that nobody asks to explain need no memory for it.
  std::unique_ptr<Built> built_ = std::make_unique<Built>();
};

void ForestShapStage::check_scores(StageSpec& spec) const {
  expect_count(spec, "first scores", first_scores_.size(), forests_.size());
  if (!bias_.empty()) expect_count(spec, "numbers of bias", bias_.size(), scores_);
  if (spec.failed()) return;
  for (size_t i = 0; i < forests_.size(); ++i) {
    const auto first = static_cast<size_t>(first_scores_[i]);
    if (first_scores_[i] < 0 || first > scores_ || forests_[i]->width > scores_ - first) {
      spec.fail("the scores of forest " + std::to_string(i) + " do not exist");
    }
    if (forests_[i]->sum == stages::ForestSum::Each || forests_[i]->skip) {
      spec.fail("forest " + std::to_string(i) + " is no sum or mean of all its trees");
    }
  }
}

void ForestShapStage::check_players(StageSpec& spec) {
  size_t features = 0, leaves = 0;
  for (const auto& forest : forests_) {
    // Features that no tree reads may have no player.
    features += forest->features.count();
    leaves += forest->leaf_count();
  }
  expect_count(spec, "players", players_.size(), features);
  if (uncovered_.empty()) expect_count(spec, "covers", covers_.size(), leaves);
  if (spec.failed()) return;
  const bool valid = std::all_of(covers_.begin(), covers_.end(),
                                 [](double cover) { return std::isfinite(cover) && cover >= 0; });
  if (!valid) spec.fail("covers: expected finite numbers from 0");
  const size_t known = share_offsets_.empty() ? feature_count_ : share_offsets_.size() - 1;
  for (const int32_t player : players_) {
    if (player < 0 || static_cast<size_t>(player) >= known) {
      return spec.fail("player " + std::to_string(player) + " does not exist");
    }
  }
  player_count_ = known;
  if (share_offsets_.empty()) return;
  const bool sorted = std::is_sorted(share_offsets_.begin(), share_offsets_.end());
  const bool fits = share_offsets_.front() == 0 &&
                    static_cast<size_t>(share_offsets_.back()) == share_features_.size();
  const auto exists = [this](int32_t feature) {
    return feature >= 0 && static_cast<size_t>(feature) < feature_count_;
  };
  if (!sorted || !fits || !std::all_of(share_features_.begin(), share_features_.end(), exists)) {
    spec.fail("the features of players do not exist");
  }
}

// Reads the background rows' features. The work for one row is limited.
Status ForestShapStage::learn(Run& run, Rows rows) {
  if (!lacks_.empty()) return {};
  uint64_t nodes = 0;
  for (const auto& forest : forests_) nodes += forest->forest.node_count();
  if (nodes * rows.count > InterventionalShap::kNodesMax) {
    return invalid_argument(place_ + ": expected at most " +
                            std::to_string(InterventionalShap::kNodesMax) +
                            " background rows times nodes of the trees, got " +
                            std::to_string(rows.count) + " times " + std::to_string(nodes));
  }
  std::vector<int32_t> leaves;
  for (const auto& forest : forests_) {
    if (Status checked = forest->features.check(run); !checked.ok()) return checked;
    std::vector<const Failure*> failures;
    for (uint32_t i = 0; forest->features.any_failures(run) && i < rows.count; ++i) {
      if (!forest->features.failures(run, rows[i], failures)) continue;
      const auto is_failure = [](const Failure* one) { return one != nullptr; };
      return run.refuse(**std::ranges::find_if(failures, is_failure));
    }
    const size_t stride = forest->forest.stride();
    std::vector<double>& made = background_.emplace_back(rows.count * stride);
    for (uint32_t first = 0; first < rows.count; first += kBlockRows) {
      const uint32_t count = std::min(kBlockRows, rows.count - first);
      uint8_t lost[kBlockRows] = {};
      Status read =
          read_rows(*forest, run, rows, first, count, made.data() + first * stride, leaves, lost);
      if (!read.ok()) return read;
      const auto* found = std::find_if(lost, lost + count, [](uint8_t one) { return one != 0; });
      if (found == lost + count) continue;
      const auto row = first + static_cast<size_t>(found - lost);
      return invalid_argument(place_ + ": row " + std::to_string(row) + " has no prediction");
    }
  }
  return {};
}

void ForestShapStage::build() const {
  Built& built = *built_;
  built.expected.assign(scores_, 0);
  built.shaps.clear();  // an earlier call may have run out of memory
  built.relative.clear();
  built.shaps.resize(background_.empty() ? forests_.size() : 0);
  built.relative.resize(background_.size());
  size_t leaf = 0, feature = 0;
  for (size_t i = 0; i < forests_.size(); ++i) {
    const SharedForest& forest = *forests_[i];
    const auto covers = covers_.empty() ? covers_ : covers_.subspan(leaf, forest.leaf_count());
    built.fault = build_forest(i, covers, players_.subspan(feature, forest.features.count()));
    if (!built.fault.empty()) return;
    leaf += forest.leaf_count();
    feature += forest.features.count();
    built.stride = std::max(built.stride, forest.forest.stride());
  }
  for (size_t i = 0; i < scores_; ++i) {
    built.expected[i] = built.expected[i] * scale_ + (bias_.empty() ? 0 : bias_[i]);
  }
}

std::string ForestShapStage::build_forest(size_t forest, std::span<const double> covers,
                                          std::span<const int32_t> players) const {
  Built& built = *built_;
  const SharedForest& shared = *forests_[forest];
  const auto add = [&](auto& shap, std::span<const double> reference) {
    std::string fault = shap.build(shared, reference, players);
    if (!fault.empty()) return fault;
    built.walk = std::max(built.walk, shap.scratch());
    for (size_t k = 0; k < shared.width; ++k) {
      built.expected[static_cast<size_t>(first_scores_[forest]) + k] += shap.expected()[k];
    }
    return fault;
  };
  return background_.empty() ? add(built.shaps[forest], covers)
                             : add(built.relative[forest], background_[forest]);
}

// `block`: the most rows of a block.
ForestShapStage::Work ForestShapStage::work_in(std::vector<double>& scratch, size_t block) const {
  const size_t features = kBlockRows * built_->stride;
  const size_t answers = block * feature_count_ * scores_;
  size_t width = kShapLanes;
  for (const auto& forest : forests_) width = std::max(width, forest->width);
  const size_t values = player_count_ * width;
  scratch.resize(std::max(scratch.size(), features + answers + values + built_->walk));
  Work work{};
  work.features = scratch.data();
  work.answers = work.features + features;
  work.values = work.answers + answers;
  work.walk = work.values + values;
  return work;
}

// Adds the players' values, which are `stride` apart, to a row's features.
void ForestShapStage::share(size_t score, const double* values, size_t stride,
                            double* answer) const {
  for (size_t player = 0; player < player_count_; ++player) {
    const auto self = static_cast<int32_t>(player);
    const std::span<const int32_t> features =
        share_offsets_.empty()
            ? std::span<const int32_t>(&self, 1)
            : share_features_.subspan(
                  static_cast<size_t>(share_offsets_[player]),
                  static_cast<size_t>(share_offsets_[player + 1] - share_offsets_[player]));
    for (const int32_t feature : features) {
      answer[static_cast<size_t>(feature) * scores_ + score] +=
          scale_ * values[player * stride] / static_cast<double>(features.size());
    }
  }
}

// Explains `count` rows of the block, at most kShapLanes.
void ForestShapStage::add_lanes(size_t forest, const Work& work, uint32_t first,
                                uint32_t count) const {
  const SharedForest& shared = *forests_[forest];
  const double* rows[kShapLanes];
  // Lanes without a row repeat the first one.
  for (uint32_t lane = 0; lane < kShapLanes; ++lane) {
    rows[lane] = work.features + (first + (lane < count ? lane : 0)) * shared.forest.stride();
  }
  const size_t answer = feature_count_ * scores_;
  for (size_t value = 0; value < shared.width; ++value) {
    std::fill_n(work.values, player_count_ * kShapLanes, 0.0);
    built_->shaps[forest].add(rows, count == 1 ? 1 : kShapLanes, value, work.values, work.walk);
    const size_t score = static_cast<size_t>(first_scores_[forest]) + value;
    for (uint32_t lane = 0; lane < count; ++lane) {
      share(score, work.values + lane, kShapLanes, work.answers + (first + lane) * answer);
    }
  }
}

// Explains row `row` of the block relative to the background rows.
void ForestShapStage::add_relative(size_t forest, const Work& work, uint32_t row,
                                   uint8_t* lost) const {
  const SharedForest& shared = *forests_[forest];
  const double* features = work.features + row * shared.forest.stride();
  std::fill_n(work.values, player_count_ * shared.width, 0.0);
  if (!built_->relative[forest].add(features, work.values, work.walk)) {
    lost[row] = std::max<uint8_t>(lost[row], 1);
  }
  double* answer = work.answers + row * feature_count_ * scores_;
  for (size_t value = 0; value < shared.width; ++value) {
    const size_t score = static_cast<size_t>(first_scores_[forest]) + value;
    share(score, work.values + value, shared.width, answer);
  }
}

Status ForestShapStage::explain(Run& run, Rows rows, uint32_t first, uint32_t count,
                                const Work& work, std::vector<int32_t>& leaves,
                                uint8_t* lost) const {
  std::fill_n(lost, count, uint8_t{0});
  std::fill_n(work.answers, count * feature_count_ * scores_, 0.0);
  for (size_t forest = 0; forest < forests_.size(); ++forest) {
    Status read =
        read_rows(*forests_[forest], run, rows, first, count, work.features, leaves, lost);
    if (!read.ok()) return read;
    for (uint32_t row = 0; row < count && !background_.empty(); ++row) {
      if (run.cancel != nullptr && run.cancel->cancelled()) return cancelled_run();
      if (lost[row] == 0) add_relative(forest, work, row, lost);
    }
    for (uint32_t lane = 0; lane < count && background_.empty(); lane += kShapLanes) {
      if (run.cancel != nullptr && run.cancel->cancelled()) return cancelled_run();
      add_lanes(forest, work, lane, std::min<uint32_t>(kShapLanes, count - lane));
    }
  }
  return {};
}

Status ForestShapStage::run(Run& run, Rows rows) const {
  const std::string_view lack = background_.empty() && lacks_.empty() ? uncovered_ : lacks_;
  if (!lack.empty()) return invalid_argument(place_ + ": " + std::string(lack));
  std::call_once(built_->once, [this] { build(); });
  if (!built_->fault.empty()) {
    return invalid_argument(place_ + ": the model cannot be explained: " + built_->fault);
  }
  const size_t width = feature_count_ * scores_;
  if (uint64_t{width} * rows.count > run.options.column_values_max) {
    return run.too_many(uint64_t{width} * rows.count, place_);
  }
  for (const auto& forest : forests_) {
    if (Status checked = forest->features.check(run); !checked.ok()) return checked;
  }
  Column& values = run.out(values_, Type::List, rows, Type::Double);
  Column& expected = run.out(expected_, Type::List, rows, Type::Double);
  values.reals.reserve(rows.count * width);
  std::vector<int32_t> leaves;
  uint8_t lost[kBlockRows];
  for (uint32_t first = 0; first < rows.count; first += kBlockRows) {
    const uint32_t count = std::min(kBlockRows, rows.count - first);
    const Work work = work_in(run.frame.scratch, std::min<size_t>(kBlockRows, rows.count));
    Status done = explain(run, rows, first, count, work, leaves, lost);
    if (!done.ok()) return done;
    for (uint32_t i = 0; i < count; ++i) {
      if (lost[i] != 0) continue;
      values.start_row(rows[first + i]);
      const double* answer = work.answers + i * width;
      values.reals.insert(values.reals.end(), answer, answer + width);
      values.end_row();
      expected.start_row(rows[first + i]);
      expected.reals.insert(expected.reals.end(), built_->expected.begin(), built_->expected.end());
      expected.end_row();
    }
  }
  return {};
}

class ForestTreesStage final : public Stage {
 public:
  explicit ForestTreesStage(StageSpec& spec)
      : place_(spec.place),
        forests_(read_forests(spec, spec.integers(stages::forest_trees::forests))),
        order_(spec.integers(stages::forest_trees::order)),
        leaf_ids_(spec.integers(stages::forest_trees::leaf_ids)),
        is_values_(spec.flag(stages::forest_trees::values)),
        scale_(spec.real(stages::forest_trees::scale)) {
    spec.expect_outputs(1, 1);
    if (spec.failed()) return;
    size_t trees = 0, leaves = 0;
    width_ = is_values_ ? forests_.front()->width : 1;
    for (const auto& forest : forests_) {
      trees += forest->forest.tree_count();
      leaves += forest->leaf_count();
      if (is_values_ && forest->width != width_) spec.fail("forests with leaves of other sizes");
      stride_ = std::max(stride_, forest->forest.stride());
    }
    expect_count(spec, "places of trees", order_.size(), trees);
    if (!leaf_ids_.empty()) expect_count(spec, "numbers of leaves", leaf_ids_.size(), leaves);
    std::vector<int32_t> places(order_.begin(), order_.end());
    std::sort(places.begin(), places.end());
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] == static_cast<int32_t>(i)) continue;
      spec.fail("the order of trees lacks place " + std::to_string(i));
      return;
    }
    if (spec.failed()) return;
    output_ = spec.outputs[0];
    const Type element = is_values_ ? Type::Double : Type::Int32;
    if (spec.column_type(output_) != Type::List || spec.column_element(output_) != element) {
      spec.fail("an output that is no list of " + std::string(type_name(element)));
    }
  }

  bool on_request() const override { return true; }
  Status run(Run& run, Rows rows) const override;

 private:
  void add_row(size_t forest, size_t tree, size_t first_leaf, const int32_t* leaves, double* values,
               int64_t* numbers) const;

  std::string place_;
  Forests forests_;
  std::span<const int32_t> order_, leaf_ids_;
  bool is_values_;
  double scale_;
  size_t width_ = 1, stride_ = 1;
  uint32_t output_ = 0;
};

// Adds the leaves of one forest, whose trees and leaves begin at these numbers among all.
void ForestTreesStage::add_row(size_t forest, size_t tree, size_t first_leaf, const int32_t* leaves,
                               double* values, int64_t* numbers) const {
  const SharedForest& shared = *forests_[forest];
  for (size_t i = 0; i < shared.forest.tree_count(); ++i) {
    const auto place = static_cast<size_t>(order_[tree + i]);
    const bool has = leaves[i] >= 0;
    const auto leaf = static_cast<size_t>(std::max(leaves[i], 0));
    if (!is_values_) {
      numbers[place] = !has ? -1 : leaf_ids_.empty() ? leaves[i] : leaf_ids_[first_leaf + leaf];
      continue;
    }
    for (size_t k = 0; k < width_; ++k) {
      values[place * width_ + k] =
          has ? scale_ * shared.weight(i) * shared.leaves[leaf * width_ + k]
              : std::numeric_limits<double>::quiet_NaN();
    }
  }
}

Status ForestTreesStage::run(Run& run, Rows rows) const {
  const size_t width = order_.size() * width_;
  if (uint64_t{width} * rows.count > run.options.column_values_max) {
    return run.too_many(uint64_t{width} * rows.count, place_);
  }
  for (const auto& forest : forests_) {
    if (Status checked = forest->features.check(run); !checked.ok()) return checked;
  }
  Column& out = run.out(output_, Type::List, rows, is_values_ ? Type::Double : Type::Int32);
  std::vector<int32_t> leaves(order_.size());
  for (uint32_t i = 0; i < rows.count; ++i) {
    if (run.cancel != nullptr && run.cancel->cancelled()) return cancelled_run();
    run.frame.scratch.resize(std::max(run.frame.scratch.size(), stride_));
    out.start_row(rows[i]);
    out.reals.resize(out.reals.size() + (is_values_ ? width : 0));
    out.integers.resize(out.integers.size() + (is_values_ ? 0 : width));
    size_t tree = 0, leaf = 0;
    uint8_t lost = 0;
    for (size_t forest = 0; forest < forests_.size() && lost == 0; ++forest) {
      const SharedForest& shared = *forests_[forest];
      Status read = shared.features.read(run, rows, i, 1, run.frame.scratch.data(), &lost);
      if (!read.ok()) return read;
      shared.forest.walk_trees(run.frame.scratch.data(), leaves.data());
      add_row(forest, tree, leaf, leaves.data(),
              out.reals.data() + out.reals.size() - (is_values_ ? width : 0),
              out.integers.data() + out.integers.size() - (is_values_ ? 0 : width));
      tree += shared.forest.tree_count();
      leaf += shared.leaf_count();
    }
    if (lost != 0) out.drop_row(rows[i]);
    else out.end_row();
  }
  return {};
}

}  // namespace

std::unique_ptr<Stage> make_forest_shap(StageSpec& spec) {
  return std::make_unique<ForestShapStage>(spec);
}

std::unique_ptr<Stage> make_forest_trees(StageSpec& spec) {
  return std::make_unique<ForestTreesStage>(spec);
}

}  // namespace serval::tabular
