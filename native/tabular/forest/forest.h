// Decision trees in memory, and the walk down them: what the stage `forest` is made of. Made at
// load, immutable; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace serval::tabular {

// As a plan has the trees: see ts/importers/plan/forest.ts, whose numbers these are.
struct TreeNodes {
  std::span<const int32_t> feature, left, right, test, missing, roots;
  std::span<const double> threshold;
  std::span<const int32_t> set_offsets, set_members;
  size_t leaf_count = 0;
  size_t feature_count = 0;  // 0: any
};
enum class TreeTest : int32_t { LessOrEqual, Less, Equal, InSet, IsMissing };
enum class TreeMissing : int32_t { Right, Left, NoAnswer };

// A row to a forest is one double for each feature that its trees look at ("slots"), NaN where it
// is missing, and a zero behind them.
class Forest {
 public:
  // What is wrong with the trees, or nothing.
  std::string build(const TreeNodes& from);

  size_t tree_count() const { return roots_.size(); }
  // Of slots: the feature that it holds.
  const std::vector<uint32_t>& features() const { return features_; }
  size_t stride() const { return features_.size() + 1; }

  // leaves[r]: the leaf of `tree` for row r of `rows`, that are stride() doubles each; -1: the tree
  // has no answer.
  void walk_rows(size_t tree, const double* rows, size_t row_count, int32_t* leaves) const;
  // leaves[t]: the leaf of each tree for one row.
  void walk_trees(const double* row, int32_t* leaves) const;
  // The first slot of those that are `lost` which a tree looks at for the row; -1: none does. Slow.
  int64_t first_lost(const double* row, const std::vector<bool>& lost) const;

 private:
  // 16 bytes. The children stand beside each other. A leaf is its own left child: it compares the
  // zero with the leaf's number, which stands in `threshold`, so that walks of one depth go on
  // without asking whether they are there.
  struct Node {
    double threshold;  // of InSet: where the set lies, and of how many bits it is
    uint32_t feature;  // slot, and the flags below
    uint32_t left;
  };
  static constexpr uint32_t kSlotMask = (1u << 26) - 1;
  static constexpr uint32_t kMissingLeft = 1u << 26;
  static constexpr uint32_t kMissingNone = 1u << 27;
  static constexpr uint32_t kEqual = 1u << 28;
  static constexpr uint32_t kInSet = 1u << 29;
  static constexpr uint32_t kLeaf = 1u << 30;
  // Plain: all tests are `<=`, and what is missing goes right, as every comparison with NaN fails.
  // Directed: it may go left. Staying: a node may have no answer to it, and the walk ends there.
  // General: all there is.
  enum class Mode : uint8_t { Plain, Directed, Staying, General };

  struct Placing;
  std::string check(const TreeNodes& from) const;
  void number_features(const TreeNodes& from);
  void read_sets(const TreeNodes& from);
  void place(const TreeNodes& from, Placing& placing);
  Node inner(const TreeNodes& from, size_t number, uint32_t left);

  template <Mode mode>
  uint32_t step(uint32_t at, const double* row) const;
  uint32_t general_step(uint32_t at, const double* row) const;
  bool in_set(const Node& node, double value) const;
  template <Mode mode>
  bool arrived(uint32_t at, const double* row) const;
  template <Mode mode>
  int32_t leaf_at(uint32_t at) const;
  template <Mode mode>
  int32_t walk_one(uint32_t root, const double* row) const;
  template <Mode mode>
  void rows_in(size_t tree, const double* rows, size_t row_count, int32_t* leaves) const;
  template <Mode mode>
  void trees_in(const double* row, int32_t* leaves) const;

  Mode mode_ = Mode::Plain;
  std::vector<Node> nodes_;
  std::vector<uint32_t> roots_, depths_;    // by tree
  std::vector<uint32_t> features_, slots_;  // feature of a slot, slot of a feature
  struct Set {
    uint32_t first = 0, bits = 0;
  };
  std::vector<Set> sets_;
  std::vector<uint64_t> set_words_;
};

}  // namespace serval::tabular
