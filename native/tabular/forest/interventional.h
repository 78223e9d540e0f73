// Shapley values of the features of a forest relative to background rows: a feature that a
// coalition lacks has the background row's value. They are exact, and the mean over the background
// rows. Built once, immutable then; any thread.
//
// For one background row, a leaf has the value of a coalition if the coalition has all players that
// go to the leaf only in the explained row (`own` of them), and none that go there only in the
// background row (`other`). Each of the first gets (own - 1)! other! / (own + other)! of the leaf,
// each of the second loses own! (other - 1)! / (own + other)! of it. One walk of both rows visits
// these leaves only.
// Source: Lundberg and others: From local explanations to global understanding with explainable AI
// for trees, algorithm 3.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tabular/forest/shared.h"

namespace serval::tabular {

class InterventionalShap {
 public:
  // Background rows times nodes of the trees: the most steps of the walks for one row.
  static constexpr uint64_t kNodesMax = 200'000'000;

  // `background`: rows of forest.stride() doubles, one or more. `players`: by feature. Keeps
  // references to all three. Returns what is wrong; empty if nothing is.
  std::string build(const SharedForest& shared, std::span<const double> background,
                    std::span<const int32_t> players);

  // The mean of the trees' sums over the background rows, one for each number of a leaf.
  const std::vector<double>& expected() const { return expected_; }
  // Doubles of working memory for add().
  size_t scratch() const { return scratch_; }
  // Adds the players' values for all numbers of the leaves: values[player * width + number]. false:
  // a tree has no result for a coalition.
  bool add(const double* row, double* values, double* scratch) const;

 private:
  struct Walk;
  std::string measure(size_t tree);
  double weight(size_t own, size_t other) const { return weights_[own * places_ + other]; }

  const SharedForest* shared_ = nullptr;
  std::span<const int32_t> players_;
  std::span<const double> background_;
  std::vector<double> factors_;  // by tree: its weight's share of one background row
  std::vector<double> weights_;  // own! other! / (own + other + 1)!
  std::vector<double> expected_;
  size_t player_count_ = 0, places_ = 1, levels_ = 0, scratch_ = 0;
};

}  // namespace serval::tabular
