// pmml.clustering and pmml.nearest_neighbor: measures, ranks and ties, missing values, and plans
// with parts that do not fit.
#include "support/pmml_stage.h"

namespace serval::tabular {
namespace {

MadeAttributes measure(const std::string& name, size_t fields) {
  return {{"measure", name},
          {"compare", Texts(fields, "absDiff")},
          {"field_weights", Reals(fields, 1)},
          {"similarity_scales", Reals(fields, 1)},
          {"missing_weights", Reals(fields, 1)}};
}

const std::vector<MadeOutput> kCluster{{Type::String}, {Type::Vector}};

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
  EXPECT_DOUBLE_EQ(got[0], 2 * 0.5 + 10);  // half if the difference equals the scale
  EXPECT_DOUBLE_EQ(got[1], 2 * std::exp(-std::log(2.0) * 2.5 * 2.5 / 0.25));
  set(made, "compare", Texts{"equal", "equal"});
  EXPECT_EQ(distances(made, {0, 4}), (Reals{2, 10}));
}

TEST(PmmlClustering, MakesUpForWhatIsMissing) {
  MadeAttributes made = clusters("squaredEuclidean");
  set(made, "missing_weights", Reals{1, 3});
  Given given("pmml.clustering", 2, kCluster, made);
  const std::vector<Reals> rows{{1, kNan}, {kNan, 2}, {kNan, kNan}};
  EXPECT_EQ(given.run(rows), "here: row 2: all its fields are missing");
  ASSERT_EQ(given.run(rows, true), "");
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
  EXPECT_EQ(given.text(0, 2), "near");  // the first of equals
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
  // Compared with a: one 11, no 10, one 01, two 00. Compared with b: no 11, one 10, one 01, two 00.
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

// Instances at 0, 1, 2, 10 on a line, with a number and a class each; three neighbours are used.
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

const std::vector<MadeOutput> kLine{
    {Type::Double}, {Type::String}, {Type::List, Type::String}, {Type::Vector}};

TEST(PmmlNearestNeighbor, RanksAndScores) {
  Given given("pmml.nearest_neighbor", 1, kLine, line());
  EXPECT_EQ(given.run({{kNan}}), "here: row 0: all its fields are missing");
  ASSERT_EQ(given.run({{0.75}, {kNan}, {9}}, true), "");
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
  const double a = 1 / 1.25, b = 1 / 0.75, c = 1 / 1.75;  // from the distances .75, .25, 1.25
  EXPECT_DOUBLE_EQ(scored("weightedAverage", 3, 0.75), (2 * b + 1 * a + 6 * c) / (a + b + c));
}

TEST(PmmlNearestNeighbor, BreaksTies) {
  // Two neighbours with one vote each: the class with more instances wins, then the smaller one.
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
  // Two instances at one distance: the first in the table wins.
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

}  // namespace
}  // namespace serval::tabular
