// Patterns of model names, and the table of callers.
#include "engine/limits/callers.h"

#include <gtest/gtest.h>

#include <string>

#include "base/generated/engine_generated.h"
#include "engine/limits/admission.h"

namespace serval {
namespace {

struct Row {
  uint32_t number;
  std::string name;
  uint32_t in_flight;
  std::vector<std::string> models;
  uint32_t weight = 100;
};

std::vector<uint8_t> table(const std::vector<Row>& rows) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<fb::Caller>> callers;
  for (const Row& row : rows) {
    const auto name = builder.CreateString(row.name);
    const auto limits = fb::CreateLimitSpec(builder, row.in_flight);
    const auto models = builder.CreateVectorOfStrings(row.models);
    callers.push_back(fb::CreateCaller(builder, row.number, name, limits, models, row.weight));
  }
  builder.Finish(fb::CreateCallerTable(builder, builder.CreateVector(callers)));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

TEST(Patterns, MatchWholeNames) {
  for (const auto& [pattern, text] : std::vector<std::pair<std::string, std::string>>{
           {"m", "m"},
           {"*", ""},
           {"*", "any"},
           {"a*", "a"},
           {"a*b*c", "a-b-b-c"},
           {"a?c", "abc"},
           {"a?c",
            "a\xc3\xa4"
            "c"},
           {"**?", "x"},
           {"*.v1", "x.v1.v1"},
       }) {
    EXPECT_TRUE(matches_pattern(pattern, text)) << pattern << ' ' << text;
  }
  for (const auto& [pattern, text] : std::vector<std::pair<std::string, std::string>>{
           {"m", "mm"},
           {"m", ""},
           {"", "m"},
           {"?", ""},
           {"a*b", "ac"},
           {"a?c", "ac"},
           {"a?c", "abbc"},
           {"M", "m"},
           {"*?", ""},
       }) {
    EXPECT_FALSE(matches_pattern(pattern, text)) << pattern << ' ' << text;
  }
}

TEST(Patterns, TakeNoLongTime) {
  const std::string text(2000, 'a');
  EXPECT_FALSE(matches_pattern("*a*a*a*a*a*a*a*a*a*b", text));
}

TEST(CallerTable, HasWeightsAndListsCallersWithLimitsOnly) {
  const auto empty = std::make_shared<const CallerTable>();
  const auto table_of_two = empty->next(table({{1, "ci", 1, {}}, {2, "ops", 0, {}, 300}}));
  ASSERT_TRUE(table_of_two.ok());
  EXPECT_EQ(table_of_two.value()->find(1)->weight, 100u);
  EXPECT_EQ(table_of_two.value()->find(2)->weight, 300u);
  EXPECT_EQ(table_of_two.value()->find(2)->limits, nullptr);
  ASSERT_EQ(table_of_two.value()->all().size(), 1u);
  EXPECT_EQ(table_of_two.value()->all()[0]->name(), "ci");
}

TEST(CallerTable, KeepsTheCountsOfCallersThatStay) {
  const auto empty = std::make_shared<const CallerTable>();
  const auto first = empty->next(table({{1, "ci", 1, {"a*"}}, {2, "ops", 0, {}}}));
  ASSERT_TRUE(first.ok());
  const LimitedCaller* ci = first.value()->find(1);
  ASSERT_NE(ci, nullptr);
  EXPECT_TRUE(ci->may_use("ab"));
  EXPECT_FALSE(ci->may_use("b"));
  EXPECT_TRUE(first.value()->find(2)->may_use("b"));
  EXPECT_EQ(first.value()->find(3), nullptr);
  Admission one, two;
  EXPECT_FALSE(one.begin(ci->limits, nullptr).has_value());
  EXPECT_TRUE(two.begin(ci->limits, nullptr).has_value());
  const auto second = first.value()->next(table({{1, "ci", 2, {"b"}}}));
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second.value()->find(1)->limits, ci->limits);
  EXPECT_EQ(second.value()->find(2), nullptr);
  EXPECT_FALSE(second.value()->find(1)->may_use("ab"));
  EXPECT_FALSE(two.begin(ci->limits, nullptr).has_value());
  EXPECT_EQ(second.value()->all().size(), 1u);
}

TEST(CallerTable, RefusesOtherBytes) {
  const std::vector<uint8_t> bytes{1, 2, 3};
  const CallerTable callers;
  ASSERT_FALSE(callers.next(bytes).ok());
}

}  // namespace
}  // namespace serval
