// Vectors of scores and the results taken from them, combined results of ensemble segments, and the
// node of a tree that a row ends in: each against its written-out meaning.
#include "support/pmml_stage.h"

namespace serval::tabular {
namespace {

const Values kLabels{{Type::String, 0, "a"}, {Type::String, 0, "b"}, {Type::String, 0, "c"}};

// Columns x0, x1, x2 as one vector, and a stage after it.
struct Scores {
  Scores(const std::string& kind, Type type, const MadeAttributes& attributes) {
    for (int i = 0; i < 3; ++i) {
      fields.push_back(maker.field("x" + std::to_string(i), Type::Double));
    }
    const uint32_t vector = maker.column("vector", Type::Vector);
    maker.stage("pmml.vector", fields, {vector});
    out = maker.only(kind, {vector}, type, attributes);
  }
  std::string run(const std::vector<Reals>& rows) {
    plan.emplace(maker);
    plan->begin(static_cast<uint32_t>(rows.size()));
    for (size_t f = 0; f < fields.size(); ++f) {
      Reals column;
      for (const Reals& row : rows) column.push_back(row[f]);
      plan->reals(fields[f], column);
      for (uint32_t r = 0; missing && r < rows.size(); ++r) {
        if (std::isnan(column[r])) plan->at(fields[f]).set_missing(r);
      }
    }
    return plan->run();
  }
  std::string text(uint32_t row) {
    return plan->at(out).state(row) == State::Missing ? "-" : plan->text(out, row);
  }
  double real(uint32_t row) {
    return plan->at(out).state(row) == State::Missing ? kNan : plan->at(out).reals[row];
  }
  PlanMaker maker;
  std::vector<uint32_t> fields;
  uint32_t out = 0;
  bool missing = false;  // NaN is missing
  std::optional<PlanRun> plan;
};

TEST(PmmlVectors, TheLargestNumberClassifies) {
  Scores classes("pmml.classify", Type::String, {{"labels", kLabels}});
  // NaN is the largest; among equals the first one wins.
  ASSERT_EQ(classes.run({{1, 3, 2}, {2, 2, 1}, {1, kNan, 3}, {kNan, kNan, kNan}, {-0.0, 0, 0}}),
            "");
  EXPECT_EQ(classes.text(0), "b");
  EXPECT_EQ(classes.text(1), "a");
  EXPECT_EQ(classes.text(2), "b");
  EXPECT_EQ(classes.text(3), "a");
  EXPECT_EQ(classes.text(4), "b");
  const Values numbers{{Type::Double, 1}};
  EXPECT_NE(Given("pmml.classify", 1, {{Type::String}}, {{"labels", numbers}}).fault(), "");
}

TEST(PmmlVectors, AMissingInputMakesTheVectorMissing) {
  Scores classes("pmml.classify", Type::String, {{"labels", kLabels}});
  classes.missing = true;
  ASSERT_EQ(classes.run({{1, kNan, 3}, {1, 2, 3}}), "");
  EXPECT_EQ(classes.text(0), "-");
  EXPECT_EQ(classes.text(1), "c");
}

TEST(PmmlVectors, RanksAndElements) {
  const std::vector<Reals> rows{{1, 3, 2}, {5, kNan, 5}};
  Scores second("pmml.ranked", Type::String,
                {{"labels", Texts{"a", "b", "c"}}, {"rank", 2}, {"largest", true}});
  ASSERT_EQ(second.run(rows), "");
  EXPECT_EQ(second.text(0), "c");
  EXPECT_EQ(second.text(1), "a");  // NaN comes first
  Scores least("pmml.ranked", Type::Double,
               {{"labels", Texts{"a", "b", "c"}}, {"rank", 3}, {"largest", false}});
  ASSERT_EQ(least.run(rows), "");
  EXPECT_EQ(least.real(0), 3);
  EXPECT_TRUE(std::isnan(least.real(1)));
  Scores element("pmml.element", Type::Double, {{"rank", 3}});
  ASSERT_EQ(element.run(rows), "");
  EXPECT_EQ(element.real(0), 2);
  Scores picked("pmml.pick", Type::Double, {{"index", Ints{1}}});
  ASSERT_EQ(picked.run(rows), "");
  EXPECT_EQ(picked.real(0), 3);
  EXPECT_TRUE(std::isnan(picked.real(1)));
  EXPECT_NE(Given("pmml.element", 1, {{Type::Double}}, {{"rank", 0}}).fault(), "");
}

MadeAttributes ensemble(const std::string& method, const MadeAttributes& more = {}) {
  MadeAttributes made{{"method", method},
                      {"weights", Reals{1, 2, 5}},
                      {"mask_of", Ints{-1, -1, -1}},
                      {"weight_of", Ints{-1, -1, -1}}};
  for (const auto& [name, value] : more) set(made, name, value);
  return made;
}

double combined(const std::string& method, const Reals& row, const MadeAttributes& more = {}) {
  Given given("pmml.combine", row.size(), {{Type::Double}}, ensemble(method, more));
  EXPECT_EQ(given.run({row}), "");
  return given.out(0).valid(0) ? given.out(0).reals[0] : kNan;
}

TEST(PmmlCombine, ByMethod) {
  const Reals row{7, 1, 4};
  EXPECT_EQ(combined("sum", row), 12);
  EXPECT_EQ(combined("weightedSum", row), 29);
  EXPECT_EQ(combined("average", row), 4);
  EXPECT_EQ(combined("weightedAverage", row), 29.0 / 8);
  EXPECT_EQ(combined("median", row), 4);
  EXPECT_EQ(combined("weightedMedian", row), 4);
  EXPECT_NE(Given("pmml.combine", 3, {{Type::Double}}, ensemble("mode")).fault(), "");
}

TEST(PmmlCombine, MissingResultsAsTheDocumentSays) {
  const Reals row{7, kNan, 4};
  EXPECT_TRUE(std::isnan(combined("sum", row)));
  EXPECT_TRUE(std::isnan(combined("sum", row, {{"on_missing", "missing"}})));
  EXPECT_EQ(combined("sum", row, {{"on_missing", "skip"}}), 11);
  // A quarter of the weights is missing.
  EXPECT_EQ(combined("sum", row, {{"on_missing", "skip"}, {"threshold", 0.25}}), 11);
  EXPECT_TRUE(std::isnan(combined("sum", row, {{"on_missing", "skip"}, {"threshold", 0.2}})));
  // The fourth column states which segments ran in a row, the fifth their weight.
  const MadeAttributes columns{{"mask_of", Ints{3, -1, -1}}, {"weight_of", Ints{-1, -1, 4}}};
  const auto with = [&](const Reals& values) {
    PlanMaker maker;
    std::vector<uint32_t> inputs;
    for (int i = 0; i < 5; ++i) {
      inputs.push_back(maker.field("x" + std::to_string(i), i == 3 ? Type::Bool : Type::Double));
    }
    const uint32_t out =
        maker.only("pmml.combine", inputs, Type::Double, ensemble("weightedSum", columns));
    PlanRun run(maker);
    run.begin(1);
    for (size_t i = 0; i < 5; ++i) {
      if (i == 3) run.integers(inputs[i], {static_cast<int64_t>(values[i])}, Type::Bool);
      else run.reals(inputs[i], {values[i]});
    }
    EXPECT_EQ(run.run(), "");
    return run.at(out).valid(0) ? run.at(out).reals[0] : kNan;
  };
  EXPECT_EQ(with({7, 1, 4, 1, 10}), 49);
  EXPECT_EQ(with({7, 1, 4, 0, 10}), 42);
  EXPECT_TRUE(std::isnan(with({7, 1, 4, 1, kNan})));
}

TEST(PmmlVote, OfEqualsTheFirstOneWins) {
  const Values labels{{Type::Double, 1}, {Type::Double, 2}, {Type::Double, 3}};
  const auto vote = [&](const std::string& method, const std::vector<Reals>& rows) {
    Given given("pmml.vote", 3, {{Type::Vector}, {Type::Double}},
                ensemble(method, {{"labels", labels}}));
    EXPECT_EQ(given.run(rows), "");
    Reals winners;
    for (uint32_t row = 0; row < rows.size(); ++row) {
      winners.push_back(given.out(1).valid(row) ? given.out(1).reals[row] : kNan);
    }
    EXPECT_EQ(given.vector(0, 0).size(), 3U);
    return winners;
  };
  EXPECT_EQ(vote("majorityVote", {{2, 1, 3}, {3, 1, 1}}), (Reals{2, 1}));
  EXPECT_EQ(vote("weightedMajorityVote", {{2, 1, 3}, {1, 1, 2}}), (Reals{3, 2}));
  // A value that is not a label does not count.
  EXPECT_TRUE(std::isnan(vote("majorityVote", {{2, 2, 2}, {9, 9, 9}})[1]));
}

// Two vectors of three labels, in different orders.
Reals blended(const std::string& method, const Reals& first, const Reals& second) {
  PlanMaker maker;
  const uint32_t left = maker.field("left", Type::Vector);
  const uint32_t right = maker.field("right", Type::Vector);
  const MadeAttributes attributes{{"method", method},
                                  {"weights", Reals{1, 3}},
                                  {"mask_of", Ints{-1, -1}},
                                  {"weight_of", Ints{-1, -1}},
                                  {"maps", Ints{0, 1, 2, 1, 0, -1}},
                                  {"width", 3},
                                  {"order", Ints{}}};
  const uint32_t out = maker.only("pmml.blend", {left, right}, Type::Vector, attributes);
  PlanRun run(maker);
  run.begin(1);
  run.vectors(left, {first});
  run.vectors(right, {second});
  EXPECT_EQ(run.run(), "");
  return run.vector(out, 0);
}

TEST(PmmlBlend, LabelsAreBroughtTogether) {
  EXPECT_EQ(blended("average", {0.5, 0.25, 0.25}, {0.75, 0.25}), (Reals{0.375, 0.5, 0.125}));
  EXPECT_EQ(blended("weightedAverage", {0.5, 0.5, 0}, {0.75, 0.25}), (Reals{0.3125, 0.6875, 0}));
  EXPECT_EQ(blended("max", {0.5, 0.25, 0.25}, {0.75, 0.25}), (Reals{0.25, 0.75, 0}));
  EXPECT_EQ(blended("median", {0.5, 0.25, 0.25}, {0.75, 0.25}), (Reals{0.375, 0.5, 0.125}));
}

// Node 0: always; 1: x0 <= 5 with leaves 2 (x1 < 1) and 3 (x1 >= 1); 4: x0 > 5.
MadeAttributes tree(const std::string& on_missing, const MadeAttributes& more = {}) {
  constexpr int kTrue = 0, kLess = 2, kLessEqual = 3, kGreater = 4, kGreaterEqual = 5;
  MadeAttributes made{
      {"first_child", Ints{1, 2, -1, -1, -1}},
      {"next_sibling", Ints{-1, 4, 3, -1, -1}},
      {"input", Ints{0, 0, 1, 1, 0}},
      {"test", Ints{kTrue, kLessEqual, kLess, kGreaterEqual, kGreater}},
      {"scored", Ints{1, 1, 1, 1, 1}},
      {"number", Reals{0, 5, 1, 1, 5}},
      {"on_missing", on_missing},
  };
  for (const auto& [name, value] : more) set(made, name, value);
  return made;
}

std::vector<int64_t> nodes(const MadeAttributes& attributes, const std::vector<Reals>& rows) {
  Given given("pmml.tree", 2, {{Type::Int32}}, attributes);
  EXPECT_EQ(given.run(rows), "");
  std::vector<int64_t> found;
  for (uint32_t row = 0; row < rows.size(); ++row) {
    found.push_back(given.out(0).valid(row) ? given.out(0).integers[row] : -1);
  }
  return found;
}

TEST(PmmlTree, StrategiesForMissingValues) {
  using Found = std::vector<int64_t>;
  const std::vector<Reals> rows{{4, 0}, {5, 1}, {6, 0}, {kNan, 0}, {4, kNan}};
  EXPECT_EQ(nodes(tree("none"), rows), (Found{2, 3, 4, -1, -1}));
  EXPECT_EQ(nodes(tree("none", {{"no_child_last", true}}), rows), (Found{2, 3, 4, 0, 1}));
  EXPECT_EQ(nodes(tree("last"), rows), (Found{2, 3, 4, 0, 1}));
  EXPECT_EQ(nodes(tree("null"), rows), (Found{2, 3, 4, -1, -1}));
  const MadeAttributes defaults{{"default_child", Ints{4, 3, -1, -1, -1}}};
  EXPECT_EQ(nodes(tree("default", defaults), rows), (Found{2, 3, 4, 4, 3}));
}

TEST(PmmlTree, ConfidencesArePenalisedAndBlended) {
  const Reals scores{0, 0, 0, 0, 0.9, 0.1, 0.2, 0.8, 0.5, 0.5};
  const MadeAttributes penalised = tree("default", {{"default_child", Ints{4, 3, -1, -1, -1}},
                                                    {"scores", scores},
                                                    {"width", 2},
                                                    {"penalty", 0.5}});
  Given walked("pmml.tree", 2, {{Type::Int32}, {Type::Vector}}, penalised);
  ASSERT_EQ(walked.run({{4, 0}, {4, kNan}}), "");
  EXPECT_EQ(walked.vector(1, 0), (Reals{0.9, 0.1}));
  EXPECT_EQ(walked.vector(1, 1), (Reals{0.1, 0.4}));
  const Reals shares{0, 0, 0, 0, 0.6, 0.4, 0.1, 0.9, 0.5, 0.5};
  const MadeAttributes weighted = tree("weighted", {{"scores", scores},
                                                    {"blended", shares},
                                                    {"blended_scores", scores},
                                                    {"width", 2},
                                                    {"counts", Reals{100, 40, 30, 10, 60}}});
  const std::vector<MadeOutput> three{{Type::Int32}, {Type::Vector}, {Type::Vector}};
  Given blended("pmml.tree", 2, three, weighted);
  ASSERT_EQ(blended.run({{4, 0}, {4, kNan}}), "");
  // A complete row ends in its node.
  EXPECT_EQ(blended.out(0).integers[0], 2);
  EXPECT_EQ(blended.vector(1, 0), (Reals{0.9, 0.1}));
  EXPECT_EQ(blended.out(2).state(0), State::Missing);
  EXPECT_EQ(blended.out(0).state(1), State::Missing);
  const Reals both = blended.vector(1, 1);
  EXPECT_DOUBLE_EQ(both[0], 0.75 * 0.9 + 0.25 * 0.2);
  EXPECT_DOUBLE_EQ(both[1], 0.75 * 0.1 + 0.25 * 0.8);
  const Reals probabilities = blended.vector(2, 1);
  EXPECT_DOUBLE_EQ(probabilities[0], 0.75 * 0.6 + 0.25 * 0.1);
  EXPECT_DOUBLE_EQ(probabilities[1], 0.75 * 0.4 + 0.25 * 0.9);
}

TEST(PmmlTree, RefusesARowThatEndsInANodeWithoutAScore) {
  const MadeAttributes made = tree("last", {{"answers", Ints{1, 0, 1, 1, 1}}});
  Given given("pmml.tree", 2, {{Type::Int32}}, made);
  EXPECT_EQ(given.run({{4, 0}, {4, kNan}}), "here: row 1: node 2, where it ends, has no score");
}

TEST(PmmlTree, RefusesNodesThatDoNotFit) {
  const auto fault = [](const std::string& name, MadeAttribute value) {
    MadeAttributes made = tree("none");
    set(made, name, std::move(value));
    return Given("pmml.tree", 2, {{Type::Int32}}, made).fault();
  };
  EXPECT_NE(fault("first_child", Ints{1, 0, -1, -1, -1}), "");
  EXPECT_NE(fault("next_sibling", Ints{-1, 9, 3, -1, -1}), "");
  EXPECT_NE(fault("input", Ints{0, 0, 2, 1, 0}), "");
  EXPECT_NE(fault("number", Reals{0}), "");
  EXPECT_NE(fault("on_missing", "guess"), "");
}

}  // namespace
}  // namespace serval::tabular
