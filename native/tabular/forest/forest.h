// Decision trees in memory and their traversal, used by the stage `forest`. Made at load,
// immutable; any thread.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace serval::tabular {

// The trees' arrays in the plan; ts/importers/plan/forest.ts defines their encoding.
struct TreeNodes {
  std::span<const int32_t> feature, left, right, test, missing, roots;
  std::span<const double> threshold;
  std::span<const int32_t> set_offsets, set_members;
  size_t leaf_count = 0;
  size_t feature_count = 0;  // 0: any
};
enum class TreeTest : int32_t { LessOrEqual, Less, Equal, InSet, IsMissing };
enum class TreeMissing : int32_t { Right, Left, NoAnswer };

// Reads each row as one double per slot, followed by a zero. A slot holds one feature, NaN if it is
// missing. Where missing values go left at some nodes and right at others, a feature may have two
// slots, and one of them holds -infinity then, which is <= every threshold: so the traversal needs
// no test for missing values.
class Forest {
 public:
  // Returns what is wrong with the trees; empty if they are valid.
  std::string build(const TreeNodes& from);

  size_t tree_count() const { return roots_.size(); }
  // Maps a slot to the feature that it holds.
  const std::vector<uint32_t>& features() const { return features_; }
  // Whether a slot holds -infinity for a missing value.
  bool missing_is_lowest(size_t slot) const { return !lowest_.empty() && lowest_[slot]; }
  size_t stride() const { return features_.size() + 1; }

  // Sets leaves[r] to the leaf of `tree` for row r of `rows`, which have stride() doubles each; -1:
  // the tree has no result.
  void walk_rows(size_t tree, const double* rows, size_t row_count, int32_t* leaves) const;
  // Sets leaves[t] to the leaf of each tree t for one row.
  void walk_trees(const double* row, int32_t* leaves) const;
  // Returns the first `lost` slot that a tree reads for the row; -1: none. Slow.
  int64_t first_lost(const double* row, const std::vector<bool>& lost) const;

  // Nodes by number, for explanations. Children are adjacent and have higher numbers.
  size_t node_count() const { return nodes_.size(); }
  uint32_t root(size_t tree) const { return roots_[tree]; }
  bool is_leaf(uint32_t at) const { return nodes_[at].left == at; }
  int32_t leaf(uint32_t at) const { return static_cast<int32_t>(nodes_[at].threshold); }
  uint32_t left(uint32_t at) const { return nodes_[at].left; }
  double threshold(uint32_t at) const { return nodes_[at].threshold; }
  uint32_t slot(uint32_t at) const { return nodes_[at].feature & kSlotMask; }
  // The child of an inner node that the row goes to; the node itself: the tree has no result.
  uint32_t next(uint32_t at, const double* row) const;
  // Levels below the root.
  uint32_t depth(size_t tree) const { return depths_[tree]; }
  // Whether all tests are `<=`, which missing values fail. Every row has a result then.
  bool is_plain() const { return mode_ == Mode::Plain; }
  // Whether a row may have no result.
  bool may_stay() const { return may_stay_; }

 private:
  // 16 bytes. The children are adjacent. A leaf is its own left child: it compares the trailing
  // zero with the leaf's number, which is in `threshold`, so that traversals of equal depth need no
  // end test.
  struct Node {
    double threshold;  // InSet: the offset of the set and its size in bits
    uint32_t feature;  // slot and the flags below
    uint32_t left;
  };
  static constexpr uint32_t kSlotMask = (1u << 26) - 1;
  static constexpr uint32_t kMissingLeft = 1u << 26;
  static constexpr uint32_t kMissingNone = 1u << 27;
  static constexpr uint32_t kEqual = 1u << 28;
  static constexpr uint32_t kInSet = 1u << 29;
  static constexpr uint32_t kLeaf = 1u << 30;
  // Plain: all tests are `<=`, and missing values go right, because every comparison with NaN
  // fails. Directed: missing values may go left. Staying: a traversal may end at a node that has no
  // branch for a missing value. General: every kind of test.
  enum class Mode : uint8_t { Plain, Directed, Staying, General };

  struct Placing;
  std::string check(const TreeNodes& from) const;
  bool has_lowest_slots(const TreeNodes& from) const;
  void number_features(const TreeNodes& from);
  void read_sets(const TreeNodes& from);
  void place(const TreeNodes& from, Placing& placing);
  Node inner(const TreeNodes& from, size_t number, uint32_t left);

  template <Mode mode>
  uint32_t step(uint32_t at, const double* row) const;
  uint32_t general_step(uint32_t at, const double* row) const {
    return is_leaf(at) ? at : next(at, row);
  }
  bool in_set(const Node& node, double value) const;
  template <Mode mode>
  bool arrived(uint32_t at, const double* row) const;
  template <Mode mode>
  int32_t leaf_at(uint32_t at) const;
  template <Mode mode>
  int32_t walk_one(uint32_t root, const double* row) const;
  // Traversals at a time: each waits for memory at every level, so several are interleaved.
  static constexpr size_t kLanes = 8;
  using Lanes = std::array<uint32_t, kLanes>;
  template <Mode mode>
  void descend(Lanes& at, uint32_t depth, const double* rows, size_t width) const;
  template <Mode mode>
  void rows_in(size_t tree, const double* rows, size_t row_count, int32_t* leaves) const;
  template <Mode mode>
  void trees_in(const double* row, int32_t* leaves) const;

  Mode mode_ = Mode::Plain;
  std::vector<Node> nodes_;
  std::vector<uint32_t> roots_, depths_;  // by tree
  std::vector<uint32_t> features_;        // by slot
  std::vector<bool> lowest_;              // by slot; empty: none holds -infinity
  // By feature; with lowest_ by twice the feature, the odd ones for nodes whose missing values go
  // left.
  std::vector<uint32_t> slots_;
  struct Set {
    uint32_t first = 0, bits = 0;
  };
  std::vector<Set> sets_;
  std::vector<uint64_t> set_words_;
  bool may_stay_ = false;
};

inline uint32_t Forest::next(uint32_t at, const double* row) const {
  const Node& node = nodes_[at];
  const double value = row[node.feature & kSlotMask];
  bool left = false;
  if (std::isnan(value)) {
    if ((node.feature & kMissingNone) != 0) return at;  // stays at a node that is no leaf
    left = (node.feature & kMissingLeft) != 0;
  } else if ((node.feature & kInSet) != 0) {
    left = in_set(node, value);
  } else {
    left = (node.feature & kEqual) != 0 ? value == node.threshold : value <= node.threshold;
  }
  return node.left + (left ? 0 : 1);
}

}  // namespace serval::tabular
