// pmml.association, pmml.rule_value, pmml.anomaly and pmml.gaussian_process: which rules are
// selected and how they are ranked, scores and kernels against their plain formulas, and plans that
// do not fit.
#include "support/pmml_stage.h"

namespace serval::tabular {
namespace {

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
const std::vector<MadeOutput> kRules{
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

// Rules 0, 1, 2 with confidences .5, .9, .5, after a stage that selects a row's rules.
struct RuleValues {
  RuleValues(const MadeAttributes& attributes, MadeOutput type) {
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
  EXPECT_EQ(best.plan->text(best.out, 1), "first");  // the first of equals
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

// k (K + noise)^-1 y and its error, for two instances solved by hand.
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
  EXPECT_NE(text.find("the limit is 4096"), std::string::npos);
}

}  // namespace
}  // namespace serval::tabular
