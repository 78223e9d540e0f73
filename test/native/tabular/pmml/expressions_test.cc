// pmml.field, pmml.aggregate and the stages of table-based expressions: single values, lists,
// points, intervals, rows of a table and words of a text, against their written-out meaning; and
// the inputs that they refuse.
#include "support/pmml_stage.h"

namespace serval::tabular {
namespace {

// Runs one output over a column of numbers; NaN is missing, in inputs and results.
Reals numbers(const std::string& kind, const MadeAttributes& attributes, const Reals& given) {
  Given stage(kind, 1, {{Type::Double}}, attributes);
  std::vector<Reals> rows;
  for (const double each : given) rows.push_back({each});
  EXPECT_EQ(stage.run(rows), "");
  Reals answered;
  for (uint32_t row = 0; row < given.size(); ++row) {
    const bool there = stage.out(0).state(row) != State::Missing;
    answered.push_back(there ? stage.out(0).reals[row] : kNan);
  }
  return answered;
}

void expect_equal(const Reals& got, const Reals& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) EXPECT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
    else EXPECT_DOUBLE_EQ(got[i], want[i]) << i;
  }
}

// A field with the range [0, 9]; -1 is missing, 5 is invalid.
MadeAttributes field(const MadeAttributes& more = {}) {
  MadeAttributes made{{"field", "x"},
                      {"intervals", Reals{0, 9, 1, 1}},
                      {"missing_values", Values{{Type::Double, -1}}},
                      {"invalid_values", Values{{Type::Double, 5}}}};
  made.insert(made.end(), more.begin(), more.end());
  return made;
}

TEST(PmmlField, TreatsMissingThenInvalidThenExtremeValues) {
  const Reals given{3, -1, kNan, 9};
  expect_equal(numbers("pmml.field", field(), given), {3, kNan, kNan, 9});
  const MadeAttributes replaced = field({{"missing_value", Values{{Type::Double, 7}}}});
  expect_equal(numbers("pmml.field", replaced, given), {3, 7, 7, 9});
  const MadeAttributes lenient = field({{"invalid", "as_missing"}});
  expect_equal(numbers("pmml.field", lenient, {3, 5, 11}), {3, kNan, kNan});
  const MadeAttributes kept = field({{"invalid", "as_is"}});
  expect_equal(numbers("pmml.field", kept, {3, 5, 11}), {3, 5, 11});
  const MadeAttributes other =
      field({{"invalid", "replace"}, {"invalid_value", Values{{Type::Double, 4}}}});
  expect_equal(numbers("pmml.field", other, {3, 5, 11}), {3, 4, 4});
  const MadeAttributes clipped =
      field({{"outliers", "as_extreme"}, {"low", 2.0}, {"high", 8.0}, {"invalid", "as_missing"}});
  expect_equal(numbers("pmml.field", clipped, {1, 3, 9, 11}), {2, 3, 8, kNan});
  const MadeAttributes dropped = field({{"outliers", "as_missing"},
                                        {"low", 2.0},
                                        {"high", 8.0},
                                        {"missing_value", Values{{Type::Double, 7}}}});
  expect_equal(numbers("pmml.field", dropped, {1, 3, 9}), {7, 3, 7});
}

TEST(PmmlField, RefusesRowsByName) {
  Given strict("pmml.field", 1, {{Type::Double}}, field());
  EXPECT_EQ(strict.run({{1}, {11}}), "here: row 1: field 'x': value \"11.0\" is not valid");
  EXPECT_EQ(strict.run({{1}, {11}, {2}}, true), "");
  EXPECT_EQ(strict.out(0).state(1), State::Missing);
  EXPECT_EQ(strict.out(0).reals[2], 2);
  Given needed("pmml.field", 1, {{Type::Double}}, field({{"refuse_missing", true}}));
  EXPECT_EQ(needed.run({{1}, {kNan}}), "here: row 1: field 'x' must not be missing");
}

// A stage over one list of doubles in each row; a row of only {kNan} is missing.
struct Lists {
  Lists(const std::string& kind, const MadeAttributes& attributes, MadeOutput type) {
    in = maker.field("x", Type::List, Type::Double);
    out = maker.only(kind, {in}, type.type, attributes, type.element);
  }
  std::string run(const std::vector<Reals>& rows, bool null_for_invalid = false) {
    plan.emplace(maker);
    plan->begin(static_cast<uint32_t>(rows.size()));
    Column& column = plan->at(in);
    column.reset(Type::List, static_cast<uint32_t>(rows.size()), Type::Double);
    for (uint32_t row = 0; row < rows.size(); ++row) {
      const bool missing = rows[row].size() == 1 && std::isnan(rows[row][0]);
      if (missing) column.set_missing(row);
      else column.reals.insert(column.reals.end(), rows[row].begin(), rows[row].end());
      column.end_row();
    }
    return plan->run(null_for_invalid);
  }
  PlanMaker maker;
  uint32_t in = 0, out = 0;
  std::optional<PlanRun> plan;
};

TEST(PmmlField, TreatsEachValueOfAList) {
  Lists lenient("pmml.field", field({{"invalid", "as_missing"}}), {Type::List, Type::Double});
  ASSERT_EQ(lenient.run({{1, -1, 11, kNan, 4}, {}, {kNan}, {5}}), "");
  expect_equal(lenient.plan->vector(lenient.out, 0), {1, 4});
  expect_equal(lenient.plan->vector(lenient.out, 1), {});
  EXPECT_EQ(lenient.plan->at(lenient.out).state(1), State::Valid);
  EXPECT_EQ(lenient.plan->at(lenient.out).state(2), State::Missing);
  expect_equal(lenient.plan->vector(lenient.out, 3), {});
  Lists filled("pmml.field", field({{"missing_value", Values{{Type::Double, 7}}}}),
               {Type::List, Type::Double});
  ASSERT_EQ(filled.run({{1, -1, kNan}, {kNan}}), "");
  expect_equal(filled.plan->vector(filled.out, 0), {1, 7, 7});
  EXPECT_EQ(filled.plan->at(filled.out).state(1), State::Missing);
  Lists strict("pmml.field", field({{"refuse_missing", true}}), {Type::List, Type::Double});
  EXPECT_EQ(strict.run({{1}, {2, 11}}), "here: row 1: field 'x': value \"11.0\" is not valid");
  EXPECT_EQ(strict.run({{1}, {kNan}}), "here: row 1: field 'x' must not be missing");
}

TEST(PmmlAggregate, CountsSumsAndFindsExtremes) {
  const std::vector<Reals> rows{{4, kNan, 1, 2.5}, {-3}, {kNan}};
  const std::vector<std::pair<std::string, Reals>> want{{"sum", {7.5, -3, kNan}},
                                                        {"average", {2.5, -3, kNan}},
                                                        {"min", {1, -3, kNan}},
                                                        {"max", {4, -3, kNan}}};
  for (const auto& [name, answers] : want) {
    Lists made("pmml.aggregate", {{"function", name}}, {Type::Double});
    ASSERT_EQ(made.run(rows), "") << name;
    const Column& out = made.plan->at(made.out);
    expect_equal({out.reals[0], out.reals[1], out.valid(2) ? out.reals[2] : kNan}, answers);
  }
  Lists count("pmml.aggregate", {{"function", "count"}}, {Type::Int32});
  ASSERT_EQ(count.run({{4, kNan, 1}, {}, {kNan}}), "");
  EXPECT_EQ(count.plan->at(count.out).integers[0], 2);
  EXPECT_EQ(count.plan->at(count.out).integers[1], 0);
  EXPECT_EQ(count.plan->at(count.out).state(2), State::Missing);
}

TEST(PmmlAggregate, RefusesWhatHasNoAnswer) {
  Lists least("pmml.aggregate", {{"function", "min"}}, {Type::Double});
  EXPECT_EQ(least.run({{1}, {}}), "here: row 1: function min: expected values, got none");
  EXPECT_EQ(least.run({{1}, {}}, true), "");
  EXPECT_EQ(least.plan->at(least.out).state(1), State::Missing);
  Lists sum("pmml.aggregate", {{"function", "sum"}}, {Type::Double});
  ASSERT_EQ(sum.run({{}}), "");
  EXPECT_EQ(sum.plan->at(sum.out).state(0), State::Missing);
  Given scalar("pmml.aggregate", 1, {{Type::Double}}, {{"function", "sum"}});
  EXPECT_EQ(scalar.run({{1}}), "here: expected lists of numbers");
  PlanMaker maker;
  const uint32_t decimals = maker.field("x", Type::List, Type::Decimal);
  maker.only("pmml.aggregate", {decimals}, Type::Int32, {{"function", "count"}});
  PlanRun run(maker);
  run.begin(1);
  run.at(decimals).reset(Type::List, 1, Type::Decimal);
  run.at(decimals).decimals.push_back(1);
  run.at(decimals).end_row();
  EXPECT_EQ(run.run(), "here: expected lists of numbers");
  const auto fault = [](const std::string& name, Type type) {
    auto read = Lists("pmml.aggregate", {{"function", name}}, {type}).maker.read();
    return read.ok() ? "" : read.error().message;
  };
  EXPECT_NE(fault("mode", Type::Double), "");
  EXPECT_NE(fault("count", Type::Double), "");
  EXPECT_NE(fault("average", Type::Int32), "");
  EXPECT_EQ(fault("sum", Type::Int32), "");
}

TEST(PmmlTables, NormalisesByPoints) {
  const MadeAttributes points{{"orig", Reals{0, 10, 20}}, {"norm", Reals{0, 1, 5}}};
  const Reals given{-10, 0, 5, 10, 15, 30, kNan};
  const auto with = [&](const std::string& outliers) {
    MadeAttributes made = points;
    made.emplace_back("outliers", outliers);
    return numbers("pmml.norm_continuous", made, given);
  };
  expect_equal(with("as_is"), {-1, 0, 0.5, 1, 3, 9, kNan});
  expect_equal(with("as_extreme"), {0, 0, 0.5, 1, 3, 5, kNan});
  expect_equal(with("as_missing"), {kNan, 0, 0.5, 1, 3, kNan, kNan});
  MadeAttributes mapped = points;
  mapped.emplace_back("map_missing", Values{{Type::Double, 0.25}});
  expect_equal(numbers("pmml.norm_continuous", mapped, {kNan}), {0.25});
  const MadeAttributes unsorted{{"orig", Reals{10, 0}}, {"norm", Reals{0, 1}}};
  EXPECT_NE(Given("pmml.norm_continuous", 1, {{Type::Double}}, unsorted).fault(), "");
}

TEST(PmmlTables, TellsOneValueFromOthers) {
  const MadeAttributes two{{"value", Values{{Type::Double, 2}}},
                           {"map_missing", Values{{Type::Double, 0.5}}}};
  expect_equal(numbers("pmml.norm_discrete", two, {2, 3, kNan}), {1, 0, 0.5});
}

TEST(PmmlTables, TakesTheFirstIntervalAndTheFirstRow) {
  const MadeAttributes bins{
      {"intervals", Reals{0, 5, 1, 0, 5, 9, 0, 1, 4, 6, 1, 1}},
      {"results", Values{{Type::Double, 1}, {Type::Double, 2}, {Type::Double, 3}}},
      {"otherwise", Values{{Type::Double, 9}}}};
  expect_equal(numbers("pmml.discretize", bins, {0, 4.5, 5, 9, 10, kNan}), {1, 1, 3, 2, 9, kNan});
  Given map(
      "pmml.map_values", 2, {{Type::String}},
      {{"keys", Values{{Type::Double, 1},
                       {Type::Double, 1},
                       {Type::Double, -0.0},
                       {Type::Double, 2},
                       {Type::Double, 2},
                       {Type::Double, 3}}},
       {"results", Values{{Type::String, 0, "a"}, {Type::String, 0, "b"}, {Type::String, 0, "c"}}},
       {"otherwise", Values{{Type::String, 0, "other"}}},
       {"map_missing", Values{{Type::String, 0, "none"}}}});
  ASSERT_EQ(map.run({{1, 2}, {0, 3}, {2, 1}, {1, kNan}}), "");
  const Texts want{"a", "c", "other", "none"};
  for (uint32_t row = 0; row < 4; ++row) EXPECT_EQ(map.text(0, row), want[row]);
  const MadeAttributes uneven{{"keys", Values{{Type::Double, 1}}}, {"results", Values{}}};
  EXPECT_NE(Given("pmml.map_values", 1, {{Type::String}}, uneven).fault(), "");
}

struct Words {
  Words(const MadeAttributes& more) {
    MadeAttributes made{{"weights", "termFrequency"}, {"best_hits", false}, {"tokenize", true},
                        {"case_sensitive", false},    {"distance", 0},      {"separator", "\\s+"}};
    for (const auto& [name, value] : more) set(made, name, value);
    text = maker.field("text", Type::String);
    term = maker.field("term", Type::String);
    out = maker.only("pmml.text_index", {text, term}, Type::Int32, made);
  }
  int64_t count(const std::string& of, const std::string& wanted) {
    PlanRun run(maker);
    run.begin(1);
    run.texts(text, {of});
    run.texts(term, {wanted});
    EXPECT_EQ(run.run(), "");
    return run.at(out).integers[0];
  }
  PlanMaker maker;
  uint32_t text = 0, term = 0, out = 0;
};

TEST(PmmlTextIndex, CountsWordsInARow) {
  Words plain({});
  EXPECT_EQ(plain.count("The Sun shines, and the (sun) shines.", "sun shines"), 2);
  EXPECT_EQ(plain.count("sun", "sun shines"), 0);
  EXPECT_EQ(plain.count("", "sun"), 0);
  Words exact({{"case_sensitive", true}});
  EXPECT_EQ(exact.count("Sun sun", "sun"), 1);
}

// Source: JPMML-Evaluator 1.7.6, which counts the characters of Java.
TEST(PmmlTextIndex, DistancesAreOfUtf16Units) {
  Words one({{"distance", 1}});
  EXPECT_EQ(one.count("a caf\u00e9 b", "cafe"), 1);
  EXPECT_EQ(one.count("cafe caf\u00e9s caf\u00e9", "caf\u00e9"), 3);
  EXPECT_EQ(one.count("na\u00efve", "naive"), 1);
  EXPECT_EQ(one.count("x\U0001F600y", "xy"), 0);
  Words two({{"distance", 2}, {"best_hits", true}});
  EXPECT_EQ(two.count("x\U0001F600y", "xy"), 1);
  EXPECT_EQ(two.count("shine shines shone", "shone"), 1);
}

struct Rule {
  std::string pattern, with;
};

MadeAttributes rules(const std::vector<Rule>& given, std::vector<int32_t> rows, bool recursive) {
  Texts patterns, replacements;
  for (const Rule& each : given) {
    patterns.push_back(each.pattern);
    replacements.push_back(each.with);
  }
  return {{"rule_patterns", patterns},
          {"rule_replacements", replacements},
          {"rule_rows", rows},
          {"rule_recursive", std::vector<int32_t>(rows.size() - 1, recursive ? 1 : 0)}};
}

int64_t counted(const MadeAttributes& attributes, const std::string& text,
                const std::string& term) {
  Words words(attributes);
  return words.count(text, term);
}

// Source: JPMML-Evaluator 1.7.6.
TEST(PmmlTextIndex, TablesReplaceInTheText) {
  EXPECT_EQ(counted(rules({{"(?iu)its", "it"}}, {0, 1}, false), "ITS its it", "it"), 3);
  EXPECT_EQ(counted(rules({{"xx", "x"}}, {0, 1}, false), "xxxx", "x"), 0);
  EXPECT_EQ(counted(rules({{"xx", "x"}}, {0, 1}, true), "xxxx", "x"), 1);
  EXPECT_EQ(counted(rules({{"a", "b"}, {"b", "c"}}, {0, 1, 2}, false), "a b", "c"), 2);
  EXPECT_EQ(counted(rules({{"(o)ne", "$1"}}, {0, 1}, false), "one", "o"), 1);
}

TEST(PmmlTextIndex, TablesThatCannotBeAppliedRefuseTheRow) {
  const auto answer = [](const Rule& rule, bool recursive) {
    Words words(rules({rule}, {0, 1}, recursive));
    PlanRun run(words.maker);
    run.begin(1);
    run.texts(words.text, {"ab"});
    run.texts(words.term, {"a"});
    return run.run();
  };
  EXPECT_EQ(answer({"c", "$1"}, false), "");
  EXPECT_NE(answer({"a", "$1"}, false).find("row 0: "), std::string::npos);
  EXPECT_NE(answer({"b", "cb"}, true).find("within 1000 rounds"), std::string::npos);
  EXPECT_NE(answer({"b", "bb"}, true).find("is too long"), std::string::npos);
}

TEST(PmmlTextIndex, TablesThatDoNotFitAreFaults) {
  const auto fault = [](const MadeAttributes& attributes) -> std::string {
    Words words(attributes);
    auto read = words.maker.read();
    return read.ok() ? "" : read.error().message;
  };
  EXPECT_EQ(fault(rules({{"a", "b"}}, {0, 1}, false)), "");
  EXPECT_NE(fault(rules({{"a", "b"}}, {0, 2}, false)), "");
  EXPECT_NE(fault(rules({{"a", "b"}}, {1, 1}, false)), "");
  EXPECT_NE(fault(rules({{"a", "b"}}, {0}, false)), "");
  EXPECT_NE(fault(rules({{"a", "b"}, {"b", "c"}}, {0, 2, 1, 2}, false)), "");
  EXPECT_NE(fault(rules({{"(", "b"}}, {0, 1}, false)), "");
  MadeAttributes made = rules({{"a", "b"}}, {0, 1}, false);
  set(made, "rule_replacements", Texts{});
  EXPECT_NE(fault(made), "");
}

TEST(PmmlTextIndex, WordsLoseThePunctuationOfUnicode) {
  Words plain({});
  EXPECT_EQ(plain.count("\u201cit\u201d \u2014 it\u2026 (it) $it it`", "it"), 3);
  EXPECT_EQ(plain.count("$it it", "$it"), 1);
  EXPECT_EQ(plain.count("stra\u017fe STRASE", "strase"), 2);
  const MadeAttributes letters{{"separator", "[A-Z]"}};
  EXPECT_EQ(counted(letters, "aBcBa", "a"), 2) << "text is split before its case is folded";
}

int64_t plain_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<int64_t>> d(a.size() + 1, std::vector<int64_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = static_cast<int64_t>(i + j);
        continue;
      }
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
    }
  }
  return d[a.size()][b.size()];
}

TEST(PmmlTextIndex, DistancesAreThoseOfThePlainTable) {
  std::vector<std::string> texts{"ab"};
  for (uint32_t seed = 1; texts.size() < 40; seed = seed * 1103515245U + 12345U) {
    std::string made;
    for (uint32_t k = 0; k < 1 + (seed >> 16) % 7; ++k) {
      made += static_cast<char>('a' + (seed >> (k * 3)) % 3);
    }
    texts.push_back(made);
  }
  for (int most = 1; most <= 5; ++most) {
    Words words({{"distance", most}});
    for (size_t i = 0; i + 1 < texts.size(); ++i) {
      const bool near = plain_distance(texts[i], texts[i + 1]) <= most;
      EXPECT_EQ(words.count(texts[i], texts[i + 1]), near ? 1 : 0)
          << texts[i] << " " << texts[i + 1] << " " << most;
    }
  }
}

}  // namespace
}  // namespace serval::tabular
