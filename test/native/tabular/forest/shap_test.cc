// Explanations of forests against the definition of Shapley values: a sum over all coalitions.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "support/plan_maker.h"

namespace serval::tabular {
namespace {

constexpr double kMissingValue = std::numeric_limits<double>::quiet_NaN();
using Ints = std::vector<int32_t>;
using Reals = std::vector<double>;

// A random forest. A node's feature may repeat on a path, and a tree may be a single leaf.
struct Grown {
  Ints feature, left, right, test, missing, roots;
  Reals threshold, leaves, covers;
  int32_t features = 4, width = 1;
  std::mt19937 random;

  explicit Grown(uint32_t seed, int32_t feature_count = 4, int32_t leaf_width = 1)
      : features(feature_count), width(leaf_width), random(seed) {}

  int32_t pick(int32_t end) { return static_cast<int32_t>(random() % static_cast<uint32_t>(end)); }
  int32_t leaf() {
    for (int32_t i = 0; i < width; ++i) leaves.push_back((pick(2001) - 1000) / 100.0);
    covers.push_back(pick(5) == 0 ? 0 : pick(90) + 1);
    return ~static_cast<int32_t>(covers.size() - 1);
  }
  int32_t grow(int32_t depth) {
    if (depth == 0 || pick(6) == 0) return leaf();
    const auto at = static_cast<int32_t>(feature.size());
    feature.push_back(pick(features));
    threshold.push_back(pick(9) - 4);
    test.push_back(pick(3));
    missing.push_back(pick(2));
    left.push_back(0);
    right.push_back(0);
    const int32_t one = grow(depth - 1), other = grow(depth - 1);
    left[static_cast<size_t>(at)] = one;
    right[static_cast<size_t>(at)] = other;
    return at;
  }
  // A root whose children have rows, so that covers of 0 are below it.
  void tree(int32_t depth) { roots.push_back(grow(depth)); }

  MadeAttributes attributes() const {
    return {
        {"feature", feature}, {"threshold", threshold},    {"left", left},      {"right", right},
        {"test", test},       {"missing", missing},        {"roots", roots},    {"leaves", leaves},
        {"width", width},     {"sum", std::string("sum")}, {"has_values", true}};
  }

  double cover(int32_t at) const {
    if (at < 0) return covers[static_cast<size_t>(~at)];
    return cover(left[static_cast<size_t>(at)]) + cover(right[static_cast<size_t>(at)]);
  }
  bool goes_left(size_t at, const Reals& row) const {
    const double value = row[static_cast<size_t>(feature[at])];
    if (std::isnan(value)) return missing[at] == 1;
    if (test[at] == 2) return value == threshold[at];
    return test[at] == 1 ? value < threshold[at] : value <= threshold[at];
  }
  // The mean over training rows of those features that are not in the coalition.
  double value(int32_t at, const Reals& row, uint32_t coalition, const Ints& players,
               int32_t number) const {
    if (at < 0) return leaves[static_cast<size_t>(~at * width + number)];
    const auto node = static_cast<size_t>(at);
    const auto player = static_cast<uint32_t>(players[static_cast<size_t>(feature[node])]);
    if ((coalition >> player & 1) != 0) {
      return value(goes_left(node, row) ? left[node] : right[node], row, coalition, players,
                   number);
    }
    const double all = cover(at);
    const double share = all > 0 ? cover(left[node]) / all : 0.5;
    return share * value(left[node], row, coalition, players, number) +
           (1 - share) * value(right[node], row, coalition, players, number);
  }
  double all(const Reals& row, uint32_t coalition, const Ints& players, int32_t number) const {
    double sum = 0;
    for (const int32_t root : roots) sum += value(root, row, coalition, players, number);
    return sum;
  }
  // The forest's sum for the coalition's features of a row and the others of a background row.
  double mixed(const Reals& row, const Reals& background, uint32_t coalition, const Ints& players,
               int32_t number) const {
    Reals made = background;
    for (size_t i = 0; i < made.size(); ++i) {
      if ((coalition >> static_cast<uint32_t>(players[i]) & 1) != 0) made[i] = row[i];
    }
    return all(made, ~uint32_t{0}, players, number);
  }
  // The definition.
  Reals shapley(const Reals& row, const Ints& players, uint32_t count, int32_t number) const {
    return shapley(count, [&](uint32_t coalition) { return all(row, coalition, players, number); });
  }
  template <typename Game>
  static Reals shapley(uint32_t count, const Game& game) {
    Reals made(count, 0);
    const auto factorial = [](uint32_t n) { return std::tgamma(static_cast<double>(n) + 1); };
    for (uint32_t player = 0; player < count; ++player) {
      for (uint32_t coalition = 0; coalition < uint32_t{1} << count; ++coalition) {
        if ((coalition >> player & 1) != 0) continue;
        const auto size = static_cast<uint32_t>(std::popcount(coalition));
        const double weight = factorial(size) * factorial(count - size - 1) / factorial(count);
        made[player] += weight * (game(coalition | 1u << player) - game(coalition));
      }
    }
    return made;
  }
};

MadeAttributes shap_attributes(const Grown& grown, uint32_t sums, const Ints& players) {
  return {{"forests", Ints{static_cast<int32_t>(sums)}},
          {"scores", Ints{0}},
          {"score_count", grown.width},
          {"feature_count", grown.features},
          {"players", players},
          {"covers", grown.covers}};  // none: an attribute without numbers
}

// A plan of a forest and its explanation, run over rows.
struct Explained {
  Explained(const Grown& grown, const std::vector<Reals>& rows, const MadeAttributes& more = {},
            Ints players = {}, const std::vector<Reals>& background = {}) {
    if (players.empty()) {
      players.resize(static_cast<size_t>(grown.features));
      std::iota(players.begin(), players.end(), 0);
    }
    std::vector<uint32_t> fields;
    for (int32_t i = 0; i < grown.features; ++i) {
      fields.push_back(maker.field("f" + std::to_string(i), Type::Double));
      Reals column;
      for (const Reals& row : background) column.push_back(row[static_cast<size_t>(i)]);
      if (!column.empty()) maker.background(fields.back(), column);
    }
    sums = maker.column("sums", grown.width == 1 ? Type::Double : Type::Vector);
    maker.stage("forest", fields, {sums}, grown.attributes());
    maker.output("sums", sums, grown.width == 1 ? Type::Double : Type::Vector);
    values = maker.column("values", Type::List, Type::Double);
    expected = maker.column("expected", Type::List, Type::Double);
    MadeAttributes attributes = shap_attributes(grown, sums, players);
    for (const auto& each : more) attributes.push_back(each);
    maker.stage("forest_shap", fields, {values, expected}, attributes);
    maker.output("values", values, Type::List);
    maker.output("expected", expected, Type::List);
    auto read = maker.read();
    if (!read.ok()) {
      fault = read.error().message;
      return;
    }
    run.emplace(maker);
    run->begin(static_cast<uint32_t>(rows.size()));
    for (size_t i = 0; i < fields.size(); ++i) {
      Reals column;
      for (const Reals& row : rows) column.push_back(row[i]);
      run->reals(fields[i], column);
    }
    const uint32_t wanted[] = {0, 1, 2};
    const Status done = run->plan->run(*run->frame, {}, nullptr, wanted);
    if (!done.ok()) fault = done.error().message;
  }
  Reals row(uint32_t at) { return run->vector(values, at); }

  PlanMaker maker;
  uint32_t sums = 0, values = 0, expected = 0;
  std::optional<PlanRun> run;
  std::string fault;
};

std::vector<Reals> rows_of(Grown& grown, size_t count, bool missing) {
  std::vector<Reals> rows(count);
  for (Reals& row : rows) {
    for (int32_t i = 0; i < grown.features; ++i) {
      row.push_back(missing && grown.pick(4) == 0 ? kMissingValue : grown.pick(11) - 5);
    }
  }
  return rows;
}

void expect_near(const Reals& got, const Reals& wanted, const std::string& where) {
  ASSERT_EQ(got.size(), wanted.size()) << where;
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], wanted[i], 1e-10 * (1 + std::fabs(wanted[i]))) << where << " value " << i;
  }
}

TEST(ForestShap, EqualsTheDefinition) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Grown grown(seed, static_cast<int32_t>(2 + seed % 5));
    for (uint32_t tree = 0; tree < 1 + seed % 3; ++tree) {
      grown.tree(static_cast<int32_t>(seed % 8));
    }
    const std::vector<Reals> rows = rows_of(grown, 1 + seed % 19, true);
    Explained explained(grown, rows);
    ASSERT_EQ(explained.fault, "") << seed;
    Ints players(static_cast<size_t>(grown.features));
    std::iota(players.begin(), players.end(), 0);
    for (uint32_t row = 0; row < rows.size(); ++row) {
      const std::string where = "seed " + std::to_string(seed) + " row " + std::to_string(row);
      const Reals wanted =
          grown.shapley(rows[row], players, static_cast<uint32_t>(grown.features), 0);
      expect_near(explained.row(row), wanted, where);
      const double base = explained.run->vector(explained.expected, row)[0];
      EXPECT_NEAR(base, grown.all(rows[row], 0, players, 0), 1e-10) << where;
      const Reals got = explained.row(row);
      const double sum = std::accumulate(got.begin(), got.end(), base);
      EXPECT_NEAR(sum, explained.run->at(explained.sums).reals[row], 1e-9) << where;
    }
  }
}

TEST(ForestShap, ExplainsEachNumberOfALeaf) {
  Grown grown(7, 4, 3);
  grown.tree(5);
  grown.tree(4);
  const std::vector<Reals> rows = rows_of(grown, 9, true);
  Explained explained(grown, rows);
  ASSERT_EQ(explained.fault, "");
  for (uint32_t row = 0; row < rows.size(); ++row) {
    const Reals got = explained.row(row);
    ASSERT_EQ(got.size(), 12u);
    for (int32_t number = 0; number < 3; ++number) {
      Reals own;
      for (size_t i = 0; i < 4; ++i) own.push_back(got[i * 3 + static_cast<size_t>(number)]);
      expect_near(own, grown.shapley(rows[row], {0, 1, 2, 3}, 4, number), "number");
    }
  }
}

// Features of one player, missing values, several numbers of a leaf, and a mean of the trees.
TEST(ForestShap, RelativeToBackgroundRowsEqualsTheDefinition) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    const int32_t width = 1 + static_cast<int32_t>(seed % 3);
    Grown grown(seed, 5, width);
    for (uint32_t tree = 0; tree < 1 + seed % 3; ++tree) grown.tree(static_cast<int32_t>(seed % 7));
    const std::vector<Reals> rows = rows_of(grown, 1 + seed % 4, true);
    const std::vector<Reals> background = rows_of(grown, 1 + seed % 5, true);
    const Ints players = seed % 2 == 0 ? Ints{0, 1, 2, 3, 4} : Ints{0, 1, 2, 1, 4};
    Explained explained(grown, rows, {}, players, background);
    ASSERT_EQ(explained.fault, "") << seed;
    const auto count = static_cast<double>(background.size());
    for (uint32_t row = 0; row < rows.size(); ++row) {
      const Reals got = explained.row(row);
      for (int32_t number = 0; number < width; ++number) {
        const auto game = [&](uint32_t coalition) {
          double sum = 0;
          for (const Reals& each : background) {
            sum += grown.mixed(rows[row], each, coalition, players, number) / count;
          }
          return sum;
        };
        const auto at = static_cast<size_t>(number);
        Reals own;
        for (size_t i = 0; i < 5; ++i) own.push_back(got[i * static_cast<size_t>(width) + at]);
        expect_near(own, Grown::shapley(5, game), "seed " + std::to_string(seed));
        EXPECT_NEAR(explained.run->vector(explained.expected, row)[at], game(0), 1e-10);
      }
    }
  }
}

TEST(ForestShap, BackgroundRowsNeedNoCovers) {
  Grown grown(4);
  grown.tree(3);
  const std::vector<Reals> rows = {{1, 2, 3, 4}};
  const MadeAttributes none = {{"uncovered", std::string("the file has no covers")}};
  Grown bare = grown;
  bare.covers.clear();
  Explained without(bare, rows, none);
  EXPECT_EQ(without.fault, "here: the file has no covers");
  Explained with(bare, rows, none, {}, rows);
  ASSERT_EQ(with.fault, "");
  EXPECT_EQ(with.row(0), (Reals{0, 0, 0, 0}));
}

TEST(ForestShap, LimitsTheWorkOfBackgroundRows) {
  Grown grown(6);
  while (grown.covers.size() < 120'000) grown.tree(9);
  const std::vector<Reals> background(1000, Reals{1, 2, 3, 4});
  Explained explained(grown, {{1, 2, 3, 4}}, {}, {}, background);
  EXPECT_NE(explained.fault.find("background rows: here: expected at most 200000000 background"),
            std::string::npos)
      << explained.fault;
}

TEST(LinearShap, IsRelativeToTheMeansOfBackgroundRows) {
  const auto explained = [](bool has_background, const MadeAttribute& means) {
    PlanMaker maker;
    const uint32_t fields[] = {maker.field("a", Type::Double), maker.field("b", Type::Double)};
    const uint32_t values = maker.column("values", Type::List, Type::Double);
    const uint32_t expected = maker.column("expected", Type::List, Type::Double);
    const bool has_means = std::holds_alternative<Reals>(means);
    maker.stage("linear_shap", {fields[0], fields[1]}, {values, expected},
                {{"coefficients", Reals{2, -1, 0, 3}},
                 {"intercepts", Reals{0.5, 1}},
                 {has_means ? "means" : "unmeant", means}});
    maker.output("values", values, Type::List);
    maker.output("expected", expected, Type::List);
    if (has_background) {
      maker.background(fields[0], {0, 2});
      maker.background(fields[1], {6, kMissingValue});
    }
    PlanRun run(maker);
    run.begin(2);
    run.reals(fields[0], {3, kMissingValue});
    run.reals(fields[1], {4, 1});
    const uint32_t wanted[] = {0, 1};
    const Status done = run.plan->run(*run.frame, {}, nullptr, wanted);
    std::vector<Reals> made;
    if (!done.ok()) EXPECT_EQ(done.error().message, "here: no means");
    else made = {run.vector(values, 0), run.vector(values, 1), run.vector(expected, 1)};
    return made;
  };
  // The means are 1 and 3: missing values are 0. By feature and score.
  EXPECT_EQ(explained(true, std::string("no means")),
            (std::vector<Reals>{{4, 0, -1, 3}, {-2, 0, 2, -6}, {-0.5, 10}}));
  EXPECT_EQ(explained(false, Reals{0, 0}),
            (std::vector<Reals>{{6, 0, -4, 12}, {0, 0, -1, 3}, {0.5, 1}}));
  EXPECT_TRUE(explained(false, std::string("no means")).empty());
}

TEST(ForestShap, FeaturesShareTheValueOfTheirPlayer) {
  Grown grown(3, 4);
  grown.tree(6);
  const std::vector<Reals> rows = rows_of(grown, 5, false);
  // Features 1 and 3 are one player, whose value features 0 and 1 share; feature 2 has no column.
  Explained explained(grown, rows,
                      {{"share_offsets", Ints{0, 1, 3, 4}}, {"share_features", Ints{3, 0, 1, 2}}},
                      {0, 1, 2, 1});
  ASSERT_EQ(explained.fault, "");
  for (uint32_t row = 0; row < rows.size(); ++row) {
    const Reals wanted = grown.shapley(rows[row], {0, 1, 2, 1}, 3, 0);
    expect_near(explained.row(row), {wanted[1] / 2, wanted[1] / 2, wanted[2], wanted[0]}, "shared");
  }
}

TEST(ForestShap, SingleLeavesHaveOnlyAnExpectedValue) {
  Grown grown(1);
  grown.roots = {grown.leaf()};
  Explained explained(grown, {{1, 2, 3, 4}, {kMissingValue, 0, 0, 0}},
                      {{"scale", 2.0}, {"bias", Reals{0.5}}});
  ASSERT_EQ(explained.fault, "");
  EXPECT_EQ(explained.row(1), (Reals{0, 0, 0, 0}));
  EXPECT_EQ(explained.run->vector(explained.expected, 1)[0], 2 * grown.leaves[0] + 0.5);
}

// A chain that tests a feature for each node, and the exact values of its additive parts.
TEST(ForestShap, StaysExactForLongPaths) {
  Grown grown(2, 100);
  for (int32_t i = 0; i < 100; ++i) {
    grown.feature.push_back(i);
    grown.threshold.push_back(0);
    grown.test.push_back(0);
    grown.missing.push_back(0);
    grown.left.push_back(i == 99 ? ~100 : i + 1);
    grown.right.push_back(~i);
    grown.leaves.push_back(i % 7);
    grown.covers.push_back(1 + i % 3);
  }
  grown.leaves.push_back(50);
  grown.covers.push_back(4);
  grown.roots = {0};
  std::vector<Reals> rows(10, Reals(100, -1));
  for (size_t row = 1; row < rows.size(); ++row) rows[row][row * 11] = 1;
  Explained explained(grown, rows);
  ASSERT_EQ(explained.fault, "");
  for (uint32_t row = 0; row < rows.size(); ++row) {
    const Reals got = explained.row(row);
    const double base = explained.run->vector(explained.expected, row)[0];
    const double sum = std::accumulate(got.begin(), got.end(), base);
    EXPECT_NEAR(sum, explained.run->at(explained.sums).reals[row], 1e-10);
  }
  grown.features = 200;
  for (int32_t i = 0; i < 100; ++i) {
    grown.feature.push_back(100 + i);
    grown.threshold.push_back(0);
    grown.test.push_back(0);
    grown.missing.push_back(0);
    grown.left.push_back(i == 99 ? ~201 : 101 + i);
    grown.right.push_back(~(101 + i));
    grown.leaves.push_back(1);
    grown.covers.push_back(1);
  }
  grown.leaves.push_back(1);
  grown.covers.push_back(1);
  grown.left[99] = 100;
  grown.covers[100] = 0;
  Explained deep(grown, {Reals(200, -1)});
  EXPECT_NE(deep.fault.find("tests 200 features on one path; the limit is 128"), std::string::npos)
      << deep.fault;
}

TEST(ForestShap, IsNotComputedUnlessAsked) {
  Grown grown(4);
  grown.tree(3);
  const std::string why = "the file has no covers of leaves";
  Explained explained(grown, {{1, 2, 3, 4}}, {{"lacks", why}});
  EXPECT_EQ(explained.fault, "here: " + why);
  EXPECT_TRUE(explained.run->plan->on_request(1));
  EXPECT_FALSE(explained.run->plan->on_request(0));
  EXPECT_EQ(explained.run->run(), "");
}

TEST(ForestShap, RefusesPartsThatDoNotFit) {
  Grown grown(5);
  grown.tree(3);
  const std::vector<Reals> rows = {{1, 2, 3, 4}};
  const auto fault = [&](Grown of, Ints players) { return Explained(of, rows, {}, players).fault; };
  Grown fewer = grown;
  fewer.covers.pop_back();
  EXPECT_NE(fault(fewer, {}).find("covers, got"), std::string::npos);
  Grown negative = grown;
  negative.covers[0] = -1;
  EXPECT_NE(fault(negative, {}).find("expected finite numbers from 0"), std::string::npos);
  negative.covers[0] = kMissingValue;
  EXPECT_NE(fault(negative, {}).find("expected finite numbers from 0"), std::string::npos);
  EXPECT_NE(fault(grown, {0, 1, 2, 4}).find("player 4 does not exist"), std::string::npos);
  EXPECT_NE(fault(grown, {0, 1}).find("expected 4 players, got 2"), std::string::npos);
}

TEST(ForestTrees, ListsLeavesAndValuesInTheirOrder) {
  Grown grown(9);
  grown.tree(3);
  grown.tree(3);
  PlanMaker maker;
  std::vector<uint32_t> fields;
  for (int i = 0; i < 4; ++i) fields.push_back(maker.field("f" + std::to_string(i), Type::Double));
  const uint32_t sums = maker.column("sums", Type::Double);
  maker.stage("forest", fields, {sums}, grown.attributes());
  const uint32_t leaf = maker.column("leaf", Type::List, Type::Int32);
  const uint32_t value = maker.column("value", Type::List, Type::Double);
  Ints ids;
  for (size_t i = 0; i < grown.covers.size(); ++i) ids.push_back(static_cast<int32_t>(1000 + i));
  const Ints forests = {static_cast<int32_t>(sums)};
  maker.stage("forest_trees", fields, {leaf},
              {{"forests", forests}, {"order", Ints{1, 0}}, {"leaf_ids", ids}});
  maker.stage("forest_trees", fields, {value},
              {{"forests", forests}, {"order", Ints{1, 0}}, {"values", true}, {"scale", 3.0}});
  maker.output("sums", sums, Type::Double);
  maker.output("leaf", leaf, Type::List);
  maker.output("value", value, Type::List);
  PlanRun run(maker);
  const std::vector<Reals> rows = rows_of(grown, 11, true);
  run.begin(11);
  for (size_t i = 0; i < 4; ++i) {
    Reals column;
    for (const Reals& row : rows) column.push_back(row[i]);
    run.reals(fields[i], column);
  }
  const uint32_t wanted[] = {0, 1, 2};
  ASSERT_TRUE(run.plan->run(*run.frame, {}, nullptr, wanted).ok());
  for (uint32_t row = 0; row < 11; ++row) {
    const auto leaves = run.at(leaf).row_integers(row);
    const Reals values = run.vector(value, row);
    ASSERT_EQ(values.size(), 2u);
    EXPECT_NEAR(values[0] + values[1], 3 * run.at(sums).reals[row], 1e-9);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(3 * grown.leaves[static_cast<size_t>(leaves[i] - 1000)], values[i]);
    }
  }
}

}  // namespace
}  // namespace serval::tabular
