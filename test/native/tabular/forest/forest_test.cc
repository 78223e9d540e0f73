// Trees: each kind of test, each kind of sum, and the fast walks against a plain one.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "support/plan_maker.h"

namespace serval::tabular {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
using Ints = std::vector<int32_t>;
using Reals = std::vector<double>;

// One test with two leaves: leaf 0 on the left, leaf 1 on the right.
MadeAttributes stump(int test, double threshold, int missing = 0) {
  return {{"feature", Ints{0}},
          {"threshold", Reals{threshold}},
          {"left", Ints{~0}},
          {"right", Ints{~1}},
          {"test", Ints{test}},
          {"missing", Ints{missing}},
          {"roots", Ints{0}},
          {"leaves", Reals{10, 20}},
          {"width", 1},
          {"sum", std::string("sum")},
          {"has_values", true},
          {"has_leaf", false},
          {"skip_no_answer", false}};
}

// The stump's results for `values`; NaN is missing.
Reals answers(const MadeAttributes& attributes, const Reals& values) {
  PlanMaker maker;
  const uint32_t x = maker.field("x", Type::Double);
  const uint32_t out = maker.only("forest", {x}, Type::Double, attributes);
  PlanRun run(maker);
  run.begin(static_cast<uint32_t>(values.size()));
  run.reals(x, values);
  EXPECT_EQ(run.run(), "");
  Reals made = run.at(out).reals;
  for (uint32_t row = 0; row < made.size(); ++row) {
    if (!run.at(out).valid(row)) made[row] = -1;
  }
  return made;
}

TEST(Forest, ComparesAsEachTestSays) {
  EXPECT_EQ(answers(stump(0, 1.5), {1.5, 1.5000000000000002, -kInf, kInf}),
            (Reals{10, 20, 10, 20}));
  EXPECT_EQ(answers(stump(1, 1.5), {1.5, 1.4999999999999998, -kInf, kInf}),
            (Reals{20, 10, 10, 20}));
  EXPECT_EQ(answers(stump(1, 0.0), {0.0, -0.0, -5e-324}), (Reals{20, 20, 10}));
  EXPECT_EQ(answers(stump(1, -kInf), {-kInf, 0}), (Reals{20, 20}));
  EXPECT_EQ(answers(stump(2, 3), {3, 3.5, -3}), (Reals{10, 20, 20}));
  EXPECT_EQ(answers(stump(4, 0), {kNan, 3}), (Reals{10, 20}));
}

TEST(Forest, MissingGoesWhereItsNodeSays) {
  for (const int test : {0, 1, 2}) {
    EXPECT_EQ(answers(stump(test, 1, 0), {kNan, 1e9}), (Reals{20, 20}));
    EXPECT_EQ(answers(stump(test, 1, 1), {kNan, 1e9}), (Reals{10, 20}));
    EXPECT_EQ(answers(stump(test, 1, 2), {kNan, 1e9}), (Reals{-1, 20}));
  }
}

TEST(Forest, SetsOfNumbers) {
  MadeAttributes attributes = stump(3, 1);
  attributes.emplace_back("set_offsets", Ints{0, 1, 4});
  attributes.emplace_back("set_members", Ints{5, 0, 64, 700});
  EXPECT_EQ(answers(attributes, {0, 64, 700, 5, 1, 63, 701, 1e300, -1, 0.5, kInf, kNan}),
            (Reals{10, 10, 10, 20, 20, 20, 20, 20, 20, 20, 20, 20}));
}

TEST(Forest, RoundsToFloatWhereAsked) {
  const double tenth = 0.1f;  // above 0.1
  EXPECT_EQ(answers(stump(1, tenth), {0.1}), (Reals{10}));
  MadeAttributes attributes = stump(1, tenth);
  attributes.emplace_back("round_to_float", Ints{1});
  EXPECT_EQ(answers(attributes, {0.1}), (Reals{20}));
}

TEST(Forest, TextFeaturesAreCategories) {
  PlanMaker maker;
  const uint32_t x = maker.field("x", Type::String);
  MadeAttributes attributes = stump(3, 0, 2);
  attributes.emplace_back("set_offsets", Ints{0, 2});
  attributes.emplace_back("set_members", Ints{0, 2});
  attributes.emplace_back("category_counts", Ints{0, 3});
  attributes.emplace_back("categories", std::vector<std::string>{"red", "green", "blue"});
  const uint32_t out = maker.only("forest", {x}, Type::Double, attributes);
  PlanRun run(maker);
  run.begin(5);
  run.texts(x, {"red", "green", "blue", "pink", ""});
  run.at(x).set_missing(4);
  ASSERT_EQ(run.run(), "");
  EXPECT_EQ(run.at(out).reals[0], 10);
  EXPECT_EQ(run.at(out).reals[1], 20);
  EXPECT_EQ(run.at(out).reals[2], 10);
  EXPECT_EQ(run.at(out).reals[3], 20);
  EXPECT_FALSE(run.at(out).valid(4));
}

// Two stumps on different features, and a tree that is a single leaf.
MadeAttributes three_trees() {
  return {{"feature", Ints{0, 1}},
          {"threshold", Reals{0, 0}},
          {"left", Ints{~0, ~2}},
          {"right", Ints{~1, ~3}},
          {"missing", Ints{2, 2}},
          {"roots", Ints{0, 1, ~4}},
          {"leaves", Reals{1, 2, 4, 8, 16}},
          {"width", 1},
          {"has_values", true},
          {"has_leaf", false}};
}

struct ThreeTrees {
  ThreeTrees(const MadeAttributes& more, Type type, bool skip) {
    MadeAttributes attributes = three_trees();
    attributes.insert(attributes.end(), more.begin(), more.end());
    attributes.emplace_back("skip_no_answer", skip);
    a = maker.field("a", Type::Double);
    b = maker.field("b", Type::Int32);
    out = maker.only("forest", {a, b}, type, attributes);
    run.emplace(maker);
    run->begin(3);
    run->reals(a, {-1, 1, kNan});
    run->integers(b, {1, -1, 1}, Type::Int32);
    EXPECT_EQ(run->run(), "");
  }
  PlanMaker maker;
  uint32_t a, b, out;
  std::optional<PlanRun> run;
};

TEST(Forest, Sums) {
  ThreeTrees plain({{"sum", std::string("sum")}}, Type::Double, false);
  EXPECT_EQ(plain.run->at(plain.out).reals[0], 1 + 8 + 16);
  EXPECT_EQ(plain.run->at(plain.out).reals[1], 2 + 4 + 16);
  EXPECT_FALSE(plain.run->at(plain.out).valid(2));

  ThreeTrees weighted({{"sum", std::string("mean")}, {"weights", Reals{1, 2, 3}}}, Type::Double,
                      true);
  EXPECT_EQ(weighted.run->at(weighted.out).reals[0], (1 + 16 + 48) / 6.0);
  EXPECT_EQ(weighted.run->at(weighted.out).reals[2], (16 + 48) / 5.0);

  ThreeTrees based({{"sum", std::string("sum")}, {"base", Reals{0.5}}}, Type::Vector, true);
  EXPECT_EQ(based.run->vector(based.out, 1), (Reals{22.5}));
  EXPECT_EQ(based.run->vector(based.out, 2), (Reals{24.5}));

  ThreeTrees each({{"sum", std::string("each")}}, Type::Vector, false);
  EXPECT_EQ(each.run->vector(each.out, 0), (Reals{1, 8, 16}));
  EXPECT_EQ(each.run->vector(each.out, 1), (Reals{2, 4, 16}));
  EXPECT_FALSE(each.run->at(each.out).valid(2));
}

TEST(Forest, FloatSumsAreFloats) {
  MadeAttributes attributes = {
      {"feature", Ints{}}, {"threshold", Reals{}},      {"left", Ints{}},
      {"right", Ints{}},   {"roots", Ints{~0, ~1, ~1}}, {"leaves", Reals{16777216, 1}},
      {"width", 1},        {"sum", std::string("sum")}, {"has_values", true},
      {"has_leaf", false}, {"skip_no_answer", false},   {"float_sums", true}};
  EXPECT_EQ(answers(attributes, {0}), (Reals{16777216}));
  attributes.back().second = false;
  EXPECT_EQ(answers(attributes, {0}), (Reals{16777218}));
}

// A generated forest: random numbers, and directions for missing values.
struct Random {
  explicit Random(uint32_t seed) : source(seed) {}
  uint32_t below(uint32_t end) { return static_cast<uint32_t>(source() % end); }

  // Grows one tree; returns its root. `ways`: how many of right, left and no result a node may use
  // for missing values.
  int32_t grow(uint32_t depth, uint32_t ways) {
    if (depth == 0 || below(8) == 0) {
      leaves.push_back(static_cast<double>(below(1000)) / 7);
      return ~static_cast<int32_t>(leaves.size() - 1);
    }
    const auto at = static_cast<int32_t>(feature.size());
    feature.push_back(static_cast<int32_t>(below(kFeatures)));
    threshold.push_back(static_cast<double>(below(100)) / 10);
    missing.push_back(static_cast<int32_t>(below(ways)));
    left.push_back(0);
    right.push_back(0);
    const int32_t to_left = grow(depth - 1, ways);
    const int32_t to_right = grow(depth - 1, ways);
    left[static_cast<size_t>(at)] = to_left;
    right[static_cast<size_t>(at)] = to_right;
    return at;
  }
  // Returns the leaf, or -1.
  int32_t walk(int32_t at, const Reals& row) const {
    while (at >= 0) {
      const auto node = static_cast<size_t>(at);
      const double value = row[static_cast<size_t>(feature[node])];
      if (std::isnan(value) && missing[node] == 2) return -1;
      const bool goes_left = std::isnan(value) ? missing[node] == 1 : value <= threshold[node];
      at = goes_left ? left[node] : right[node];
    }
    return ~at;
  }

  static constexpr uint32_t kFeatures = 7;
  std::mt19937 source;
  Ints feature, left, right, missing, roots;
  Reals threshold, leaves;
};

void set_sparse(Column& column, const std::vector<Reals>& rows) {
  column.reset(Type::Vector, static_cast<uint32_t>(rows.size()));
  column.sparse = true;
  for (uint32_t row = 0; row < rows.size(); ++row) {
    column.start_row(row);
    for (size_t i = 0; i < rows[row].size(); ++i) {
      if (rows[row][i] == 0) continue;
      column.indices.push_back(static_cast<int32_t>(i));
      column.reals.push_back(rows[row][i]);
    }
    column.end_sparse_row(static_cast<int32_t>(rows[row].size()));
  }
  column.end_rows(static_cast<uint32_t>(rows.size()));
}

// Expects the sums and leaves of the columns `out` and `leaf` to be those of a plain walk.
void expect_plain_walks(const Random& random, const std::vector<Reals>& values, PlanRun& run,
                        uint32_t out, uint32_t leaf) {
  for (uint32_t row = 0; row < values.size(); ++row) {
    double sum = 0;
    std::vector<int64_t> leaves;
    for (const int32_t root : random.roots) leaves.push_back(random.walk(root, values[row]));
    const bool answers = std::count(leaves.begin(), leaves.end(), -1) == 0;
    const auto found = run.at(leaf).row_integers(row);
    EXPECT_EQ(std::vector<int64_t>(found.begin(), found.end()), leaves) << row;
    ASSERT_EQ(run.at(out).valid(row), answers) << row;
    if (!answers) continue;
    for (const int64_t one : leaves) sum += random.leaves[static_cast<size_t>(one)];
    EXPECT_EQ(run.at(out).reals[row], sum) << row;
  }
}

class RandomForest : public testing::TestWithParam<std::tuple<int, int, int>> {};

TEST_P(RandomForest, AnswersAsAPlainWalk) {
  const auto [depth, ways, rows] = GetParam();
  Random random(static_cast<uint32_t>(depth * 1000 + rows));
  for (int tree = 0; tree < 21; ++tree) {
    random.roots.push_back(random.grow(static_cast<uint32_t>(depth), static_cast<uint32_t>(ways)));
  }
  PlanMaker maker;
  const uint32_t x = maker.field("x", Type::Vector);
  const uint32_t out = maker.column("out", Type::Double);
  const uint32_t leaf = maker.column("leaf", Type::List, Type::Int32);
  maker.stage("forest", {x}, {out, leaf},
              {{"feature", random.feature},
               {"threshold", random.threshold},
               {"left", random.left},
               {"right", random.right},
               {"missing", random.missing},
               {"roots", random.roots},
               {"leaves", random.leaves},
               {"width", 1},
               {"sum", std::string("sum")},
               {"vector", true},
               {"vector_size", static_cast<int>(Random::kFeatures)},
               {"has_values", true},
               {"has_leaf", true},
               {"skip_no_answer", false}});
  maker.output("out", out, Type::Double);
  maker.output("leaf", leaf, Type::List);
  PlanRun run(maker);
  std::vector<Reals> values;
  for (int row = 0; row < rows; ++row) {
    Reals made;
    for (uint32_t i = 0; i < Random::kFeatures; ++i) {
      const double rare[] = {kNan, kNan, kInf, -kInf, 0};
      made.push_back(random.below(4) == 0 ? rare[random.below(5)]
                                          : static_cast<double>(random.below(100)) / 10);
    }
    values.push_back(std::move(made));
  }
  for (const bool sparse : {false, true}) {
    run.begin(static_cast<uint32_t>(rows));
    if (sparse) set_sparse(run.at(x), values);
    else run.vectors(x, values);
    ASSERT_EQ(run.run(), "");
    expect_plain_walks(random, values, run, out, leaf);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, RandomForest,
                         testing::Combine(testing::Values(1, 3, 8, 13), testing::Values(1, 2, 3),
                                          testing::Values(1, 7, 8, 300)));

TEST(Forest, SparseVectorsAndWrongLengths) {
  PlanMaker maker;
  const uint32_t x = maker.field("x", Type::Vector);
  MadeAttributes attributes = stump(0, 0);
  attributes[0].second = Ints{5};
  attributes.emplace_back("vector", true);
  attributes.emplace_back("vector_size", 8);
  const uint32_t out = maker.only("forest", {x}, Type::Double, attributes);
  PlanRun run(maker);
  run.begin(3);
  Column& column = run.at(x);
  column.reset(Type::Vector, 3);
  column.sparse = true;
  column.start_row(0);
  column.indices = {2, 5};
  column.reals = {9, 1};
  column.end_sparse_row(8);
  column.end_sparse_row(8);
  column.end_rows(3);
  ASSERT_EQ(run.run(), "");
  EXPECT_EQ(run.at(out).reals[0], 20);
  EXPECT_EQ(run.at(out).reals[1], 10);
  EXPECT_FALSE(run.at(out).valid(2));

  run.begin(2);
  run.vectors(x, {{0, 0, 0, 0, 0, 0, 0, 0}, {1, 2}});
  EXPECT_EQ(run.run(), "here: row 1: column 'x': expected a vector of 8 values, got 2");
  run.begin(2);
  run.vectors(x, {{0, 0, 0, 0, 0, 0, 0, 0}, {1, 2}});
  EXPECT_EQ(run.run(true), "");
  EXPECT_EQ(run.frame->refused, (std::vector<uint8_t>{0, 1}));
  EXPECT_FALSE(run.at(out).valid(1));
  run.begin(1);
  run.reals(x, {1});
  EXPECT_EQ(run.run(), "here: column 'x': expected a Vector, got Double");
}

// Returns the error of reading a plan with a stump in which one attribute is replaced.
std::string fault_of(const std::string& name, const MadeAttribute& value) {
  PlanMaker maker;
  const uint32_t x = maker.field("x", Type::Double);
  MadeAttributes attributes = stump(0, 0);
  bool found = false;
  for (auto& [known, old] : attributes) {
    if (known != name) continue;
    old = value;
    found = true;
  }
  if (!found) attributes.emplace_back(name, value);
  maker.only("forest", {x}, Type::Double, attributes);
  const auto read = maker.read();
  return read.ok() ? "" : read.error().message;
}

// Each tree's values for a million rows would be a column of 80 GB: refused before any memory is
// allocated.
TEST(Forest, ValuesOfEachTreeAreSoManyAtMost) {
  const uint32_t rows = 10;
  for (const bool leaves : {false, true}) {
    PlanMaker maker;
    const uint32_t x = maker.field("x", Type::Double);
    MadeAttributes attributes = stump(0, 1);
    attributes[6].second = Ints{0, ~0, ~1};
    attributes[9].second = std::string(leaves ? "sum" : "each");
    attributes[10].second = !leaves;
    attributes[11].second = leaves;
    const uint32_t out = leaves ? maker.only("forest", {x}, Type::List, attributes, Type::Int32)
                                : maker.only("forest", {x}, Type::Vector, attributes);
    PlanRun run(maker);
    ASSERT_TRUE(run.plan != nullptr);
    run.begin(rows);
    run.reals(x, Reals(rows, 0));
    RunOptions options;
    options.column_values_max = 29;
    const Status refused = run.plan->run(*run.frame, options, nullptr);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, "here: elements of 10 rows: expected at most 29, got 30");
    options.column_values_max = 30;
    ASSERT_TRUE(run.plan->run(*run.frame, options, nullptr).ok());
    EXPECT_EQ(run.at(out).held(), 30u);
  }
}

TEST(Forest, RefusesTreesThatAreNone) {
  const auto expect = [](const std::string& name, const MadeAttribute& value, const char* text) {
    EXPECT_NE(fault_of(name, value).find(text), std::string::npos) << fault_of(name, value);
  };
  expect("left", Ints{0}, "node 0: does not exist, or has two parents");
  expect("left", Ints{7}, "node 7: does not exist");
  expect("left", Ints{~5}, "leaf 5 does not exist");
  expect("left", Ints{std::numeric_limits<int32_t>::min()}, "leaf 2147483647 does not exist");
  expect("roots", Ints{0, 0}, "node 0: does not exist, or has two parents");
  expect("roots", Ints{}, "there are no trees");
  expect("feature", Ints{1}, "node 0: feature 1 does not exist");
  expect("feature", Ints{-1}, "node 0: feature -1 does not exist");
  expect("threshold", Reals{1, 2}, "the lists of nodes have different lengths");
  expect("test", Ints{9}, "a node's test is not known");
  expect("test", Ints{3}, "node 0: its set does not exist");
  expect("missing", Ints{3}, "a node's handling of missing values");
  expect("width", 0, "values for leaves");
  expect("width", 3, "values for leaves");
  expect("weights", Reals{1, 2}, "expected 1 weights, got 2");
  expect("base", Reals{1, 2}, "expected 1 base values, got 2");
  expect("sum", std::string("product"), "attribute 'sum': unknown word 'product'");
  expect("set_offsets", Ints{0, 5}, "the sets are not contiguous");
  expect("category_counts", Ints{0, 3}, "the categories of feature 0 do not exist");
  expect("round_to_float", Ints{1, 1}, "round_to_float: expected 1, got 2");
  expect("surprise", 1, "unknown attribute 'surprise'");
}

}  // namespace
}  // namespace serval::tabular
