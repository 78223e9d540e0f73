// pmml.clustering, pmml.nearest_neighbor, pmml.association, pmml.rule_value, pmml.anomaly and
// pmml.gaussian_process: measures, ranks and ties, what is missing, and plans that do not fit.
#include <cmath>
#include <limits>

#include "support/plan_maker.h"

namespace serval::tabular {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Ints = std::vector<int32_t>;
using Reals = std::vector<double>;
using Texts = std::vector<std::string>;
using Values = std::vector<MadeValue>;
using Rows = std::vector<Reals>;

void set(MadeAttributes& attributes, const std::string& name, MadeAttribute value) {
  for (auto& [known, held] : attributes) {
    if (known == name) {
      held = std::move(value);
      return;
    }
  }
  attributes.emplace_back(name, std::move(value));
}

struct Output {
  Type type;
  Type element = Type::Any;
};

// Columns x0, x1, ... of doubles; NaN: missing.
struct Given {
  Given(const std::string& kind, size_t width, const std::vector<Output>& types,
        const MadeAttributes& attributes) {
    for (size_t i = 0; i < width; ++i) {
      fields.push_back(maker.field("x" + std::to_string(i), Type::Double));
    }
    for (const Output& each : types) {
      outputs.push_back(maker.column("out", each.type, each.element));
    }
    maker.stage(kind, fields, outputs, attributes);
    for (size_t i = 0; i < types.size(); ++i) {
      maker.output("out" + std::to_string(i), outputs[i], types[i].type);
    }
  }
  std::string fault() {
    auto read = maker.read();
    return read.ok() ? "" : read.error().message;
  }
  std::string run(const Rows& rows, bool null_for_invalid = false) {
    plan.emplace(maker);
    plan->begin(static_cast<uint32_t>(rows.size()));
    for (size_t f = 0; f < fields.size(); ++f) {
      Reals column;
      for (const Reals& row : rows) column.push_back(row[f]);
      plan->reals(fields[f], column);
      for (uint32_t r = 0; r < rows.size(); ++r) {
        if (std::isnan(column[r])) plan->at(fields[f]).set_missing(r);
      }
    }
    return plan->run(null_for_invalid);
  }
  const Column& out(size_t i) { return plan->at(outputs[i]); }
  Reals vector(size_t i, uint32_t row) { return plan->vector(outputs[i], row); }
  std::string text(size_t i, uint32_t row) { return plan->text(outputs[i], row); }
  Texts texts(size_t i, uint32_t row) {
    Texts made;
    for (const TextId id : out(i).row_texts(row)) made.emplace_back(plan->frame->strings.text(id));
    return made;
  }

  PlanMaker maker;
  std::vector<uint32_t> fields, outputs;
  std::optional<PlanRun> plan;
};

MadeAttributes measure(const std::string& name, size_t fields) {
  return {{"measure", name},
          {"compare", Texts(fields, "absDiff")},
          {"field_weights", Reals(fields, 1)},
          {"similarity_scales", Reals(fields, 1)},
          {"missing_weights", Reals(fields, 1)}};
}

const std::vector<Output> kCluster{{Type::String}, {Type::Vector}};

// Centres (0, 0) and (3, 4).
MadeAttributes clusters(const std::string& name) {
  MadeAttributes made = measure(name, 2);
  made.insert(made.end(),
              {{"ids", Texts{"near", "far"}}, {"names", Texts{}}, {"centers", Reals{0, 0, 3, 4}}});
  return made;
}

Reals distances(const MadeAttributes& attributes, const Reals& row) {
  Given given("pmml.clustering", 2, kCluster, attributes);
  EXPECT_EQ(given.run({row}), "");
  return given.vector(1, 0);
}

TEST(PmmlClustering, HasTheDistancesOfTheStandard) {
  const Reals row{1, 2};
  EXPECT_EQ(distances(clusters("squaredEuclidean"), row), (Reals{5, 8}));
  EXPECT_DOUBLE_EQ(distances(clusters("euclidean"), row)[1], std::sqrt(8));
  EXPECT_EQ(distances(clusters("cityBlock"), row), (Reals{3, 4}));
  EXPECT_EQ(distances(clusters("chebychev"), row), (Reals{2, 2}));
  MadeAttributes cubes = clusters("minkowski");
  set(cubes, "minkowski_p", 3.0);
  EXPECT_DOUBLE_EQ(distances(cubes, row)[0], std::cbrt(9));
}

TEST(PmmlClustering, ComparesFieldsAsEachSays) {
  MadeAttributes made = clusters("cityBlock");
  set(made, "field_weights", Reals{2, 10});
  set(made, "compare", Texts{"gaussSim", "delta"});
  set(made, "similarity_scales", Reals{0.5, 1});
  const Reals got = distances(made, {0.5, 4});
  EXPECT_DOUBLE_EQ(got[0], 2 * 0.5 + 10);  // half where the difference is the scale
  EXPECT_DOUBLE_EQ(got[1], 2 * std::exp(-std::log(2.0) * 2.5 * 2.5 / 0.25));
  set(made, "compare", Texts{"equal", "equal"});
  EXPECT_EQ(distances(made, {0, 4}), (Reals{2, 10}));
}

TEST(PmmlClustering, MakesUpForWhatIsMissing) {
  MadeAttributes made = clusters("squaredEuclidean");
  set(made, "missing_weights", Reals{1, 3});
  Given given("pmml.clustering", 2, kCluster, made);
  ASSERT_EQ(given.run({{1, kNan}, {kNan, 2}, {kNan, kNan}}), "");
  EXPECT_EQ(given.vector(1, 0), (Reals{4, 16}));
  EXPECT_DOUBLE_EQ(given.vector(1, 1)[0], 4 * (4.0 / 3));
  EXPECT_FALSE(given.out(0).valid(2));
  EXPECT_FALSE(given.out(1).valid(2));
}

TEST(PmmlClustering, AnswersIdAndName) {
  MadeAttributes made = clusters("euclidean");
  set(made, "names", Texts{"Cluster A", "Cluster B"});
  Given given("pmml.clustering", 2, {{Type::String}, {Type::Vector}, {Type::String}}, made);
  ASSERT_EQ(given.run({{0, 1}, {3, 3}, {1.5, 2}}), "");
  EXPECT_EQ(given.text(0, 0), "near");
  EXPECT_EQ(given.text(2, 1), "Cluster B");
  EXPECT_EQ(given.text(0, 2), "near");  // the first one of equals
}

TEST(PmmlClustering, HasTheSimilaritiesOfTheStandard) {
  const auto alike = [](const std::string& name) {
    MadeAttributes made = measure(name, 4);
    made.insert(
        made.end(),
        {{"ids", Texts{"a", "b"}}, {"names", Texts{}}, {"centers", Reals{1, 1, 0, 0, 0, 0, 0, 1}}});
    if (name == "binarySimilarity") {
      set(made, "binary_parameters", Reals{1, 0, 0, 0.5, 1, 2, 3, 0.5});
    }
    Given given("pmml.clustering", 4, kCluster, made);
    EXPECT_EQ(given.run({{1, 0, 0, 0}}), "");
    EXPECT_EQ(given.text(0, 0), "a");
    return given.vector(1, 0);
  };
  // Against a: one 11, no 10, one 01, two 00. Against b: no 11, one 10, one 01, two 00.
  EXPECT_EQ(alike("simpleMatching"), (Reals{0.75, 0.5}));
  EXPECT_EQ(alike("jaccard"), (Reals{0.5, 0}));
  EXPECT_EQ(alike("tanimoto"), (Reals{3.0 / 5, 2.0 / 6}));
  EXPECT_EQ(alike("binarySimilarity"), (Reals{2.0 / 5, 1.0 / 6}));
}

TEST(PmmlClustering, RefusesWhatIsNotBinary) {
  MadeAttributes made = clusters("jaccard");
  set(made, "centers", Reals{0, 0, 1, 1});
  Given given("pmml.clustering", 2, kCluster, made);
  EXPECT_EQ(given.run({{1, 0}, {0.5, 1}}), "here: row 1: 'x0' is neither 0 nor 1");
  EXPECT_EQ(given.run({{1, 0}, {1, kNan}}), "here: row 1: 'x1' is neither 0 nor 1");
  set(made, "centers", Reals{0, 0, 3, 4});
  EXPECT_NE(Given("pmml.clustering", 2, kCluster, made).fault(), "");
}

TEST(PmmlClustering, RefusesPartsThatDoNotFit) {
  const auto broken = [](const std::string& name, MadeAttribute value) {
    MadeAttributes made = clusters("euclidean");
    set(made, name, std::move(value));
    return Given("pmml.clustering", 2, kCluster, made).fault();
  };
  EXPECT_NE(broken("centers", Reals{1, 2, 3}), "");
  EXPECT_NE(broken("ids", Texts{}), "");
  EXPECT_NE(broken("names", Texts{"one"}), "");
  EXPECT_NE(broken("measure", std::string("cosine")), "");
  EXPECT_NE(broken("compare", Texts{"absDiff", "table"}), "");
  EXPECT_NE(broken("field_weights", Reals{1}), "");
  MadeAttributes minkowski = clusters("minkowski");
  set(minkowski, "minkowski_p", -1.0);
  EXPECT_NE(Given("pmml.clustering", 2, kCluster, minkowski).fault(), "");
}

// Instances at 0, 1, 2, 10 on a line, with a number and a class each; three are asked.
MadeAttributes line() {
  MadeAttributes made = measure("euclidean", 1);
  made.insert(made.end(),
              {{"instances", Reals{0, 1, 2, 10}},
               {"text_fields", Ints{0}},
               {"categories", Texts{}},
               {"neighbors", 3},
               {"threshold", 0.5},
               {"target_scorings", Texts{"average", "majorityVote"}},
               {"target_numbers", Reals{1, 2, 6, 100, 0, 1, 0, 1}},
               {"target_values", Values{{Type::String, 0, "red"}, {Type::String, 0, "blue"}}},
               {"target_value_rows", Ints{0, 0, 2}},
               {"ranked", 2},
               {"ids", Texts{"i", "j", "k", "l"}}});
  return made;
}

const std::vector<Output> kLine{
    {Type::Double}, {Type::String}, {Type::List, Type::String}, {Type::Vector}};

TEST(PmmlNearestNeighbor, RanksAndScores) {
  Given given("pmml.nearest_neighbor", 1, kLine, line());
  ASSERT_EQ(given.run({{0.75}, {kNan}, {9}}), "");
  EXPECT_DOUBLE_EQ(given.out(0).reals[0], 3);
  EXPECT_EQ(given.text(1, 0), "red");
  EXPECT_EQ(given.texts(2, 0), (Texts{"j", "i"}));
  EXPECT_EQ(given.vector(3, 0), (Reals{0.25, 0.75}));
  for (size_t i = 0; i < kLine.size(); ++i) EXPECT_FALSE(given.out(i).valid(1)) << i;
  EXPECT_EQ(given.texts(2, 2), (Texts{"l", "k"}));
  EXPECT_EQ(given.text(1, 2), "blue");
}

double scored(const std::string& method, int neighbors, double x) {
  MadeAttributes made = line();
  set(made, "target_scorings", Texts{method, "weightedMajorityVote"});
  set(made, "neighbors", neighbors);
  Given given("pmml.nearest_neighbor", 1, kLine, made);
  EXPECT_EQ(given.run({{x}}), "");
  return given.out(0).reals[0];
}

TEST(PmmlNearestNeighbor, HasTheScoresOfTheStandard) {
  EXPECT_DOUBLE_EQ(scored("median", 3, 1), 2);
  EXPECT_DOUBLE_EQ(scored("median", 4, 1), 4);
  const double a = 1 / 1.25, b = 1 / 0.75, c = 1 / 1.75;  // of distances .75, .25, 1.25
  EXPECT_DOUBLE_EQ(scored("weightedAverage", 3, 0.75), (2 * b + 1 * a + 6 * c) / (a + b + c));
}

TEST(PmmlNearestNeighbor, BreaksTies) {
  // Two neighbours, one vote each: the class with more instances, then the smaller one.
  MadeAttributes made = line();
  set(made, "neighbors", 2);
  set(made, "target_numbers", Reals{1, 2, 6, 100, 0, 1, 1, 1});
  Given more("pmml.nearest_neighbor", 1, kLine, made);
  ASSERT_EQ(more.run({{0.25}}), "");
  EXPECT_EQ(more.text(1, 0), "blue");
  set(made, "target_numbers", Reals{1, 2, 6, 100, 0, 1, 0, 1});
  Given smaller("pmml.nearest_neighbor", 1, kLine, made);
  ASSERT_EQ(smaller.run({{0.25}}), "");
  EXPECT_EQ(smaller.text(1, 0), "blue");
  // Two instances at one distance: the first of the table.
  Given first("pmml.nearest_neighbor", 1, kLine, line());
  ASSERT_EQ(first.run({{0.5}}), "");
  EXPECT_EQ(first.texts(2, 0), (Texts{"i", "j"}));
}

TEST(PmmlNearestNeighbor, ComparesTexts) {
  PlanMaker maker;
  const uint32_t color = maker.field("color", Type::String);
  const uint32_t out = maker.column("out", Type::Double);
  MadeAttributes made = measure("cityBlock", 1);
  set(made, "compare", Texts{"delta"});
  made.insert(made.end(), {{"instances", Reals{0, 1, 0}},
                           {"text_fields", Ints{1}},
                           {"categories", Texts{"red", "blue"}},
                           {"neighbors", 1},
                           {"target_scorings", Texts{"average"}},
                           {"target_numbers", Reals{5, 7, 9}},
                           {"target_values", Values{}},
                           {"target_value_rows", Ints{0, 0}},
                           {"ids", Texts{}}});
  maker.stage("pmml.nearest_neighbor", {color}, {out}, made);
  maker.output("out", out, Type::Double);
  PlanRun run(maker);
  run.begin(3);
  run.texts(color, {"blue", "red", "green"});
  ASSERT_EQ(run.run(), "");
  EXPECT_EQ(run.at(out).reals, (Reals{7, 5, 5}));
}

TEST(PmmlNearestNeighbor, RefusesPartsThatDoNotFit) {
  const auto broken = [](const std::string& name, MadeAttribute value) {
    MadeAttributes made = line();
    set(made, name, std::move(value));
    return Given("pmml.nearest_neighbor", 1, kLine, made).fault();
  };
  EXPECT_NE(broken("neighbors", 0), "");
  EXPECT_NE(broken("neighbors", 5), "");
  EXPECT_NE(broken("ranked", 5), "");
  EXPECT_NE(broken("ids", Texts{"i"}), "");
  EXPECT_NE(broken("instances", Reals{}), "");
  EXPECT_NE(broken("text_fields", Ints{1}), "");
  EXPECT_NE(broken("target_numbers", Reals{1, 2, 6, 100, 0, 1, 0, 2}), "");
  EXPECT_NE(broken("target_numbers", Reals{1, 2, 6, 100, 0, 1, 0, -1}), "");
  EXPECT_NE(broken("target_scorings", Texts{"average", "mode"}), "");
  EXPECT_NE(broken("target_value_rows", Ints{0, 2, 0}), "");
}

// Items beer, chips, dip; rules {beer}->{chips} and {beer,chips}->{dip}.
MadeAttributes shopping(bool list) {
  MadeAttributes made{
      {"list", list},
      {"algorithms", Texts{"recommendation", "exclusiveRecommendation", "ruleAssociation"}},
      {"items", 3},
      {"flag_inputs", Ints{}},
      {"set_rows", Ints{0, 1, 2, 4, 5}},
      {"set_items", Ints{0, 1, 0, 1, 2}},
      {"antecedents", Ints{0, 2}},
      {"consequents", Ints{1, 3}}};
  if (list) {
    made.insert(made.end(), {{"pair_items", Ints{0, 1, 2}},
                             {"pair_inputs", Ints{0, 0, 0}},
                             {"pair_values", Values{{Type::String, 0, "beer"},
                                                    {Type::String, 0, "chips"},
                                                    {Type::String, 0, "dip"}}}});
  } else {
    made.insert(made.end(), {{"pair_items", Ints{0, -1, 1, -1, 2, -1}},
                             {"pair_inputs", Ints{0, 0, 1, 1, 2, 2}},
                             {"pair_values", Values{{Type::Double, 1},
                                                    {Type::Double, 0},
                                                    {Type::Double, 1},
                                                    {Type::Double, 0},
                                                    {Type::Double, 1},
                                                    {Type::Double, 0}}}});
    set(made, "flag_inputs", Ints{0, 1, 2});
  }
  return made;
}

std::vector<int64_t> rules(const Column& column, uint32_t row) {
  return {column.integers.begin() + static_cast<ptrdiff_t>(column.offsets[row]),
          column.integers.begin() + static_cast<ptrdiff_t>(column.offsets[row + 1])};
}

using Found = std::vector<int64_t>;
const std::vector<Output> kRules{
    {Type::List, Type::Int32}, {Type::List, Type::Int32}, {Type::List, Type::Int32}};

TEST(PmmlAssociation, SelectsRulesOfFlags) {
  Given given("pmml.association", 3, kRules, shopping(false));
  ASSERT_EQ(given.run({{1, 0, 0}, {1, 1, 0}, {1, 1, 1}, {0, 1, kNan}}), "");
  const std::vector<std::vector<Found>> want{
      {{0}, {0}, {}}, {{0, 1}, {1}, {0}}, {{0, 1}, {}, {0, 1}}, {{}, {}, {}}};
  for (uint32_t row = 0; row < 4; ++row) {
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(rules(given.out(i), row), want[row][i]) << row << i;
  }
  EXPECT_EQ(given.run({{1, 2, 0}}), "here: row 0: 'x1' is neither true nor false");
}

TEST(PmmlAssociation, SelectsRulesOfLists) {
  PlanMaker maker;
  const uint32_t basket = maker.field("basket", Type::List, Type::String);
  std::vector<uint32_t> outs;
  for (int i = 0; i < 3; ++i) outs.push_back(maker.column("out", Type::List, Type::Int32));
  maker.stage("pmml.association", {basket}, outs, shopping(true));
  for (const uint32_t out : outs) maker.output("o" + std::to_string(out), out, Type::List);
  PlanRun run(maker);
  const auto fill = [&](const std::vector<Texts>& rows) {
    run.begin(static_cast<uint32_t>(rows.size()));
    Column& column = run.at(basket);
    column.reset(Type::List, static_cast<uint32_t>(rows.size()), Type::String);
    for (const Texts& row : rows) {
      for (const std::string& item : row) column.texts.push_back(run.frame->strings.intern(item));
      column.end_row();
    }
  };
  fill({{"beer", "bread", "beer"}, {}, {"chips", "beer"}});
  ASSERT_EQ(run.run(), "");
  EXPECT_EQ(rules(run.at(outs[1]), 0), (Found{0}));
  EXPECT_EQ(rules(run.at(outs[1]), 1), (Found{}));
  EXPECT_EQ(rules(run.at(outs[1]), 2), (Found{1}));
  fill({{"beer"}, {}});
  run.at(basket).set_missing(1);
  EXPECT_EQ(run.run(), "here: row 1: 'basket' is missing");
}

TEST(PmmlAssociation, RefusesPartsThatDoNotFit) {
  const auto broken = [](const std::string& name, MadeAttribute value) {
    MadeAttributes made = shopping(false);
    set(made, name, std::move(value));
    return Given("pmml.association", 3, kRules, made).fault();
  };
  EXPECT_NE(broken("set_items", Ints{0, 1, 0, 1, 3}), "");
  EXPECT_NE(broken("antecedents", Ints{0, 4}), "");
  EXPECT_NE(broken("antecedents", Ints{0}), "");
  EXPECT_NE(broken("set_rows", Ints{}), "");
  EXPECT_NE(broken("algorithms", Texts{"recommendation"}), "");
  EXPECT_NE(broken("algorithms", Texts{"a", "b", "c"}), "");
  EXPECT_NE(broken("pair_items", Ints{0, -1, 1, -1, 3, -1}), "");
  EXPECT_NE(broken("flag_inputs", Ints{3}), "");
  EXPECT_NE(broken("items", -1), "");
}

// Rules 0, 1, 2 with confidences .5, .9, .5, behind a row's rules.
struct RuleValues {
  RuleValues(const MadeAttributes& attributes, Output type) {
    in = maker.field("rules", Type::List, Type::Int32);
    out = maker.only("pmml.rule_value", {in}, type.type, attributes, type.element);
  }
  std::string run(const std::vector<Found>& rows) {
    plan.emplace(maker);
    plan->begin(static_cast<uint32_t>(rows.size()));
    Column& column = plan->at(in);
    column.reset(Type::List, static_cast<uint32_t>(rows.size()), Type::Int32);
    for (const Found& row : rows) {
      column.integers.insert(column.integers.end(), row.begin(), row.end());
      column.end_row();
    }
    return plan->run();
  }
  PlanMaker maker;
  uint32_t in = 0, out = 0;
  std::optional<PlanRun> plan;
};

TEST(PmmlRuleValue, TakesTheRuleOfARank) {
  const auto at_rank = [](int rank, bool descending) {
    return MadeAttributes{{"rank", rank},
                          {"many", false},
                          {"keys", Reals{0.5, 0.9, 0.5}},
                          {"descending", descending},
                          {"texts", Texts{"first", "second", "third"}}};
  };
  RuleValues best(at_rank(1, true), {Type::String});
  ASSERT_EQ(best.run({{0, 1, 2}, {0, 2}, {}}), "");
  EXPECT_EQ(best.plan->text(best.out, 0), "second");
  EXPECT_EQ(best.plan->text(best.out, 1), "first");  // of equals the first
  EXPECT_FALSE(best.plan->at(best.out).valid(2));
  RuleValues last(at_rank(3, false), {Type::String});
  ASSERT_EQ(last.run({{0, 1, 2}, {0, 2}}), "");
  EXPECT_EQ(last.plan->text(last.out, 0), "second");
  EXPECT_FALSE(last.plan->at(last.out).valid(1));
}

TEST(PmmlRuleValue, ListsManyAndSets) {
  MadeAttributes numbers{{"rank", 2},
                         {"many", true},
                         {"keys", Reals{0.5, 0.9, 0.7}},
                         {"descending", true},
                         {"numbers", Reals{0.5, 0.9, 0.7}}};
  RuleValues best(numbers, {Type::List, Type::Double});
  ASSERT_EQ(best.run({{0, 1, 2}, {}}), "");
  EXPECT_EQ(best.plan->vector(best.out, 0), (Reals{0.9, 0.7}));
  EXPECT_TRUE(best.plan->at(best.out).valid(1));
  EXPECT_EQ(best.plan->vector(best.out, 1), (Reals{}));
  MadeAttributes sets{{"rank", 1},
                      {"many", false},
                      {"keys", Reals{0.5, 0.9}},
                      {"descending", true},
                      {"texts", Texts{"beer", "chips", "dip"}},
                      {"text_rows", Ints{0, 1, 3}}};
  RuleValues set_values(sets, {Type::List, Type::String});
  ASSERT_EQ(set_values.run({{0, 1}, {0}, {}}), "");
  EXPECT_EQ(set_values.plan->at(set_values.out).row_texts(0).size(), 2U);
  EXPECT_EQ(set_values.plan->at(set_values.out).row_texts(1).size(), 1U);
  EXPECT_FALSE(set_values.plan->at(set_values.out).valid(2));
}

TEST(PmmlRuleValue, RefusesPartsThatDoNotFit) {
  const auto fault = [](MadeAttributes attributes) {
    RuleValues made(attributes, {Type::String});
    auto read = made.maker.read();
    return read.ok() ? "" : read.error().message;
  };
  const MadeAttributes good{{"rank", 1},
                            {"many", false},
                            {"keys", Reals{1, 2}},
                            {"descending", true},
                            {"texts", Texts{"a", "b"}}};
  EXPECT_EQ(fault(good), "");
  MadeAttributes made = good;
  set(made, "rank", 0);
  EXPECT_NE(fault(made), "");
  made = good;
  set(made, "texts", Texts{"a"});
  EXPECT_NE(fault(made), "");
  made = good;
  set(made, "text_rows", Ints{0, 1});
  EXPECT_NE(fault(made), "");
}

TEST(PmmlAnomaly, ScoresPathsAndDistances) {
  Given forest("pmml.anomaly", 1, {{Type::Double}},
               {{"algorithm", std::string("iforest")}, {"sample_size", 5.0}});
  ASSERT_EQ(forest.run({{3.5}, {kNan}}), "");
  EXPECT_NEAR(forest.out(0).reals[0], 0.3525574921994582, 1e-15);
  EXPECT_FALSE(forest.out(0).valid(1));

  PlanMaker maker;
  const uint32_t in = maker.field("distances", Type::Vector);
  const uint32_t out =
      maker.only("pmml.anomaly", {in}, Type::Double,
                 {{"algorithm", std::string("clusterMeanDist")}, {"means", Reals{0.5, 2}}});
  PlanRun run(maker);
  run.begin(2);
  run.vectors(in, {{3, 1}, {1, 1}});
  ASSERT_EQ(run.run(), "");
  EXPECT_EQ(run.at(out).reals, (Reals{0.5, 2}));
  run.begin(1);
  run.vectors(in, {{3}});
  EXPECT_NE(run.run(), "");
}

TEST(PmmlAnomaly, RefusesPartsThatDoNotFit) {
  const auto fault = [](const MadeAttributes& made) {
    return Given("pmml.anomaly", 1, {{Type::Double}}, made).fault();
  };
  EXPECT_NE(fault({{"algorithm", std::string("iforest")}, {"sample_size", 1.0}}), "");
  EXPECT_NE(fault({{"algorithm", std::string("iforest")}, {"sample_size", kNan}}), "");
  EXPECT_NE(fault({{"algorithm", std::string("iforest")}}), "");
  EXPECT_NE(fault({{"algorithm", std::string("clusterMeanDist")}, {"means", Reals{}}}), "");
  EXPECT_NE(fault({{"algorithm", std::string("lof")}}), "");
}

MadeAttributes process(const std::string& kernel) {
  return {{"kernel", kernel},         {"gamma", 2.0},
          {"noise_variance", 0.1},    {"degree", 1.5},
          {"lambdas", Reals{0.5, 2}}, {"instances", Reals{0, 0, 1, 3}},
          {"targets", Reals{1, -2}}};
}

// k (K + noise)^-1 y and its error, of two instances solved by hand.
void expect_process(const std::string& name, double (*kernel)(double, double)) {
  Given given("pmml.gaussian_process", 2, {{Type::Double}, {Type::Double}}, process(name));
  ASSERT_EQ(given.run({{0.25, 1}, {kNan, 1}}), "");
  const auto k = [&](double x, double y) { return 2 * kernel(std::abs(x) / 0.5, std::abs(y) / 2); };
  const double d = 2.1, o = k(1, 3), k0 = k(0.25, 1), k1 = k(0.75, 2);
  const double det = d * d - o * o;
  const double mean = (k0 * (d * 1 - o * -2) + k1 * (-o * 1 + d * -2)) / det;
  const double variance = 2.1 - (k0 * (d * k0 - o * k1) + k1 * (-o * k0 + d * k1)) / det;
  EXPECT_NEAR(given.out(0).reals[0], mean, 1e-14) << name;
  EXPECT_NEAR(given.out(1).reals[0], std::sqrt(variance), 1e-14) << name;
  EXPECT_FALSE(given.out(0).valid(1));
  EXPECT_FALSE(given.out(1).valid(1));
}

TEST(PmmlGaussianProcess, HasTheKernelsOfTheStandard) {
  expect_process("squaredExponential",
                 [](double x, double y) { return std::exp(-0.5 * (x * x + y * y)); });
  expect_process("absoluteExponential", [](double x, double y) { return std::exp(-(x + y)); });
  expect_process("generalizedExponential", [](double x, double y) {
    return std::exp(-(std::pow(x, 1.5) + std::pow(y, 1.5)));
  });
}

TEST(PmmlGaussianProcess, RefusesWhatHasNoAnswer) {
  const auto broken = [](const std::string& name, MadeAttribute value) {
    MadeAttributes made = process("squaredExponential");
    set(made, name, std::move(value));
    return Given("pmml.gaussian_process", 2, {{Type::Double}}, made).fault();
  };
  EXPECT_NE(broken("noise_variance", -2.0).find("not positive definite"), std::string::npos);
  EXPECT_NE(broken("gamma", kNan), "");
  EXPECT_NE(broken("lambdas", Reals{1}), "");
  EXPECT_NE(broken("instances", Reals{0, 0, 1}), "");
  EXPECT_NE(broken("targets", Reals{}), "");
  EXPECT_NE(broken("kernel", std::string("matern")), "");
  MadeAttributes large = process("squaredExponential");
  set(large, "instances", Reals(2 * 4097, 0));
  set(large, "targets", Reals(4097, 0));
  const std::string text = Given("pmml.gaussian_process", 2, {{Type::Double}}, large).fault();
  EXPECT_NE(text.find("the most are 4096"), std::string::npos);
}

}  // namespace
}  // namespace serval::tabular
