// Trees over ranks: how many thresholds of its feature are below a value, one byte. Comparing ranks
// gives what comparing the doubles does, and a byte a value lets one instruction compare many rows.
// Only for forests whose tests are all `<=` (Forest::is_plain), and for trees with at most 256
// leaves. Made at load, immutable; any thread.
//
// Rows in blocks: a tree is a list of choices from its leaves to its root. Each compares a column
// of ranks with a node's key and chooses, for every row, the left child's result or the right
// one's: a result is the place of the row's leaf among those below the node, counted from the left.
// The time depends neither on the tree's shape nor on the rows.
//
// One row: 16 trees at a time go down level by level, padded to the same depth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tabular/forest/forest.h"

namespace serval::tabular {

class RankedForest {
 public:
  // Rows of a block, and blocks that are walked at once.
  static constexpr size_t kRows = 64, kTogether = 2;
  // The instructions that are used. Both give the same results.
  enum class Path : uint8_t { Portable, Avx512 };
  // The fastest one that this machine has.
  static Path best_path();

  // Reads what fits from `forest`. `values`: a number for each leaf, for add(), or none.
  void build(const Forest& forest, std::span<const double> values, Path path = best_path());

  // Whether blocks of rows are faster this way.
  bool has_blocks() const { return has_blocks_; }
  // The smallest number of rows in the last block for which this holds.
  size_t rows_min() const { return path_ == Path::Avx512 ? 8 : 24; }
  // Whether walk_blocks() can walk the tree.
  bool has(size_t tree) const { return trees_[tree].known; }
  // Bytes of working memory for `blocks`, aligned to kRows. begin() comes first, then rank_block()
  // for each block and walk_blocks() for each tree and its blocks.
  size_t work_bytes(size_t blocks) const {
    return (kKept * kTogether + blocks * columns_.size()) * kRows;
  }
  static void begin(uint8_t* work);
  // Ranks the rows of one block, which have `stride` doubles each.
  void rank_block(const double* rows, size_t stride, size_t count, size_t block,
                  uint8_t* work) const;
  // Walks `count` blocks from `block` on, at most kTogether. Returns the place of each row's leaf:
  // bytes of `work`, valid until the next call.
  const uint8_t* walk_blocks(size_t tree, size_t block, size_t count, uint8_t* work) const;
  // The leaf at a place.
  int32_t leaf(size_t tree, uint8_t place) const {
    return leaves_[trees_[tree].first_leaf + place];
  }
  // Adds the values of the leaves at places[i] to sums[i]; in floats if `floats`.
  void add(size_t tree, const uint8_t* places, size_t count, bool floats, double* sums) const;

  // Whether walk_row() can be used.
  bool has_row() const { return depth_ > 0; }
  // Sets found[t] to the index of the leaf of each tree t for one row, for leaf_at() and
  // value_at().
  void walk_row(const double* row, int32_t* found) const;
  int32_t leaf_at(int32_t index) const { return leaves_[static_cast<size_t>(index)]; }
  double value_at(int32_t index) const { return values_[static_cast<size_t>(index)]; }

  // The rest is for the functions of each path.

  static constexpr size_t kLeavesMax = 256;
  // Results that are kept at once. The first one is the place 0, which is every leaf's.
  static constexpr size_t kKept = 17;
  // `left`, `right` and `to` are offsets of results in bytes.
  struct Choice {
    uint32_t key, before;  // a byte, four times; `before`: the leaves below the left child
    uint16_t column, left, right, to;
  };
  // Thresholds of a column. A slot with more has several columns.
  static constexpr size_t kThresholdsMax = 255;
  // Trees walked together for one row, and columns that such a walk can read.
  static constexpr size_t kLanes = 16, kRowColumnsMax = 128;

 private:
  uint8_t* columns_of(size_t block, uint8_t* work) const {
    return work + (kKept * kTogether + block * columns_.size()) * kRows;
  }
  struct Tree {
    bool known = false;
    uint32_t first_leaf = 0;        // in leaves_
    uint32_t first = 0, count = 0;  // choices
  };
  struct Made;
  void make_columns(const Forest& forest);
  bool read_tree(const Forest& forest, size_t tree, Made& made);
  uint16_t make_choices(const Forest& forest, uint32_t at, const Made& made, size_t kept);
  void list_leaves(const Forest& forest, uint32_t at);
  void make_lanes(const Forest& forest);
  uint8_t place_lane(const Forest& forest, uint32_t at, size_t tree, size_t heap, uint32_t level,
                     uint8_t place);
  std::pair<uint16_t, uint8_t> test_of(const Forest& forest, uint32_t at) const;

  Path path_ = Path::Portable;
  bool has_blocks_ = false;
  std::vector<Tree> trees_;
  std::vector<Choice> choices_;
  std::vector<int32_t> leaves_;         // by tree, from the left
  std::vector<double> values_;          // of the same leaves
  std::vector<uint32_t> columns_;       // the slot of each
  std::vector<uint32_t> first_column_;  // by slot, and the end
  // By column: 2^steps_ thresholds, padded with infinity, and every 2^(steps_ - 4)-th of them.
  uint32_t steps_ = 0;
  std::vector<double> thresholds_, pivots_;
  // For one row: by group of kLanes trees, node of a full tree from 1 and lane. The lower byte of a
  // node is its key, the upper one its column.
  uint32_t depth_ = 0;
  std::vector<uint16_t> nodes_;
  std::vector<uint8_t> places_;  // by group, leaf of a full tree and lane
  std::vector<int32_t> first_leaves_;
};

}  // namespace serval::tabular
