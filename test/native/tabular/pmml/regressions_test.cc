// pmml.regression and pmml.general_regression: links, normalizations, missing values, and plans
// with parts that do not fit. Numbers beside a formula are its plain calculation; worked examples
// are those of the PMML standard's pages.
#include "support/pmml_stage.h"

namespace serval::tabular {
namespace {

MadeValue text(const std::string& value) { return {Type::String, 0, value}; }
MadeValue number(double value) { return {Type::Double, value}; }

// Tables with only an intercept, without predictors.
MadeAttributes tables(Reals intercepts, const std::string& normalization, bool classification) {
  const Ints none(intercepts.size() + 1, 0);
  return {{"classification", classification},
          {"ordinal", false},
          {"normalization", normalization},
          {"intercepts", std::move(intercepts)},
          {"numeric_rows", none},
          {"numeric_inputs", Ints{}},
          {"numeric_exponents", Reals{}},
          {"numeric_coefficients", Reals{}},
          {"category_rows", none},
          {"category_inputs", Ints{}},
          {"category_values", Values{}},
          {"category_coefficients", Reals{}},
          {"product_rows", none},
          {"product_coefficients", Reals{}},
          {"product_parts", Ints{0}},
          {"product_inputs", Ints{}}};
}

// The standard's example of a linear regression: number_of_claims from age, salary and car
// location.
MadeAttributes claims() {
  MadeAttributes made = tables({132.37}, "none", false);
  set(made, "numeric_rows", Ints{0, 2});
  set(made, "numeric_inputs", Ints{0, 1});
  set(made, "numeric_exponents", Reals{1, 1});
  set(made, "numeric_coefficients", Reals{7.1, 0.01});
  set(made, "category_rows", Ints{0, 2});
  set(made, "category_inputs", Ints{2, 2});
  set(made, "category_values", Values{text("carpark"), text("street")});
  set(made, "category_coefficients", Reals{41.1, 325.03});
  return made;
}

TEST(PmmlRegression, SumsTheExampleOfTheStandard) {
  PlanMaker maker;
  const uint32_t age = maker.field("age", Type::Double);
  const uint32_t salary = maker.field("salary", Type::Double);
  const uint32_t location = maker.field("car_location", Type::String);
  const uint32_t out =
      maker.only("pmml.regression", {age, salary, location}, Type::Double, claims());
  PlanRun run(maker);
  run.begin(5);
  run.reals(age, {30, 30, 30, 30, 30});
  run.reals(salary, {1000, 1000, 1000, 1000, 1000});
  run.texts(location, {"carpark", "street", "moon", "", "street"});
  run.at(location).set_missing(3);
  run.at(age).set_missing(4);
  ASSERT_EQ(run.run(), "");
  const Reals& sums = run.at(out).reals;
  EXPECT_DOUBLE_EQ(sums[0], 132.37 + 7.1 * 30 + 0.01 * 1000 + 41.1);
  EXPECT_DOUBLE_EQ(sums[1], 132.37 + 7.1 * 30 + 0.01 * 1000 + 325.03);
  EXPECT_DOUBLE_EQ(sums[2], 132.37 + 7.1 * 30 + 0.01 * 1000);
  EXPECT_DOUBLE_EQ(sums[3], sums[2]);  // a missing category is left out
  EXPECT_FALSE(run.at(out).valid(4));  // a missing number is not
}

TEST(PmmlRegression, TakesAnInvalidValueThatWasLeft) {
  PlanMaker maker;
  MadeAttributes attributes = tables({1}, "none", false);
  set(attributes, "numeric_rows", Ints{0, 1});
  set(attributes, "numeric_inputs", Ints{0});
  set(attributes, "numeric_exponents", Reals{2});
  set(attributes, "numeric_coefficients", Reals{3});
  const uint32_t x = maker.field("x", Type::Double);
  const uint32_t out = maker.only("pmml.regression", {x}, Type::Double, attributes);
  PlanRun run(maker);
  run.begin(2);
  run.reals(x, {2, -4});
  run.at(x).set_state(1, State::Invalid);
  ASSERT_EQ(run.run(), "");
  EXPECT_EQ(run.at(out).reals, (Reals{13, 49}));
}

TEST(PmmlRegression, MultipliesTerms) {
  PlanMaker maker;
  MadeAttributes attributes = tables({0.5}, "none", false);
  set(attributes, "product_rows", Ints{0, 2});
  set(attributes, "product_coefficients", Reals{2, -1});
  set(attributes, "product_parts", Ints{0, 3, 4});
  set(attributes, "product_inputs", Ints{0, 1, 0, 1});
  const uint32_t x = maker.field("x", Type::Double);
  const uint32_t y = maker.field("y", Type::Int32);
  const uint32_t out = maker.only("pmml.regression", {x, y}, Type::Double, attributes);
  PlanRun run(maker);
  run.begin(2);
  run.reals(x, {3, 1});
  run.integers(y, {5, 1}, Type::Int32);
  run.at(y).set_missing(1);
  ASSERT_EQ(run.run(), "");
  EXPECT_DOUBLE_EQ(run.at(out).reals[0], 0.5 + 2 * 3 * 5 * 3 - 5);
  EXPECT_FALSE(run.at(out).valid(1));
}

// The result of one table with that intercept.
double linked(const std::string& normalization, double x) {
  PlanMaker maker;
  const uint32_t unused = maker.field("x", Type::Double);
  const uint32_t out =
      maker.only("pmml.regression", {unused}, Type::Double, tables({x}, normalization, false));
  PlanRun run(maker);
  run.begin(1);
  run.reals(unused, {0});
  EXPECT_EQ(run.run(), "");
  return run.at(out).reals[0];
}

TEST(PmmlRegression, NormalizesNumbers) {
  EXPECT_DOUBLE_EQ(linked("none", -3), -3);
  EXPECT_DOUBLE_EQ(linked("exp", 2), std::exp(2));
  for (const char* name : {"logit", "softmax"}) {
    EXPECT_DOUBLE_EQ(linked(name, 2), 1 / (1 + std::exp(-2)));
    EXPECT_EQ(linked(name, 1000), 1);
    EXPECT_EQ(linked(name, -1000), 0);
  }
  EXPECT_NEAR(linked("probit", 1.96), 0.97500210485177963, 1e-15);
  EXPECT_NEAR(linked("probit", -8), 6.2209605742717375e-16, 1e-29);  // the far tail too
  EXPECT_DOUBLE_EQ(linked("cloglog", 0.3), 1 - std::exp(-std::exp(0.3)));
  EXPECT_DOUBLE_EQ(linked("loglog", 0.3), std::exp(-std::exp(-0.3)));
  EXPECT_DOUBLE_EQ(linked("cauchit", 1), 0.75);
}

Reals shares(Reals intercepts, const std::string& normalization, bool ordinal = false) {
  PlanMaker maker;
  const uint32_t unused = maker.field("x", Type::Double);
  MadeAttributes attributes = tables(std::move(intercepts), normalization, true);
  set(attributes, "ordinal", ordinal);
  const uint32_t out = maker.only("pmml.regression", {unused}, Type::Vector, attributes);
  PlanRun run(maker);
  run.begin(1);
  run.reals(unused, {0});
  EXPECT_EQ(run.run(), "");
  return run.vector(out, 0);
}

void expect_near(const Reals& got, const Reals& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-15) << i;
}

TEST(PmmlRegression, NormalizesCategories) {
  expect_near(shares({1, 2, 5}, "simplemax"), {0.125, 0.25, 0.625});
  expect_near(shares({1000, 1000}, "softmax"), {0.5, 0.5});
  // The second table is empty: the first one's logit.
  expect_near(shares({3, 0}, "softmax"), {1 / (1 + std::exp(-3.0)), 1 - 1 / (1 + std::exp(-3.0))});
  expect_near(shares({0.7, 99}, "none"), {0.7, 0.3});
  expect_near(shares({1.7, 99}, "none"), {1, 0});  // clamped to [0, 1]
  expect_near(shares({0.2, 0.3, 99}, "none"), {0.2, 0.3, 0.5});
  expect_near(shares({0, 99}, "probit"), {0.5, 0.5});
  const double a = 1 / (1 + std::exp(-1.0)), b = 1 / (1 + std::exp(-2.0)), c = 0.5;
  expect_near(shares({1, 2, 0}, "logit"), {a / (a + b + c), b / (a + b + c), c / (a + b + c)});
  expect_near(shares({0, 2, 99}, "logit", true), {0.5, b - 0.5, 1 - b});
}

// Returns the reason why a plan with these attributes is refused.
std::string fault(const MadeAttributes& attributes, Type type = Type::Double,
                  const std::string& kind = "pmml.regression") {
  PlanMaker maker;
  const uint32_t x = maker.field("x", Type::Double);
  maker.only(kind, {x}, type, attributes);
  auto read = maker.read();
  return read.ok() ? "" : read.error().message;
}

TEST(PmmlRegression, RefusesPartsThatDoNotFit) {
  const auto broken = [](const std::string& name, MadeAttribute value) {
    MadeAttributes made = tables({1}, "none", false);
    set(made, name, std::move(value));
    return fault(made);
  };
  EXPECT_NE(broken("numeric_rows", Ints{0, 1}), "");
  EXPECT_NE(broken("numeric_rows", Ints{0}), "");
  EXPECT_NE(broken("numeric_rows", Ints{}), "");
  EXPECT_NE(broken("category_rows", Ints{-1, 0}), "");
  EXPECT_NE(broken("product_parts", Ints{}), "");
  EXPECT_NE(broken("normalization", std::string("simplemax")), "");
  EXPECT_NE(broken("normalization", std::string("sqrt")), "");
  EXPECT_NE(fault(tables({}, "none", false)), "");
  EXPECT_NE(fault(tables({1, 2}, "none", false)), "");
  EXPECT_NE(fault(tables({1}, "none", true), Type::Vector), "");
  EXPECT_NE(fault(tables({1, 2, 3}, "cauchit", true), Type::Vector), "");
  EXPECT_NE(fault(tables({1, 2}, "exp", true), Type::Vector), "");
  for (const int32_t input : {-1, 1, 1 << 30}) {
    MadeAttributes made = tables({1}, "none", false);
    set(made, "numeric_rows", Ints{0, 1});
    set(made, "numeric_inputs", Ints{input});
    set(made, "numeric_exponents", Reals{1});
    set(made, "numeric_coefficients", Reals{1});
    EXPECT_NE(fault(made).find("do not fit"), std::string::npos);
  }
}

TEST(PmmlRegression, RefusesAFieldThatIsTextAndNumber) {
  MadeAttributes made = tables({1}, "none", false);
  set(made, "numeric_rows", Ints{0, 1});
  set(made, "numeric_inputs", Ints{0});
  set(made, "numeric_exponents", Reals{1});
  set(made, "numeric_coefficients", Reals{1});
  set(made, "category_rows", Ints{0, 1});
  set(made, "category_inputs", Ints{0});
  set(made, "category_values", Values{text("a")});
  set(made, "category_coefficients", Reals{1});
  EXPECT_NE(fault(made).find("'x' is used both as text and as a number"), std::string::npos);
}

TEST(PmmlRegression, RefusesAColumnOfAnotherType) {
  PlanMaker maker;
  const uint32_t x = maker.field("x", Type::Any);
  maker.only("pmml.regression", {x}, Type::Double, tables({1}, "none", false));
  PlanRun run(maker);
  run.begin(1);
  run.texts(x, {"3"});
  EXPECT_NE(run.run().find("'x': expected numbers, got String"), std::string::npos);
}

// The standard's example: jobcat from sex, minority in sex, age and work. Inputs: sex, minority,
// age, work.
MadeAttributes job_designs() {
  return {{"factor_rows", Ints{0, 1, 3, 5, 5, 5}},
          {"factor_inputs", Ints{0, 0, 1, 0, 1}},
          {"factor_values", Values{number(0), number(0), number(0), number(1), number(0)}},
          {"factor_contrasts", Ints{-1, -1, -1, -1, -1}},
          {"contrast_rows", Ints{0}},
          {"contrast_values", Values{}},
          {"contrast_numbers", Reals{}},
          {"covariate_rows", Ints{0, 0, 0, 0, 1, 2}},
          {"covariate_inputs", Ints{2, 3}},
          {"covariate_exponents", Reals{1, 1}},
          {"offset_value", 3.0},
          {"trials_value", 1.0}};
}

// The results for (sex, minority, age, work); NaN is missing.
PlanRun job_run(MadeAttributes attributes, Type type, const std::vector<Reals>& rows, uint32_t& out,
                std::string& error, bool null_for_invalid = false) {
  PlanMaker maker;
  std::vector<uint32_t> fields;
  for (const char* name : {"sex", "minority", "age", "work"}) {
    fields.push_back(maker.field(name, Type::Double));
  }
  out = maker.only("pmml.general_regression", fields, type, attributes);
  PlanRun run(maker);
  run.begin(static_cast<uint32_t>(rows.size()));
  for (uint32_t f = 0; f < fields.size(); ++f) {
    Reals column;
    for (const Reals& row : rows) column.push_back(row[f]);
    run.reals(fields[f], column);
    for (uint32_t r = 0; r < rows.size(); ++r) {
      if (std::isnan(column[r])) run.at(fields[f]).set_missing(r);
    }
  }
  error = run.run(null_for_invalid);
  return run;
}

MadeAttributes job_linear(const std::string& link, double parameter) {
  MadeAttributes made = job_designs();
  made.insert(made.end(), {{"model", std::string("generalized")},
                           {"classification", false},
                           {"link", link},
                           {"link_parameter", parameter},
                           {"equation_rows", Ints{0, 6}},
                           {"equation_designs", Ints{-1, 0, 1, 2, 3, 4}},
                           {"equation_betas",
                            Reals{-2.30824444845005, -0.268177596945098, -0.169104566719988,
                                  -0.219215962160056, 0.00427629446211706, -0.00397117497757107}}});
  return made;
}

TEST(PmmlGeneralRegression, AnswersTheExampleOfTheStandard) {
  uint32_t out = 0;
  std::string error;
  PlanRun run = job_run(job_linear("power", -1), Type::Double,
                        {{1, 0, 25, 4}, {kNan, 0, 25, 4}, {1, 0, 25, kNan}}, out, error);
  ASSERT_EQ(error, "");
  EXPECT_NEAR(run.at(out).reals[0], 1.7744268679597344, 1e-15);
  EXPECT_FALSE(run.at(out).valid(1));
  EXPECT_FALSE(run.at(out).valid(2));
}

TEST(PmmlGeneralRegression, HasTheLinksOfTheStandard) {
  const auto linked_at = [](const std::string& link, double parameter) {
    uint32_t out = 0;
    std::string error;
    PlanRun run = job_run(job_linear(link, parameter), Type::Double, {{1, 0, 25, 4}}, out, error);
    EXPECT_EQ(error, "");
    return run.at(out).reals[0];
  };
  const double x = linked_at("identity", 0);
  EXPECT_DOUBLE_EQ(linked_at("log", 0), std::exp(x));
  EXPECT_DOUBLE_EQ(linked_at("logc", 0), 1 - std::exp(x));
  EXPECT_DOUBLE_EQ(linked_at("logit", 0), 1 / (1 + std::exp(-x)));
  EXPECT_DOUBLE_EQ(linked_at("negbin", 2), 1 / (2 * (std::exp(-x) - 1)));
  EXPECT_DOUBLE_EQ(linked_at("oddspower", 0), 1 / (1 + std::exp(-x)));
  EXPECT_DOUBLE_EQ(linked_at("oddspower", 0.5), 1 / (1 + std::pow(1 + 0.5 * x, -2)));
  EXPECT_DOUBLE_EQ(linked_at("power", 0), std::exp(x));
  EXPECT_DOUBLE_EQ(linked_at("power", 2), std::sqrt(x));
}

MadeAttributes job_ordinal() {
  MadeAttributes made = job_designs();
  set(made, "offset_value", 0.0);
  Ints rows{0}, designs;
  Reals betas;
  for (const double intercept : {-0.683, 0.723, 1.104, 1.922, 3.386, 4.006}) {
    designs.insert(designs.end(), {-1, 0, 1, 2, 3, 4});
    betas.insert(betas.end(), {intercept, 1.096, 0.957, 1.149, -0.067, 0.060});
    rows.push_back(static_cast<int32_t>(designs.size()));
  }
  made.insert(made.end(), {{"model", std::string("ordinal")},
                           {"classification", true},
                           {"link", std::string("logit")},
                           {"equation_rows", rows},
                           {"equation_designs", designs},
                           {"equation_betas", betas}});
  return made;
}

TEST(PmmlGeneralRegression, CumulatesOrdinalCategories) {
  uint32_t out = 0;
  std::string error;
  PlanRun run = job_run(job_ordinal(), Type::Vector, {{1, 0, 25, 4}, {1, kNan, 25, 4}}, out, error);
  ASSERT_EQ(error, "");
  const Reals got = run.vector(out, 0);
  const auto up_to = [](double intercept) {
    return 1 / (1 + std::exp(-(intercept + 1.149 - 0.067 * 25 + 0.060 * 4)));
  };
  expect_near(got, {up_to(-0.683), up_to(0.723) - up_to(-0.683), up_to(1.104) - up_to(0.723),
                    up_to(1.922) - up_to(1.104), up_to(3.386) - up_to(1.922),
                    up_to(4.006) - up_to(3.386), 1 - up_to(4.006)});
  EXPECT_FALSE(run.at(out).valid(1));
}

TEST(PmmlGeneralRegression, ContrastsOfAFactor) {
  MadeAttributes made = job_linear("identity", 0);
  set(made, "offset_value", 0.0);
  set(made, "factor_contrasts", Ints{0, -1, -1, -1, -1});
  set(made, "contrast_rows", Ints{0, 2});
  set(made, "contrast_values", Values{number(0), number(1)});
  set(made, "contrast_numbers", Reals{0.5, -0.5});
  set(made, "equation_rows", Ints{0, 1});
  set(made, "equation_designs", Ints{0});
  set(made, "equation_betas", Reals{4});
  uint32_t out = 0;
  std::string error;
  PlanRun run = job_run(made, Type::Double, {{0, 0, 1, 1}, {1, 0, 1, 1}}, out, error);
  ASSERT_EQ(error, "");
  EXPECT_EQ(run.at(out).reals, (Reals{2, -2}));
  job_run(made, Type::Double, {{0, 0, 1, 1}, {7, 0, 1, 1}}, out, error);
  EXPECT_EQ(error, "here: row 1: a factor's value is not in its contrast matrix");
  PlanRun lenient = job_run(made, Type::Double, {{0, 0, 1, 1}, {7, 0, 1, 1}}, out, error, true);
  EXPECT_EQ(error, "");
  EXPECT_FALSE(lenient.at(out).valid(1));
}

MadeAttributes cox(bool strata) {
  MadeAttributes made = job_designs();
  set(made, "offset_value", 0.0);
  made.insert(made.end(), {{"model", std::string("cox")},
                           {"classification", false},
                           {"equation_rows", Ints{0, 1}},
                           {"equation_designs", Ints{4}},
                           {"equation_betas", Reals{0.25}},
                           {"reference", 0.5},
                           {"time_input", 2}});
  if (strata) {
    made.insert(made.end(), {{"stratum_input", 1},
                             {"baseline_strata", Values{number(1), number(3)}},
                             {"baseline_rows", Ints{0, 1, 3}},
                             {"baseline_times", Reals{10, 10, 20}},
                             {"baseline_hazards", Reals{0.1, 0.2, 0.4}},
                             {"baseline_max_times", Reals{15, 30}}});
  } else {
    made.insert(made.end(), {{"baseline_rows", Ints{0, 2}},
                             {"baseline_times", Reals{10, 20}},
                             {"baseline_hazards", Reals{0.1, 0.4}},
                             {"baseline_max_times", Reals{30}}});
  }
  return made;
}

TEST(PmmlGeneralRegression, LooksUpBaselineHazards) {
  uint32_t out = 0;
  std::string error;
  PlanRun run = job_run(cox(false), Type::Double,
                        {{0, 0, 9, 4},
                         {0, 0, 10, 4},
                         {0, 0, 19.9, 4},
                         {0, 0, 30, 4},
                         {0, 0, 30.1, 4},
                         {0, 0, 10, kNan}},
                        out, error);
  ASSERT_EQ(error, "");
  const Reals& got = run.at(out).reals;
  EXPECT_EQ(got[0], 0);
  EXPECT_DOUBLE_EQ(got[1], 0.1 * std::exp(0.5));
  EXPECT_DOUBLE_EQ(got[2], got[1]);
  EXPECT_DOUBLE_EQ(got[3], 0.4 * std::exp(0.5));
  EXPECT_FALSE(run.at(out).valid(4));
  EXPECT_FALSE(run.at(out).valid(5));
  job_run(cox(false), Type::Double, {{0, 0, kNan, 4}}, out, error);
  EXPECT_EQ(error, "here: row 0: 'age' is missing");
}

TEST(PmmlGeneralRegression, LooksUpStrata) {
  uint32_t out = 0;
  std::string error;
  PlanRun run = job_run(cox(true), Type::Double,
                        {{0, 1, 12, 2}, {0, 3, 12, 2}, {0, 3, 25, 2}, {0, 2, 12, 2}}, out, error);
  ASSERT_EQ(error, "");
  EXPECT_EQ(run.at(out).reals[0], 0.1);
  EXPECT_EQ(run.at(out).reals[1], 0.2);
  EXPECT_EQ(run.at(out).reals[2], 0.4);
  EXPECT_FALSE(run.at(out).valid(3));
}

TEST(PmmlGeneralRegression, RefusesPartsThatDoNotFit) {
  const auto broken = [](MadeAttributes made, const std::string& name, MadeAttribute value) {
    set(made, name, std::move(value));
    return fault(made, Type::Double, "pmml.general_regression");
  };
  const std::string kind = "pmml.general_regression";
  EXPECT_NE(broken(job_linear("power", 1), "link", std::string("tangent")), "");
  EXPECT_NE(broken(job_linear("power", 1), "model", std::string("quadratic")), "");
  EXPECT_NE(broken(job_linear("power", 1), "model", std::string("ordinal")), "");
  EXPECT_NE(broken(job_linear("power", 1), "equation_designs", Ints{-2, 0, 1, 2, 3, 4}), "");
  EXPECT_NE(broken(job_linear("power", 1), "equation_designs", Ints{5, 0, 1, 2, 3, 4}), "");
  EXPECT_NE(broken(job_linear("power", 1), "offset_input", 9), "");
  EXPECT_NE(broken(cox(false), "baseline_times", Reals{20, 10}), "");
  EXPECT_NE(broken(cox(false), "baseline_rows", Ints{0, 0}), "");
  EXPECT_NE(broken(cox(false), "time_input", -1), "");
}

}  // namespace
}  // namespace serval::tabular
