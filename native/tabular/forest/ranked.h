// Trees over ranks: how many thresholds of its feature are below a value, one byte. Comparing ranks
// gives what comparing the doubles does, and a byte a value lets one instruction compare many rows.
// Only for forests whose tests are all `<=` (Forest::is_plain), and for trees with at most 256
// leaves. Made at load, immutable; any thread.
//
// Rows in blocks: a tree is a list of choices from its leaves to its root. Each compares a column of
// ranks with a node's key and chooses, for every row, the place of the left child's leaf or the
// right one's. The time depends neither on the tree's shape nor on the rows.
//
// One row: 16 trees at a time go down level by level, padded to the same depth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tabular/forest/forest.h"

namespace serval::tabular {

class RankedForest {
 public:
  // Rows of a block.
  static constexpr size_t kRows = 64;
  // The instructions that are used. Both give the same results.
  enum class Path : uint8_t { Portable, Avx512 };
  // The fastest one that this machine has.
  static Path best_path();

  // Reads what fits from `forest`.
  void build(const Forest& forest, Path path = best_path());

  // Whether blocks of rows are faster this way.
  bool has_blocks() const { return has_blocks_; }
  // The smallest block that is.
  size_t rows_min() const { return path_ == Path::Avx512 ? 8 : 24; }
  // Whether walk_block() can walk the tree.
  bool has(size_t tree) const { return trees_[tree].known; }
  // The tree's leaves have the numbers first_leaf() + place; places are at most 255.
  int32_t first_leaf(size_t tree) const { return trees_[tree].first_leaf; }
  // Bytes of working memory for `blocks`, aligned to kRows. begin() comes first, then rank_block()
  // for each block and walk_block() for each tree and block.
  size_t work_bytes(size_t blocks) const {
    return (kPlaces + kKept + blocks * columns_.size()) * kRows;
  }
  static void begin(uint8_t* work);
  // Ranks the rows of one block, which have `stride` doubles each.
  void rank_block(const double* rows, size_t stride, size_t count, size_t block,
                  uint8_t* work) const;
  // Returns the place of each row's leaf: kRows bytes of `work`, valid until the next call.
  const uint8_t* walk_block(size_t tree, size_t block, uint8_t* work) const;
  // Adds values[places[i]] to sums[i]; in floats if `floats`.
  void add(const uint8_t* places, size_t count, const double* values, bool floats,
           double* sums) const;

  // Whether walk_row() can be used.
  bool has_row() const { return depth_ > 0; }
  // Sets leaves[t] to the leaf of each tree t for one row.
  void walk_row(const double* row, int32_t* leaves) const;

  // What follows is for the functions of each path.

  // Operands of choices are places (constants) and results that are kept.
  static constexpr size_t kPlaces = 256, kKept = 16;
  struct Choice {
    uint32_t key;  // a byte, four times
    uint16_t column, left, right, to;
  };
  // Thresholds of a column. A slot with more has several columns.
  static constexpr size_t kThresholdsMax = 255;
  // Trees walked together for one row, and columns that such a walk can read.
  static constexpr size_t kLanes = 16, kRowColumnsMax = 128;

 private:
  uint8_t* columns_of(size_t block, uint8_t* work) const {
    return work + (kPlaces + kKept + block * columns_.size()) * kRows;
  }
  struct Tree {
    bool known = false;
    int32_t first_leaf = 0;
    uint32_t first = 0, count = 0;  // choices
  };
  struct Made;
  void make_columns(const Forest& forest);
  bool read_tree(const Forest& forest, size_t tree, Made& made);
  uint16_t make_choices(const Forest& forest, uint32_t at, Made& made, size_t kept);
  void make_lanes(const Forest& forest);
  void place_lane(const Forest& forest, uint32_t at, size_t tree, size_t heap, uint32_t level);
  std::pair<uint16_t, uint8_t> test_of(const Forest& forest, uint32_t at) const;

  Path path_ = Path::Portable;
  bool has_blocks_ = false;
  std::vector<Tree> trees_;
  std::vector<Choice> choices_;
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
