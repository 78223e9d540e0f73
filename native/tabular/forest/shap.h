// Shapley values of the features of a forest, path-dependent: a feature that a coalition lacks is
// replaced by the training rows' shares of a node's children. Built once, immutable then; any
// thread.
//
// A tree is a sum over its leaves. For one leaf, with the players (features) on its path, let z be
// the share of training rows that follow the path at the player's nodes, and o be 1 if the row
// does, otherwise 0. The player's value is
//   leaf * (o - z) * integral over t from 0 to 1 of the product of (z' (1 - t) + o' t),
// where the product is over the path's other players: the integral of t^s (1 - t)^(n - 1 - s) is
// Shapley's weight of a coalition of s players. The integrand is a polynomial, so Gauss and
// Legendre's quadrature with half as many points as players is exact. Products are extended on the
// way down and sums over leaves are collected on the way up, so that a node costs a few operations
// for each point. All terms are positive, so no digits are lost.
// Source: Lundberg, Erion, Lee: Consistent individualized feature attribution for tree ensembles;
// Yu, Xu, Bichler: Linear TreeShap.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tabular/forest/shared.h"

namespace serval::tabular {

class ForestShap {
 public:
  // Rows that are explained together.
  static constexpr size_t kLanes = 8;
  static constexpr size_t kLevelsMax = 512;
  static constexpr size_t kPlayersMax = 128;  // on one path

  // `covers`: for each leaf. `players`: by feature. Keeps a reference to the forest. Returns what
  // is wrong; empty if nothing is.
  std::string build(const SharedForest& shared, std::span<const double> covers,
                    std::span<const int32_t> players);

  // The mean of the trees' sums over the training rows, one for each number of a leaf.
  const std::vector<double>& expected() const { return expected_; }
  // Doubles of working memory for add().
  size_t scratch() const { return scratch_; }
  // Adds the players' values for number `value` of the leaves: values[player * kLanes + lane].
  // `rows`: the features of each lane, `lanes` (1 or kLanes) of them.
  void add(const double* const* rows, size_t lanes, size_t value, double* values,
           double* scratch) const;

 private:
  // The way to a child. Edges of a tree are in the order of a walk that visits a node's left child
  // before its right one.
  struct Edge {
    double share;  // z, of all the path's edges of this player down to this one
    uint32_t parent;
    int32_t leaf;  // -1: the child is a node
    uint32_t player;
    uint32_t end;     // the first edge that is not below this one
    uint16_t level;   // 0: from the root
    uint16_t before;  // the level, plus 1, of the player's edge above; 0: none
    bool right;
  };
  struct Tree {
    uint32_t first, end;
    uint32_t points;
  };
  // Points in (0, 1), their weights, and 1 / (1 - point).
  struct Rule {
    std::vector<double> points, weights, inverses;
  };
  struct Growing;
  template <size_t lanes>
  struct Walk;

  std::string add_tree(size_t tree, std::span<const int32_t> players, Growing& growing);
  void step(std::span<const int32_t> players, Growing& growing);
  static Rule rule_of(size_t points);
  template <size_t lanes>
  void add_all(const double* const* rows, size_t value, double* values, double* scratch) const;

  const SharedForest* shared_ = nullptr;
  std::vector<Edge> edges_;
  std::vector<Tree> trees_;
  std::vector<double> factors_;  // by tree
  std::vector<Rule> rules_;      // by the number of points
  std::vector<double> expected_;
  size_t levels_ = 0, points_ = 1, scratch_ = 0;
};

}  // namespace serval::tabular
