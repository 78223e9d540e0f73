// Converts a forest to trees over ranks. Load thread.
#include "tabular/forest/ranked.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace serval::tabular {
namespace {

// A tree costs about as much as the ranks of this many columns.
constexpr size_t kColumnsPerTree = 3;
// Levels of a tree that is padded for walks of one row, and nodes there for each that exists.
constexpr uint32_t kLaneDepthMax = 10;
constexpr size_t kLaneGrowthMax = 6;
constexpr size_t kPivots = 16;
constexpr uint32_t kFourBytes = 0x01010101;
constexpr uint8_t kBias = 0x80;  // ranks are compared as signed bytes

}  // namespace

// One tree while it is converted.
struct RankedForest::Made {
  std::vector<uint8_t> kept;     // results kept at once, by node from the root
  std::vector<uint16_t> leaves;  // below each node
  uint32_t root = 0;
  bool fits = false;
};

RankedForest::Path RankedForest::best_path() {
#if defined(__x86_64__) && !defined(SERVAL_SCALAR)
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512vbmi");
  return has ? Path::Avx512 : Path::Portable;
#else
  return Path::Portable;
#endif
}

// Numbers the thresholds of each slot.
void RankedForest::make_columns(const Forest& forest) {
  const size_t slots = forest.features().size();
  std::vector<std::vector<double>> lists(slots);
  for (uint32_t at = 0; at < forest.node_count(); ++at) {
    if (forest.is_leaf(at) || std::isnan(forest.threshold(at))) continue;
    lists[forest.slot(at)].push_back(forest.threshold(at));
  }
  size_t most = 1;
  for (std::vector<double>& list : lists) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    most = std::max(most, std::min(list.size(), kThresholdsMax));
  }
  steps_ = static_cast<uint32_t>(std::bit_width(most));
  const size_t width = size_t{1} << steps_;
  for (size_t slot = 0; slot < slots; ++slot) {
    first_column_.push_back(static_cast<uint32_t>(columns_.size()));
    for (size_t first = 0; first == 0 || first < lists[slot].size(); first += kThresholdsMax) {
      columns_.push_back(static_cast<uint32_t>(slot));
      const size_t end = std::min(lists[slot].size(), first + kThresholdsMax);
      thresholds_.insert(thresholds_.end(), lists[slot].begin() + static_cast<ptrdiff_t>(first),
                         lists[slot].begin() + static_cast<ptrdiff_t>(end));
      thresholds_.resize(columns_.size() * width, std::numeric_limits<double>::infinity());
    }
  }
  first_column_.push_back(static_cast<uint32_t>(columns_.size()));
  if (width < kPivots) return;
  for (size_t i = 0; i < columns_.size() * kPivots; ++i) {
    pivots_.push_back(thresholds_[(i + 1) * (width / kPivots) - 1]);
  }
}

// The column and key of a node: a value is <= its threshold if its rank is below the key.
std::pair<uint16_t, uint8_t> RankedForest::test_of(const Forest& forest, uint32_t at) const {
  const size_t width = size_t{1} << steps_;
  const uint32_t first = first_column_[forest.slot(at)], end = first_column_[forest.slot(at) + 1];
  const double threshold = forest.threshold(at);
  if (std::isnan(threshold)) return {static_cast<uint16_t>(first), 0};
  uint32_t column = first;
  while (column + 1 < end && thresholds_[(column + 1) * width] <= threshold) ++column;
  const auto begin = thresholds_.begin() + static_cast<ptrdiff_t>(column * width);
  const auto found = std::lower_bound(begin, begin + static_cast<ptrdiff_t>(width), threshold);
  return {static_cast<uint16_t>(column), static_cast<uint8_t>(found - begin + 1)};
}

// Appends the choices of a node's tree; returns the offset of its result. `kept` results are in
// use. The child that needs more of them comes first, so that their number is logarithmic.
uint16_t RankedForest::make_choices(const Forest& forest, uint32_t at, const Made& made,
                                    size_t kept) {
  if (forest.is_leaf(at)) return 0;
  const uint32_t left = forest.left(at), right = left + 1;
  const auto need = [&](uint32_t node) { return made.kept[node - made.root]; };
  const bool left_first = need(left) >= need(right);
  uint16_t results[2];
  const uint16_t one = make_choices(forest, left_first ? left : right, made, kept);
  results[left_first ? 0 : 1] = one;
  results[left_first ? 1 : 0] =
      make_choices(forest, left_first ? right : left, made, one == 0 ? kept : kept + 1);
  const auto [column, key] = test_of(forest, at);
  const auto to = static_cast<uint16_t>(kept * kTogether * kRows);
  const auto biased = static_cast<uint8_t>(key ^ kBias);
  const uint32_t before = made.leaves[left - made.root];
  choices_.push_back(
      {biased * kFourBytes, before * kFourBytes, column, results[0], results[1], to});
  return to;
}

// Whether the tree can be converted.
bool RankedForest::read_tree(const Forest& forest, size_t tree, Made& made) {
  const auto end = static_cast<uint32_t>(tree + 1 < forest.tree_count() ? forest.root(tree + 1)
                                                                        : forest.node_count());
  made.root = forest.root(tree);
  if (end - made.root >= 2 * kLeavesMax) return false;
  made.kept.assign(end - made.root, 0);
  made.leaves.assign(end - made.root, 1);
  for (uint32_t at = end; at-- > made.root;) {
    if (forest.is_leaf(at)) continue;
    const uint32_t child = forest.left(at) - made.root;
    const uint8_t left = made.kept[child], right = made.kept[child + 1];
    made.kept[at - made.root] =
        static_cast<uint8_t>(std::max<int>({left, right, left == right ? left + 1 : 1}));
    made.leaves[at - made.root] =
        static_cast<uint16_t>(made.leaves[child] + made.leaves[child + 1]);
  }
  made.fits = made.kept[0] < kKept;
  return made.fits;
}

void RankedForest::list_leaves(const Forest& forest, uint32_t at) {
  if (forest.is_leaf(at)) {
    leaves_.push_back(forest.leaf(at));
    return;
  }
  list_leaves(forest, forest.left(at));
  list_leaves(forest, forest.left(at) + 1);
}

// Places a subtree of `tree`, whose first leaf has the place `place`, at node `heap` of a full
// tree. Returns the place after its last leaf.
uint8_t RankedForest::place_lane(const Forest& forest, uint32_t at, size_t tree, size_t heap,
                                 uint32_t level, uint8_t place) {
  const size_t full = size_t{1} << depth_;
  const size_t group = tree / kLanes * full * kLanes, lane = tree % kLanes;
  const auto next = static_cast<uint8_t>(place + 1);
  if (level == depth_) {
    places_[group + (heap - full) * kLanes + lane] = place;
    return next;
  }
  if (forest.is_leaf(at)) {  // ends early: both children are this leaf
    place_lane(forest, at, tree, 2 * heap, level + 1, place);
    place_lane(forest, at, tree, 2 * heap + 1, level + 1, place);
    return next;
  }
  const auto [column, key] = test_of(forest, at);
  nodes_[group + heap * kLanes + lane] = static_cast<uint16_t>(column << 8 | key);
  const uint32_t left = forest.left(at);
  const uint8_t middle = place_lane(forest, left, tree, 2 * heap, level + 1, place);
  return place_lane(forest, left + 1, tree, 2 * heap + 1, level + 1, middle);
}

void RankedForest::make_lanes(const Forest& forest) {
  if (path_ != Path::Avx512 || columns_.size() > kRowColumnsMax) return;
  uint32_t depth = 1;
  for (size_t tree = 0; tree < trees_.size(); ++tree) {
    if (!trees_[tree].known) return;
    depth = std::max(depth, forest.depth(tree));
  }
  const size_t groups = (trees_.size() + kLanes - 1) / kLanes;
  const size_t grown = trees_.size() << std::min(depth, kLaneDepthMax);
  if (depth > kLaneDepthMax || grown > forest.node_count() * kLaneGrowthMax) return;
  depth_ = depth;
  nodes_.assign((groups * kLanes << depth_) + 1, 0);
  places_.assign((groups * kLanes << depth_) + 3, 0);  // four bytes are read
  first_leaves_.assign(groups * kLanes, 0);
  for (size_t tree = 0; tree < trees_.size(); ++tree) {
    first_leaves_[tree] = static_cast<int32_t>(trees_[tree].first_leaf);
    place_lane(forest, forest.root(tree), tree, 1, 0, 0);
  }
}

void RankedForest::build(const Forest& forest, std::span<const double> values, Path path) {
  path_ = path;
  const size_t trees = forest.tree_count();
  trees_.resize(trees);
  if (!forest.is_plain()) return;
  std::vector<Made> made(trees);
  size_t known = 0;
  for (size_t tree = 0; tree < trees; ++tree) known += read_tree(forest, tree, made[tree]) ? 1 : 0;
  if (known * kColumnsPerTree < forest.features().size()) return;
  make_columns(forest);
  has_blocks_ = known * kColumnsPerTree >= columns_.size() &&
                columns_.size() <= std::numeric_limits<uint16_t>::max();
  if (!has_blocks_) return;
  for (size_t tree = 0; tree < trees; ++tree) {
    if (!made[tree].fits) continue;
    Tree& to = trees_[tree];
    to.known = true;
    to.first_leaf = static_cast<uint32_t>(leaves_.size());
    list_leaves(forest, forest.root(tree));
    to.first = static_cast<uint32_t>(choices_.size());
    make_choices(forest, forest.root(tree), made[tree], 1);
    to.count = static_cast<uint32_t>(choices_.size()) - to.first;
  }
  if (!values.empty()) {
    for (const int32_t leaf : leaves_) values_.push_back(values[static_cast<size_t>(leaf)]);
  }
  make_lanes(forest);
}

}  // namespace serval::tabular
