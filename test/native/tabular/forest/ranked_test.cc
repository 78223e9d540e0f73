// Trees over ranks: every path against the plain walk of doubles, on random trees and rows.
#include "tabular/forest/ranked.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "support/plan_maker.h"

namespace serval::tabular {
namespace {

using Path = RankedForest::Path;
constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// A random forest of trees with a given number of leaves, and rows for it.
struct Made {
  Made(uint32_t seed, uint32_t wanted_features, uint32_t wanted_levels)
      : random(seed), features(wanted_features), levels(wanted_levels) {}

  uint32_t below(uint32_t end) { return static_cast<uint32_t>(random() % end); }
  double value() {
    if (below(50) == 0) return below(2) == 0 ? -0.0 : std::ldexp(1.0, -1060);
    return (below(levels) - levels / 2.0) / 8;
  }

  // Returns the root of a tree. `lean`: how many of 10 splits separate one leaf from the others; 0:
  // all leaves have about the same depth.
  int32_t grow(uint32_t wanted, uint32_t lean) {
    if (wanted == 1) {
      leaves.push_back(static_cast<double>(below(1'000'000)) / 7);
      return ~static_cast<int32_t>(leaves.size() - 1);
    }
    const size_t at = nodes.feature.size();
    nodes.feature.push_back(static_cast<int32_t>(below(features)));
    const double rare[] = {kInfinite, -kInfinite};
    nodes.threshold.push_back(below(40) == 0 ? rare[below(2)] : value());
    nodes.test.push_back(below(4) == 0 ? 1 : 0);
    nodes.missing.push_back(missing_left && below(2) == 0 ? 1 : 0);
    nodes.left.push_back(0);
    nodes.right.push_back(0);
    uint32_t first = below(10) < lean ? 1 : 1 + below(wanted - 1);
    if (lean == 0) first = wanted / 2;
    if (below(2) == 0) first = wanted - first;
    const int32_t to_left = grow(first, lean), to_right = grow(wanted - first, lean);
    nodes.left[at] = to_left;
    nodes.right[at] = to_right;
    return static_cast<int32_t>(at);
  }
  TreeNodes view() const {
    TreeNodes made;
    made.feature = nodes.feature;
    made.left = nodes.left;
    made.right = nodes.right;
    made.test = nodes.test;
    made.missing = nodes.missing;
    made.roots = nodes.roots;
    made.threshold = nodes.threshold;
    made.leaf_count = leaves.size();
    return made;
  }

  std::vector<double> rows(const Forest& forest, size_t count) {
    std::vector<double> made;
    const double rare[] = {kNoValue, kInfinite, -kInfinite,
                           -0.0,     0.0,       std::numeric_limits<double>::max()};
    for (size_t row = 0; row < count; ++row) {
      std::vector<double> by_feature;
      for (uint32_t i = 0; i < features; ++i) {
        by_feature.push_back(below(8) == 0 ? rare[below(6)] : value());
      }
      for (size_t slot = 0; slot + 1 < forest.stride(); ++slot) {
        const double one = by_feature[forest.features()[slot]];
        made.push_back(std::isnan(one) && forest.missing_is_lowest(slot) ? -kInfinite : one);
      }
      made.push_back(0);
    }
    return made;
  }

  struct {
    std::vector<int32_t> feature, left, right, test, missing, roots;
    std::vector<double> threshold;
  } nodes;
  std::vector<double> leaves;
  std::mt19937 random;
  uint32_t features, levels;
  bool missing_left = false;
};

struct Work {
  Work(const RankedForest& ranked, size_t blocks)
      : memory(ranked.work_bytes(blocks) + RankedForest::kRows, 0xaa) {
    constexpr uintptr_t kAlign = RankedForest::kRows;
    const auto at = reinterpret_cast<uintptr_t>(memory.data());
    start = memory.data() + (kAlign - at % kAlign) % kAlign;
    RankedForest::begin(start);
  }
  std::vector<uint8_t> memory;
  uint8_t* start;
};

std::vector<Path> paths() {
  if (RankedForest::best_path() == Path::Avx512) return {Path::Portable, Path::Avx512};
  return {Path::Portable};
}

// Expects the leaves and sums of blocks to be those of the plain walk.
void expect_blocks(const Made& made, const Forest& forest, const RankedForest& ranked,
                   const std::vector<double>& rows) {
  constexpr size_t kRows = RankedForest::kRows;
  const size_t stride = forest.stride(), count = rows.size() / stride;
  const size_t blocks = (count + kRows - 1) / kRows;
  Work work(ranked, blocks);
  const auto rows_of = [&](size_t block) { return std::min(kRows, count - block * kRows); };
  for (size_t block = 0; block < blocks; ++block) {
    ranked.rank_block(rows.data() + block * kRows * stride, stride, rows_of(block), block,
                      work.start);
  }
  std::vector<int32_t> leaves(count);
  std::vector<double> sums(count, 0.1), float_sums(count, 0.5f), sum(sums), float_sum(float_sums);
  for (size_t tree = 0; tree < forest.tree_count(); ++tree) {
    if (!ranked.has(tree)) continue;
    forest.walk_rows(tree, rows.data(), count, leaves.data());
    for (size_t block = 0; block < blocks; block += RankedForest::kTogether) {
      const size_t together = std::min(RankedForest::kTogether, blocks - block);
      const uint8_t* places = ranked.walk_blocks(tree, block, together, work.start);
      const size_t first = block * kRows, held = std::min(kRows * together, count - first);
      ranked.add(tree, places, held, false, sums.data() + first);
      ranked.add(tree, places, held, true, float_sums.data() + first);
      for (size_t i = 0; i < held; ++i) {
        ASSERT_EQ(ranked.leaf(tree, places[i]), leaves[first + i]) << tree << ", " << first + i;
      }
    }
    for (size_t row = 0; row < count; ++row) {
      const double value = made.leaves[static_cast<size_t>(leaves[row])];
      sum[row] += value;
      float_sum[row] = static_cast<float>(float_sum[row]) + static_cast<float>(value);
    }
  }
  EXPECT_EQ(sums, sum);
  EXPECT_EQ(float_sums, float_sum);
}

void expect_rows(const Forest& forest, const RankedForest& ranked,
                 const std::vector<double>& rows) {
  std::vector<int32_t> found(forest.tree_count()), expected(forest.tree_count());
  for (size_t at = 0; at < rows.size(); at += forest.stride()) {
    forest.walk_trees(rows.data() + at, expected.data());
    ranked.walk_row(rows.data() + at, found.data());
    for (int32_t& one : found) one = ranked.leaf_at(one);
    ASSERT_EQ(found, expected) << at / forest.stride();
  }
}

TEST(RankedForest, AnswersAsThePlainWalk) {
  size_t one_row = 0;
  for (uint32_t seed = 0; seed < 120; ++seed) {
    Made made(seed, 1 + seed % 37, 2 + (seed % 5) * (seed % 5) * 300);
    made.missing_left = seed % 3 == 0;
    const uint32_t trees = 1 + made.below(70);
    for (uint32_t tree = 0; tree < trees; ++tree) {
      const uint32_t most = seed % 4 == 0 ? 300 : 40;
      made.nodes.roots.push_back(made.grow(1 + made.below(most), seed % 2 * (seed % 11)));
    }
    Forest forest;
    ASSERT_EQ(forest.build(made.view()), "");
    for (const size_t count : {1u, 31u, 64u, 135u}) {
      const std::vector<double> rows = made.rows(forest, count);
      for (const Path path : paths()) {
        RankedForest ranked;
        ranked.build(forest, made.leaves, path);
        if (ranked.has_blocks()) expect_blocks(made, forest, ranked, rows);
        if (ranked.has_row()) expect_rows(forest, ranked, rows);
        one_row += ranked.has_row() ? 1 : 0;
      }
    }
  }
  if (RankedForest::best_path() == Path::Avx512) EXPECT_GT(one_row, 30u);
}

TEST(RankedForest, TreesOfOneLeafAndOfManyLeaves) {
  Made made(1, 3, 50);
  for (const uint32_t leaves : {1u, 256u, 257u, 2u}) {
    made.nodes.roots.push_back(made.grow(leaves, 3));
  }
  Forest forest;
  ASSERT_EQ(forest.build(made.view()), "");
  for (const Path path : paths()) {
    RankedForest ranked;
    ranked.build(forest, made.leaves, path);
    ASSERT_TRUE(ranked.has_blocks());
    EXPECT_TRUE(ranked.has(0));
    EXPECT_TRUE(ranked.has(1));
    EXPECT_FALSE(ranked.has(2));
    EXPECT_TRUE(ranked.has(3));
    expect_blocks(made, forest, ranked, made.rows(forest, 100));
  }
}

// A chain keeps one result at a time, a full tree one for each level.
TEST(RankedForest, Chains) {
  Made made(2, 5, 400);
  for (int tree = 0; tree < 4; ++tree) made.nodes.roots.push_back(made.grow(256, 10));
  Forest forest;
  ASSERT_EQ(forest.build(made.view()), "");
  for (const Path path : paths()) {
    RankedForest ranked;
    ranked.build(forest, made.leaves, path);
    for (size_t tree = 0; tree < 4; ++tree) EXPECT_TRUE(ranked.has(tree));
    expect_blocks(made, forest, ranked, made.rows(forest, 64));
  }
}

TEST(RankedForest, OnlyComparisonsWithoutDirections) {
  Made made(3, 2, 10);
  made.nodes.roots.push_back(made.grow(5, 0));
  for (int32_t& test : made.nodes.test) test = 2;
  Forest forest;
  ASSERT_EQ(forest.build(made.view()), "");
  RankedForest ranked;
  ranked.build(forest, made.leaves);
  EXPECT_FALSE(ranked.has_blocks());
  EXPECT_FALSE(ranked.has_row());
}

// The stage: each kind of sum, for numbers of rows with and without blocks.
TEST(RankedForest, SumsOfTheStage) {
  Made made(4, 6, 200);
  for (int tree = 0; tree < 40; ++tree) {
    made.nodes.roots.push_back(made.grow(tree == 7 ? 600 : 1 + made.below(60), 2));
  }
  std::vector<double> weights;
  for (int tree = 0; tree < 40; ++tree) weights.push_back(1 + tree / 8.0);
  for (const bool mean : {false, true}) {
    for (const bool floats : {false, true}) {
      for (const bool weighted : {false, true}) {
        PlanMaker maker;
        const uint32_t x = maker.field("x", Type::Vector);
        MadeAttributes attributes = {{"feature", made.nodes.feature},
                                     {"threshold", made.nodes.threshold},
                                     {"left", made.nodes.left},
                                     {"right", made.nodes.right},
                                     {"roots", made.nodes.roots},
                                     {"leaves", made.leaves},
                                     {"base", std::vector<double>{0.25}},
                                     {"width", 1},
                                     {"sum", std::string(mean ? "mean" : "sum")},
                                     {"float_sums", floats},
                                     {"vector", true},
                                     {"vector_size", 6},
                                     {"has_values", true},
                                     {"has_leaf", false},
                                     {"skip_no_answer", false}};
        if (weighted) attributes.emplace_back("weights", weights);
        const uint32_t out = maker.only("forest", {x}, Type::Double, attributes);
        PlanRun run(maker);
        Made random(9, 6, 200);
        std::vector<std::vector<double>> rows;
        std::vector<double> single;
        for (int row = 0; row < 150; ++row) {
          auto& added = rows.emplace_back();
          for (int i = 0; i < 6; ++i) added.push_back(random.value());
          run.begin(1);
          run.vectors(x, {added});
          ASSERT_EQ(run.run(), "");
          single.push_back(run.at(out).reals[0]);
          double sum = 0.25, total = 0;
          for (size_t tree = 0; tree < made.nodes.roots.size(); ++tree) {
            int32_t at = made.nodes.roots[tree];
            while (at >= 0) {
              const auto node = static_cast<size_t>(at);
              const bool left = added[static_cast<size_t>(made.nodes.feature[node])] <=
                                made.nodes.threshold[node];
              at = left ? made.nodes.left[node] : made.nodes.right[node];
            }
            const double weight = weighted ? weights[tree] : 1;
            const double value = weight * made.leaves[static_cast<size_t>(~at)];
            sum = floats ? static_cast<float>(static_cast<float>(sum) + static_cast<float>(value))
                         : sum + value;
            total += weight;
          }
          ASSERT_EQ(single.back(), mean ? sum / total : sum) << row;
        }
        for (const size_t count : {2u, 40u, 64u, 70u, 150u}) {
          run.begin(static_cast<uint32_t>(count));
          run.vectors(x, {rows.begin(), rows.begin() + static_cast<ptrdiff_t>(count)});
          ASSERT_EQ(run.run(), "");
          for (size_t row = 0; row < count; ++row) {
            ASSERT_EQ(run.at(out).reals[row], single[row]) << count << ", " << row;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace serval::tabular
