// See shap.h. build(): any thread, once; add(): hot path, any thread.
#include "tabular/forest/shap.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace serval::tabular {

// A walk over one tree that makes its edges.
struct ForestShap::Growing {
  struct Step {
    uint32_t at;
    uint8_t children = 0;  // visited so far
    // The edge to this node, and what its player had before it; -1: the root.
    int64_t edge = -1;
    double share = 1;
    uint16_t before = 0;
    double chance = 1;  // the share of all rows that reach the node
  };
  std::vector<double> covers;  // by node
  std::vector<double> shares;  // by player, on the current path
  std::vector<uint16_t> lasts;
  std::vector<Step> path;
  size_t players = 0, players_most = 0;  // on the current path, and on any path of the tree
  size_t tree = 0;
};

std::string ForestShap::build(const SharedForest& shared, std::span<const double> covers,
                              std::span<const int32_t> players) {
  shared_ = &shared;
  const Forest& forest = shared.forest;
  Growing growing;
  growing.covers.resize(forest.node_count());
  for (size_t at = forest.node_count(); at-- > 0;) {
    const auto node = static_cast<uint32_t>(at);
    const uint32_t left = forest.left(node);
    growing.covers[at] = forest.is_leaf(node) ? covers[static_cast<size_t>(forest.leaf(node))]
                                              : growing.covers[left] + growing.covers[left + 1];
  }
  const int32_t last = players.empty() ? -1 : *std::max_element(players.begin(), players.end());
  growing.shares.assign(static_cast<size_t>(last + 1), 1);
  growing.lasts.assign(static_cast<size_t>(last + 1), 0);
  expected_.assign(shared.width, 0);
  double total = 0;
  for (size_t tree = 0; tree < forest.tree_count(); ++tree) total += shared.weight(tree);
  const double factor = shared.sum == stages::ForestSum::Mean ? 1 / total : 1;
  edges_.reserve(forest.node_count());
  for (size_t tree = 0; tree < forest.tree_count(); ++tree) {
    factors_.push_back(factor * shared.weight(tree));
    if (std::string fault = add_tree(tree, players, growing); !fault.empty()) return fault;
  }
  for (size_t i = 0; i < shared.base.size(); ++i) expected_[i] += shared.base[i] * factor;
  rules_.resize(points_ + 1);
  for (const Tree& tree : trees_) {
    if (rules_[tree.points].points.empty()) rules_[tree.points] = rule_of(tree.points);
  }
  // See Walk: products, sums and passes by level and lane, then scalars by level.
  scratch_ = (levels_ + 1) * (kLanes * (2 * points_ + 2) + 2 * points_);
  return {};
}

std::string ForestShap::add_tree(size_t tree, std::span<const int32_t> players, Growing& growing) {
  const Forest& forest = shared_->forest;
  const auto first = static_cast<uint32_t>(edges_.size());
  growing.tree = tree;
  growing.players = growing.players_most = 0;
  growing.path = {{forest.root(tree)}};
  if (forest.is_leaf(forest.root(tree))) {
    const auto leaf = static_cast<size_t>(forest.leaf(forest.root(tree)));
    for (size_t i = 0; i < shared_->width; ++i) {
      expected_[i] += factors_[tree] * shared_->leaves[leaf * shared_->width + i];
    }
    growing.path.clear();
  }
  while (!growing.path.empty()) {
    if (growing.path.size() > kLevelsMax) {
      return "tree " + std::to_string(tree) + " has more than " + std::to_string(kLevelsMax) +
             " levels";
    }
    step(players, growing);
  }
  if (growing.players_most > kPlayersMax) {
    return "tree " + std::to_string(tree) + " tests " + std::to_string(growing.players_most) +
           " features on one path; the limit is " + std::to_string(kPlayersMax);
  }
  const size_t points = std::max<size_t>(1, (growing.players_most + 1) / 2);
  points_ = std::max(points_, points);
  trees_.push_back({first, static_cast<uint32_t>(edges_.size()), static_cast<uint32_t>(points)});
  return {};
}

// Visits the next child of the path's last node, or leaves that node.
void ForestShap::step(std::span<const int32_t> players, Growing& growing) {
  const Forest& forest = shared_->forest;
  Growing::Step& top = growing.path.back();
  const auto player = static_cast<size_t>(players[forest.features()[forest.slot(top.at)]]);
  if (top.children == 2) {
    const Growing::Step done = top;
    growing.path.pop_back();
    if (done.edge < 0) return;
    Edge& edge = edges_[static_cast<size_t>(done.edge)];
    edge.end = static_cast<uint32_t>(edges_.size());
    growing.shares[edge.player] = done.share;
    growing.lasts[edge.player] = done.before;
    if (done.before == 0) --growing.players;
    return;
  }
  const bool right = top.children++ == 1;
  const uint32_t child = forest.left(top.at) + (right ? 1 : 0);
  const double all = growing.covers[top.at];
  const double ratio = all > 0 ? growing.covers[child] / all : 0.5;
  const auto level = static_cast<uint16_t>(growing.path.size() - 1);
  levels_ = std::max<size_t>(levels_, level + size_t{1});
  const bool is_leaf = forest.is_leaf(child);
  const double before_share = growing.shares[player];
  const uint16_t before = growing.lasts[player];
  const double chance = top.chance * ratio;
  growing.players_most = std::max(growing.players_most, growing.players + (before == 0 ? 1 : 0));
  edges_.push_back({before_share * ratio, top.at, is_leaf ? forest.leaf(child) : -1,
                    static_cast<uint32_t>(player), static_cast<uint32_t>(edges_.size() + 1), level,
                    before, right});
  if (is_leaf) {
    const size_t at = static_cast<size_t>(forest.leaf(child)) * shared_->width;
    for (size_t i = 0; i < shared_->width; ++i) {
      expected_[i] += factors_[growing.tree] * chance * shared_->leaves[at + i];
    }
    return;
  }
  if (before == 0) ++growing.players;
  growing.shares[player] = before_share * ratio;
  growing.lasts[player] = static_cast<uint16_t>(level + 1);
  growing.path.push_back(
      {child, 0, static_cast<int64_t>(edges_.size() - 1), before_share, before, chance});
}

// The roots of Legendre's polynomial by Newton's method, moved from (-1, 1) to (0, 1).
ForestShap::Rule ForestShap::rule_of(size_t points) {
  Rule made;
  const auto count = static_cast<double>(points);
  for (size_t i = 0; i < points; ++i) {
    double root = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (count + 0.5));
    double slope = 1;
    for (int round = 0; round < 8; ++round) {
      double before = 1, value = root;
      for (size_t k = 2; k <= points; ++k) {
        const auto degree = static_cast<double>(k);
        const double next = ((2 * degree - 1) * root * value - (degree - 1) * before) / degree;
        before = value;
        value = next;
      }
      slope = count * (root * value - before) / (root * root - 1);
      root -= value / slope;
    }
    const double point = (1 + root) / 2;
    made.points.push_back(point);
    made.weights.push_back(1 / ((1 - root * root) * slope * slope));
    made.inverses.push_back(2 / (1 - root));
  }
  return made;
}

// The state of add() for one tree. Level 0 of `products` has the weights of the points; an edge of
// level L reads level L and fills level L + 1.
template <size_t lanes>
struct ForestShap::Walk {
  const ForestShap& shap;
  const Rule& rule;
  size_t points;
  double* products;  // by level and point
  double* sums;      // over the leaves below, of their values times products; like products
  double* passes;    // by level: o of the level's player
  double* rights;    // by level: 1 if the row goes right at the level's node, 2 if it stays
  double* inverses;  // by level and point, no lanes: 1 / (z (1 - t) + t)
  double* gains;     // by level and point, no lanes: see fill()
  double* values;    // by player

  Walk(const ForestShap& of, const Rule& with, double* into, double* scratch)
      : shap(of), rule(with), points(with.points.size()), values(into) {
    const size_t levels = of.levels_ + 1;
    products = scratch;
    sums = products + levels * points * lanes;
    passes = sums + levels * points * lanes;
    rights = passes + levels * lanes;
    inverses = rights + levels * lanes;
    gains = inverses + levels * points;
    for (size_t k = 0; k < points; ++k) std::fill_n(products + k * lanes, lanes, rule.weights[k]);
  }

  double* product(size_t level) const { return products + level * points * lanes; }
  double* sum(size_t level) const { return sums + level * points * lanes; }

  // Whether any row may follow the edge, or its share is not zero. Sets passes of its level.
  bool pass(const Edge& edge, const double* const* rows) const {
    double* right = rights + edge.level * lanes;
    if (!edge.right) {
      const Forest& forest = shap.shared_->forest;
      const uint32_t left = forest.left(edge.parent);
      for (size_t lane = 0; lane < lanes; ++lane) {
        const uint32_t next = forest.next(edge.parent, rows[lane]);
        right[lane] = next == edge.parent ? 2 : static_cast<double>(next - left);
      }
    }
    const double way = edge.right ? 1 : 0;
    double* own = passes + (edge.level + size_t{1}) * lanes;
    const double* above = passes + edge.before * lanes;
    double any = edge.share;
    for (size_t lane = 0; lane < lanes; ++lane) {
      own[lane] = right[lane] == way ? (edge.before == 0 ? 1 : above[lane]) : 0;
      any += own[lane];
    }
    return any != 0;
  }

  // Fills the level below the edge. A factor of the product is z (1 - t) + o t; it replaces the
  // factor of the player's edge above.
  void fill(const Edge& edge) const {
    const size_t below = edge.level + size_t{1};
    const double* from = product(edge.level);
    double* to = product(below);
    double* inverse = inverses + below * points;
    double* gain = gains + below * points;
    const double* pass = passes + below * lanes;
    for (size_t k = 0; k < points; ++k) {
      inverse[k] = 1 / (edge.share * (1 - rule.points[k]) + rule.points[k]);
      // (o - z) / factor is -1 / (1 - t) if o is 0; `gain` is added if o is 1.
      gain[k] = (1 - edge.share) * inverse[k] + rule.inverses[k];
    }
    if (edge.before == 0) {
      for (size_t k = 0; k < points; ++k) {
        const double missed = edge.share * (1 - rule.points[k]);
        for (size_t lane = 0; lane < lanes; ++lane) {
          to[k * lanes + lane] = from[k * lanes + lane] * (missed + pass[lane] * rule.points[k]);
        }
      }
      return;
    }
    const double* above = passes + edge.before * lanes;
    const double* above_inverse = inverses + edge.before * points;
    const double both_missed = edge.share / above_share(edge);
    for (size_t k = 0; k < points; ++k) {
      const double missed = edge.share * (1 - rule.points[k]) * above_inverse[k];
      const double passed = rule.points[k] * above_inverse[k];
      for (size_t lane = 0; lane < lanes; ++lane) {
        const double factor =
            both_missed + above[lane] * (missed - both_missed) + pass[lane] * passed;
        to[k * lanes + lane] = from[k * lanes + lane] * factor;
      }
    }
  }

  // The share of the player's edge above. If it is 0, so is this edge's, and products are 0 for
  // rows that miss it.
  double above_share(const Edge& edge) const {
    const double share = shares[edge.before];
    return share > 0 ? share : 1;
  }

  // Adds the values that the sums below the edge give to its player.
  void collect(const Edge& edge) const {
    const size_t below = edge.level + size_t{1};
    const double* collected = sum(below);
    const double* gain = gains + below * points;
    const double* pass = passes + below * lanes;
    double added[lanes] = {};
    if (edge.before == 0) {
      for (size_t k = 0; k < points; ++k) {
        for (size_t lane = 0; lane < lanes; ++lane) {
          added[lane] += collected[k * lanes + lane] * (pass[lane] * gain[k] - rule.inverses[k]);
        }
      }
    } else {
      // The edge above counts these leaves with its own factor, which is not theirs.
      const double* above = passes + edge.before * lanes;
      const double* above_gain = gains + edge.before * points;
      for (size_t k = 0; k < points; ++k) {
        for (size_t lane = 0; lane < lanes; ++lane) {
          added[lane] +=
              collected[k * lanes + lane] * (pass[lane] * gain[k] - above[lane] * above_gain[k]);
        }
      }
    }
    double* to = values + edge.player * kLanes;
    for (size_t lane = 0; lane < lanes; ++lane) to[lane] += added[lane];
    double* upper = sum(edge.level);
    for (size_t i = 0; i < points * lanes; ++i) upper[i] += collected[i];
  }

  // Sets the sums below an edge to a leaf.
  void reach(const Edge& edge, double leaf) const {
    const double* from = product(edge.level + size_t{1});
    double* to = sum(edge.level + size_t{1});
    for (size_t i = 0; i < points * lanes; ++i) to[i] = leaf * from[i];
  }

  double shares[kLevelsMax + 1];  // by level: the share of its edge
};

template <size_t lanes>
void ForestShap::add_all(const double* const* rows, size_t value, double* values,
                         double* scratch) const {
  uint32_t open[kLevelsMax];
  for (size_t tree = 0; tree < trees_.size(); ++tree) {
    const Tree& own = trees_[tree];
    Walk<lanes> walk(*this, rules_[own.points], values, scratch);
    size_t depth = 0;
    for (uint32_t at = own.first; at < own.end;) {
      const Edge& edge = edges_[at];
      for (; depth > edge.level; --depth) walk.collect(edges_[open[depth - 1]]);
      if (!walk.pass(edge, rows)) {
        at = edge.end;
        continue;
      }
      walk.shares[edge.level + size_t{1}] = edge.share;
      walk.fill(edge);
      ++at;
      if (edge.leaf >= 0) {
        const auto leaf = static_cast<size_t>(edge.leaf);
        walk.reach(edge, factors_[tree] * shared_->leaves[leaf * shared_->width + value]);
        walk.collect(edge);
        continue;
      }
      std::fill_n(walk.sum(edge.level + size_t{1}), walk.points * lanes, 0.0);
      open[depth++] = at - 1;
    }
    for (; depth > 0; --depth) walk.collect(edges_[open[depth - 1]]);
  }
}

void ForestShap::add(const double* const* rows, size_t lanes, size_t value, double* values,
                     double* scratch) const {
  if (lanes == 1) add_all<1>(rows, value, values, scratch);
  else add_all<kLanes>(rows, value, values, scratch);
}

}  // namespace serval::tabular
