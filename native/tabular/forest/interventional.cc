// See interventional.h. build(): any thread, once; add(): hot path, any thread.
#include "tabular/forest/interventional.h"

#include <algorithm>

#include "tabular/forest/shap.h"

namespace serval::tabular {

std::string InterventionalShap::build(const SharedForest& shared,
                                      std::span<const double> background,
                                      std::span<const int32_t> players) {
  shared_ = &shared;
  players_ = players;
  background_ = background;
  const Forest& forest = shared.forest;
  const size_t rows = background.size() / forest.stride();
  for (const int32_t player : players) {
    player_count_ = std::max(player_count_, static_cast<size_t>(player) + 1);
  }
  double total = 0;
  for (size_t tree = 0; tree < forest.tree_count(); ++tree) total += shared.weight(tree);
  const double mean = shared.sum == stages::ForestSum::Mean ? 1 / total : 1;
  for (size_t tree = 0; tree < forest.tree_count(); ++tree) {
    factors_.push_back(mean * shared.weight(tree) / static_cast<double>(rows));
    if (std::string fault = measure(tree); !fault.empty()) return fault;
  }
  weights_.assign(places_ * places_, 0);
  for (size_t own = 0; own < places_; ++own) {
    // 1 / ((own + other + 1) * (own + other over other)).
    double choices = 1;
    for (size_t other = 0; other < places_; ++other) {
      const auto all = static_cast<double>(own + other);
      if (other > 0) choices *= all / static_cast<double>(other);
      weights_[own * places_ + other] = 1 / ((all + 1) * choices);
    }
  }
  expected_.assign(shared.width, 0);
  std::vector<int32_t> leaves(forest.tree_count());
  for (size_t row = 0; row < rows; ++row) {
    forest.walk_trees(background.data() + row * forest.stride(), leaves.data());
    for (size_t tree = 0; tree < leaves.size(); ++tree) {
      if (leaves[tree] < 0) return "a tree has no result for background row " + std::to_string(row);
      const double* values =
          shared.leaves.data() + static_cast<size_t>(leaves[tree]) * shared.width;
      for (size_t k = 0; k < shared.width; ++k) expected_[k] += factors_[tree] * values[k];
    }
  }
  for (size_t k = 0; k < shared.base.size(); ++k) expected_[k] += shared.base[k] * mean;
  // See Walk: sums of both kinds by level, then a side by player.
  scratch_ = (levels_ + 2) * 2 * shared.width + player_count_;
  return {};
}

// Checks a tree's levels and the players of its paths, and keeps the most of each.
std::string InterventionalShap::measure(size_t tree) {
  const Forest& forest = shared_->forest;
  struct Step {
    uint32_t at;
    uint8_t children = 0;
    bool is_new = false;  // no node above has its player
  };
  std::vector<Step> path;
  std::vector<uint8_t> on_path(player_count_, 0);
  size_t players = 0;
  const auto player_of = [&](uint32_t at) {
    return static_cast<size_t>(players_[forest.features()[forest.slot(at)]]);
  };
  const auto enter = [&](uint32_t at) {
    if (forest.is_leaf(at)) return;
    uint8_t& known = on_path[player_of(at)];
    path.push_back({at, 0, known == 0});
    players += known == 0 ? 1 : 0;
    known = 1;
    places_ = std::max(places_, players + 1);
    levels_ = std::max(levels_, path.size());
  };
  enter(forest.root(tree));
  while (!path.empty()) {
    if (path.size() > ForestShap::kLevelsMax) {
      return "tree " + std::to_string(tree) + " has more than " +
             std::to_string(ForestShap::kLevelsMax) + " levels";
    }
    if (players > ForestShap::kPlayersMax) {
      return "tree " + std::to_string(tree) + " tests more than " +
             std::to_string(ForestShap::kPlayersMax) + " features on one path";
    }
    Step& top = path.back();
    if (top.children < 2) {
      enter(forest.left(top.at) + top.children++);
      continue;
    }
    if (top.is_new) {
      on_path[player_of(top.at)] = 0;
      --players;
    }
    path.pop_back();
  }
  return {};
}

// One tree, one row and one background row.
struct InterventionalShap::Walk {
  // The row whose way a player goes.
  static constexpr double kBoth = 0, kOwn = 1, kOther = 2;

  const InterventionalShap& shap;
  const Forest& forest;
  const double* row;
  const double* background;
  double factor;
  size_t width;
  double* values;
  double* sides;  // by player
  size_t own = 0, other = 0;
  bool has_result = true;

  // Sets sums[0, width) to the share that a player of the row gains from the leaves below, and the
  // next `width` to the share that one of the background row loses. Uses the memory after these.
  void visit(uint32_t at, double* sums) {
    if (forest.is_leaf(at)) return reach(at, sums);
    const uint32_t to_own = forest.next(at, row);
    const uint32_t to_other = forest.next(at, background);
    if (to_own == at || to_other == at) {
      has_result = false;
      std::fill_n(sums, 2 * width, 0.0);
      return;
    }
    if (to_own == to_other) return visit(to_own, sums);
    const auto player = static_cast<size_t>(shap.players_[forest.features()[forest.slot(at)]]);
    double& side = sides[player];
    if (side == kOwn) return visit(to_own, sums);
    if (side == kOther) return visit(to_other, sums);
    double* right = sums + 2 * width;
    side = kOwn;
    ++own;
    visit(to_own, sums);
    --own;
    side = kOther;
    ++other;
    visit(to_other, right);
    --other;
    side = kBoth;
    double* to = values + player * width;
    for (size_t k = 0; k < width; ++k) to[k] += factor * (sums[k] - right[width + k]);
    for (size_t k = 0; k < 2 * width; ++k) sums[k] += right[k];
  }

  void reach(uint32_t at, double* sums) const {
    const double* leaf = shap.shared_->leaves.data() + static_cast<size_t>(forest.leaf(at)) * width;
    const double gain = own > 0 ? shap.weight(own - 1, other) : 0;
    const double loss = other > 0 ? shap.weight(own, other - 1) : 0;
    for (size_t k = 0; k < width; ++k) {
      sums[k] = gain * leaf[k];
      sums[width + k] = loss * leaf[k];
    }
  }
};

bool InterventionalShap::add(const double* row, double* values, double* scratch) const {
  const Forest& forest = shared_->forest;
  double* sides = scratch + scratch_ - player_count_;
  std::fill_n(sides, player_count_, Walk::kBoth);
  for (size_t at = 0; at < background_.size(); at += forest.stride()) {
    for (size_t tree = 0; tree < forest.tree_count(); ++tree) {
      Walk walk{*this,          forest,         row,    background_.data() + at,
                factors_[tree], shared_->width, values, sides};
      walk.visit(forest.root(tree), scratch);
      if (!walk.has_result) return false;
    }
  }
  return true;
}

}  // namespace serval::tabular
