// The resources of the rate limiter: counts that are set or follow from the loaded models, devices,
// global resources, and errors for needs that could never be met.
#include "engine/turns/rate_resources.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace serval {
namespace {

using Needs = std::vector<RateResource>;
constexpr std::array kHost{0};
constexpr std::array kTwo{0, 1};

TEST(RateResources, HaveTheLargestNeedOfLoadedModelsByDefault) {
  RateResources resources({});
  const Needs small{{"R", false, 2}}, large{{"r", false, 5}};
  resources.add("m", small, kHost);
  EXPECT_TRUE(resources.take(small, 0));
  EXPECT_FALSE(resources.take(small, 0));
  resources.add("m", large, kHost);
  EXPECT_TRUE(resources.take(small, 0));
  EXPECT_FALSE(resources.take(small, 0));
  EXPECT_FALSE(resources.take(large, 0));
  resources.give(small, 0);
  resources.give(small, 0);
  EXPECT_TRUE(resources.take(large, 0));
  resources.give(large, 0);
  resources.remove("m", large, kHost);
  EXPECT_TRUE(resources.take(small, 0));
  EXPECT_FALSE(resources.take(small, 0));
}

TEST(RateResources, TakeAllNeedsOrNone) {
  RateResources resources({{"A", 1}, {"B", 1}});
  const Needs both{{"A", false, 1}, {"B", false, 1}}, second{{"B", false, 1}},
      first{{"A", false, 1}};
  for (const Needs& one : {both, second, first}) resources.add("m", one, kHost);
  EXPECT_TRUE(resources.take(second, 0));
  EXPECT_FALSE(resources.take(both, 0));
  EXPECT_TRUE(resources.take(first, 0));
}

TEST(RateResources, BelongToEachDeviceUnlessTheyAreGlobal) {
  RateResources resources({});
  const Needs own{{"own", false, 1}}, global{{"all", true, 1}};
  resources.add("m", own, kTwo);
  resources.add("m", global, kTwo);
  EXPECT_TRUE(resources.take(own, 0));
  EXPECT_TRUE(resources.take(own, 1));
  EXPECT_FALSE(resources.take(own, 1));
  EXPECT_TRUE(resources.take(global, 0));
  EXPECT_FALSE(resources.take(global, 1));
  resources.give(global, 0);
  EXPECT_TRUE(resources.take(global, 1));
}

TEST(RateResources, PreferTheCountOfADevice) {
  RateResources resources({{"R", 1}, {"R", 3, 1}});
  const Needs one{{"R", false, 1}};
  resources.add("m", one, kTwo);
  EXPECT_TRUE(resources.take(one, 0));
  EXPECT_FALSE(resources.take(one, 0));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(resources.take(one, 1));
  EXPECT_FALSE(resources.take(one, 1));
}

TEST(RateResources, IgnoreTheDeviceOfAGlobalCount) {
  RateResources resources({{"R", 2, 1}});
  const Needs one{{"R", true, 1}};
  resources.add("m", one, kHost);
  EXPECT_TRUE(resources.take(one, 0));
  EXPECT_TRUE(resources.take(one, 0));
  EXPECT_FALSE(resources.take(one, 0));
}

TEST(RateResources, RefuseNeedsOverTheCountThatIsSet) {
  const RateResources resources({{"R", 5}});
  EXPECT_TRUE(resources.check("m", Needs{{"r", false, 5}}, kHost).ok());
  const Status refused = resources.check("m", Needs{{"r", false, 10}}, kHost);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::ModelInvalid);
  EXPECT_EQ(refused.error().message,
            "rate_limiter: a run needs 10 of resource 'r', but --rate-limit-resource sets 5 for "
            "device 0: no run could begin");
}

TEST(RateResources, RefuseAResourceThatIsGlobalForSomeModelsOnly) {
  RateResources resources({});
  resources.add("m", Needs{{"R", true, 1}}, kHost);
  const Status refused = resources.check("other", Needs{{"R", false, 1}}, kHost);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "rate_limiter: resource 'R' is of each device here, but not in the loaded model 'm'; a "
            "resource is one or the other");
  resources.remove("m", Needs{{"R", true, 1}}, kHost);
  EXPECT_TRUE(resources.check("other", Needs{{"R", false, 1}}, kHost).ok());
}

TEST(RateResources, MayBecomeGlobalWithAModelsNextVersionUnlessAnotherModelDisagrees) {
  RateResources resources({});
  const Needs before{{"R", false, 1}}, after{{"R", true, 2}};
  resources.add("m", before, kTwo);
  EXPECT_TRUE(resources.check("m", after, kTwo).ok());
  resources.add("m", after, kTwo);
  // Each version has its own until the old one is gone.
  EXPECT_TRUE(resources.take(before, 0));
  EXPECT_TRUE(resources.take(after, 0));
  EXPECT_FALSE(resources.take(after, 1));
  EXPECT_FALSE(resources.check("other", before, kHost).ok());
  EXPECT_FALSE(resources.check("other", after, kHost).ok());
  resources.remove("m", before, kTwo);
  resources.give(before, 0);
  EXPECT_FALSE(resources.check("other", before, kHost).ok());
  EXPECT_TRUE(resources.check("other", after, kHost).ok());
  resources.add("other", after, kHost);
  EXPECT_FALSE(resources.check("m", before, kTwo).ok());
}

TEST(RateCounts, AreReadFromLines) {
  const Result<std::vector<RateCount>> counts = read_rate_counts("4 -1 R one\n7 0 R2");
  ASSERT_TRUE(counts.ok());
  ASSERT_EQ(counts.value().size(), 2u);
  EXPECT_EQ(counts.value()[0].name, "R one");
  EXPECT_EQ(counts.value()[0].count, 4u);
  EXPECT_EQ(counts.value()[0].device, RateCount::kEveryDevice);
  EXPECT_EQ(counts.value()[1].device, 0);
  EXPECT_TRUE(read_rate_counts("").value().empty());
  for (const char* bad : {"R", "1 R", "x 0 R", "1 0 ", "99999999999 0 R", "\n1 0 R"}) {
    EXPECT_FALSE(read_rate_counts(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace serval
