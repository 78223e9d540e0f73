// Traversal of the trees. Hot path, any thread.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "tabular/forest/forest.h"

namespace serval::tabular {
namespace {

// Levels between checks whether all have reached a leaf, in trees deeper than this.
constexpr uint32_t kLevelsAtOnce = 8;

}  // namespace

bool Forest::in_set(const Node& node, double value) const {
  const auto set = std::bit_cast<Set>(node.threshold);
  if (!(value >= 0 && value < set.bits)) return false;
  const auto bit = static_cast<uint32_t>(value);
  return bit == value && (set_words_[set.first + bit / 64] >> (bit % 64) & 1) != 0;
}

template <Forest::Mode mode>
inline uint32_t Forest::step(uint32_t at, const double* row) const {
  if constexpr (mode == Mode::General) return general_step(at, row);
  const Node& node = nodes_[at];
  if constexpr (mode == Mode::Plain) {
    return node.left + !(row[node.feature] <= node.threshold);
  } else {
    const double value = row[node.feature & kSlotMask];
    const bool missing = value != value;
    const bool missing_left = (node.feature & kMissingLeft) != 0;
    const uint32_t next = node.left + (!(value <= node.threshold) & !(missing_left & missing));
    if constexpr (mode == Mode::Directed) return next;
    const bool missing_none = (node.feature & kMissingNone) != 0;
    return (missing & missing_none) != 0 ? at : next;
  }
}

// Whether a traversal ends here.
template <Forest::Mode mode>
inline bool Forest::arrived(uint32_t at, const double* row) const {
  if constexpr (mode == Mode::Staying) return step<mode>(at, row) == at;
  return nodes_[at].left == at;
}

// The leaf at which a traversal ended; -1: a node without a result.
template <Forest::Mode mode>
inline int32_t Forest::leaf_at(uint32_t at) const {
  const Node& node = nodes_[at];
  if (mode >= Mode::Staying && (node.feature & kLeaf) == 0) return -1;
  return static_cast<int32_t>(node.threshold);
}

template <Forest::Mode mode>
int32_t Forest::walk_one(uint32_t root, const double* row) const {
  uint32_t at = root;
  for (;;) {
    const uint32_t next = step<mode>(at, row);
    if (next == at) break;
    at = next;
  }
  return leaf_at<mode>(at);
}

// Moves kLanes traversals down up to `depth` levels, which suffices for all of them. Lane i reads
// the row at rows + i * width.
template <Forest::Mode mode>
inline void Forest::descend(Lanes& at, uint32_t depth, const double* rows, size_t width) const {
  for (uint32_t level = 0; level < depth;) {
    const uint32_t end = std::min(depth, level + kLevelsAtOnce);
    for (; level < end; ++level) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        at[lane] = step<mode>(at[lane], rows + lane * width);
      }
    }
    if (level == depth) return;
    bool all_arrived = true;
    for (size_t lane = 0; lane < kLanes; ++lane) {
      all_arrived &= arrived<mode>(at[lane], rows + lane * width);
    }
    if (all_arrived) return;
  }
}

// One tree for many rows.
template <Forest::Mode mode>
void Forest::rows_in(size_t tree, const double* rows, size_t row_count, int32_t* leaves) const {
  const size_t width = stride();
  size_t first = 0;
  for (; mode != Mode::General && first + kLanes <= row_count; first += kLanes) {
    Lanes at;
    at.fill(roots_[tree]);
    descend<mode>(at, depths_[tree], rows + first * width, width);
    for (size_t lane = 0; lane < kLanes; ++lane) leaves[first + lane] = leaf_at<mode>(at[lane]);
  }
  for (; first < row_count; ++first) {
    leaves[first] = walk_one<mode>(roots_[tree], rows + first * width);
  }
}

// Many trees for one row.
template <Forest::Mode mode>
void Forest::trees_in(const double* row, int32_t* leaves) const {
  size_t first = 0;
  for (; mode != Mode::General && first + kLanes <= roots_.size(); first += kLanes) {
    Lanes at;
    std::copy_n(roots_.data() + first, kLanes, at.begin());
    const uint32_t* depths = depths_.data() + first;
    descend<mode>(at, *std::max_element(depths, depths + kLanes), row, 0);
    for (size_t lane = 0; lane < kLanes; ++lane) leaves[first + lane] = leaf_at<mode>(at[lane]);
  }
  for (; first < roots_.size(); ++first) leaves[first] = walk_one<mode>(roots_[first], row);
}

void Forest::walk_rows(size_t tree, const double* rows, size_t row_count, int32_t* leaves) const {
  switch (mode_) {
    case Mode::Plain: return rows_in<Mode::Plain>(tree, rows, row_count, leaves);
    case Mode::Directed: return rows_in<Mode::Directed>(tree, rows, row_count, leaves);
    case Mode::Staying: return rows_in<Mode::Staying>(tree, rows, row_count, leaves);
    case Mode::General: return rows_in<Mode::General>(tree, rows, row_count, leaves);
  }
}

int64_t Forest::first_lost(const double* row, const std::vector<bool>& lost) const {
  for (const uint32_t root : roots_) {
    uint32_t at = root;
    while (nodes_[at].left != at) {
      const uint32_t slot = nodes_[at].feature & kSlotMask;
      if (lost[slot]) return slot;
      const uint32_t next = general_step(at, row);
      if (next == at) break;
      at = next;
    }
  }
  return -1;
}

void Forest::walk_trees(const double* row, int32_t* leaves) const {
  switch (mode_) {
    case Mode::Plain: return trees_in<Mode::Plain>(row, leaves);
    case Mode::Directed: return trees_in<Mode::Directed>(row, leaves);
    case Mode::Staying: return trees_in<Mode::Staying>(row, leaves);
    case Mode::General: return trees_in<Mode::General>(row, leaves);
  }
}

}  // namespace serval::tabular
