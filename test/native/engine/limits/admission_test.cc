// Admissions under the limits of a model and a caller: what each counts, refusals that count
// nowhere, and counts that are 0 at rest after any sequence of events.
#include "engine/limits/admission.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "engine/limits/limited_models.h"
#include "engine/request/limit_error.h"

namespace serval {
namespace {

std::shared_ptr<RequestLimits> limits(RequestLimits::Of of, const LimitSpec& spec) {
  auto made = std::make_shared<RequestLimits>(of, of == RequestLimits::Of::Key ? "ci" : "half");
  made->set(spec);
  return made;
}
const auto kModel = RequestLimits::Of::Model;
const auto kKey = RequestLimits::Of::Key;

TEST(Admission, CountsARequestForAsLongAsItLives) {
  const auto model = limits(kModel, {2, 0, 0});
  {
    Admission one, two, three;
    EXPECT_FALSE(one.begin(nullptr, model).has_value());
    EXPECT_FALSE(two.begin(nullptr, model).has_value());
    const std::optional<LimitHit> hit = three.begin(nullptr, model);
    ASSERT_TRUE(hit.has_value());
    EXPECT_EQ(hit->kind, LimitKind::InFlight);
    EXPECT_FALSE(three);
    EXPECT_EQ(model->in_flight(), 2);
    two.end();
    two.end();
    EXPECT_EQ(model->in_flight(), 1);
    EXPECT_FALSE(three.begin(nullptr, model).has_value());
    Admission moved = std::move(three);
    EXPECT_EQ(model->in_flight(), 2);
  }
  EXPECT_EQ(model->in_flight(), 0);
  EXPECT_EQ(model->refused(LimitKind::InFlight), 1u);
}

TEST(Admission, CountsNowhereWhenOneOfTheLimitsRefuses) {
  const auto model = limits(kModel, {0, 1, 0});
  const auto key = limits(kKey, {0, 2, 2});
  Admission first, second, third;
  EXPECT_FALSE(first.begin(key, model).has_value());
  const std::optional<LimitHit> hit = second.begin(key, model);
  ASSERT_TRUE(hit.has_value());
  EXPECT_EQ(hit->by, model.get());
  EXPECT_EQ(hit->kind, LimitKind::Requests);
  EXPECT_EQ(key->in_flight(), 1);
  // The key's token came back: one more request of another model is admitted, and no third one.
  EXPECT_FALSE(second.begin(key, nullptr).has_value());
  EXPECT_TRUE(third.begin(key, nullptr).has_value());
}

TEST(Admission, ChargesRowsOnce) {
  const auto model = limits(kModel, {0, 0, 10});
  Admission one, two;
  EXPECT_FALSE(one.begin(nullptr, model).has_value());
  one.charge_rows(9);
  one.charge_rows(9);  // a second run
  EXPECT_FALSE(two.begin(nullptr, model).has_value());
  const std::optional<LimitHit> hit = Admission().begin(nullptr, model);
  ASSERT_TRUE(hit.has_value());
  EXPECT_EQ(hit->kind, LimitKind::Rows);
}

TEST(Admission, HasPartsThatChargeRowsAndAreNotInFlight) {
  const auto key = limits(kKey, {0, 0, 10});
  Admission whole;
  EXPECT_FALSE(whole.begin(key, nullptr).has_value());
  {
    Admission first = whole.part(true), second = whole.part(false);
    EXPECT_EQ(key->in_flight(), 1);
    first.charge_rows(5);
    second.charge_rows(5);
  }
  EXPECT_EQ(key->in_flight(), 1);
  EXPECT_TRUE(Admission().begin(key, nullptr).has_value());
}

TEST(Admission, ErrorsNameTheLimitAndWhatToRaise) {
  const auto model = limits(kModel, {1, 0, 0});
  const auto key = limits(kKey, {0, 0, 0.5});
  Admission one, two;
  EXPECT_FALSE(one.begin(nullptr, model).has_value());
  const Error full = limit_error(*Admission().begin(nullptr, model));
  EXPECT_EQ(full.code, ErrorCode::LimitReached);
  EXPECT_EQ(full.message,
            "model 'half': its limit max_in_flight of 1 is reached; to admit more, raise "
            "max_in_flight in the parameters of its config.pbtxt");
  EXPECT_FALSE(two.begin(key, nullptr).has_value());
  two.charge_rows(3);
  const Error rows = limit_error(*Admission().begin(key, nullptr));
  EXPECT_EQ(rows.message,
            "key 'ci': its limit rows_per_second of 0.5 is reached; to admit more, raise "
            "rows_per_second of this key in the key file");
  EXPECT_FALSE(rows.missing.empty());
}

TEST(Admission, ChangedLimitsKeepTheCounts) {
  LimitedModels models;
  const auto one = models.of("m", {2, 0, 0});
  Admission first, second;
  EXPECT_FALSE(first.begin(nullptr, one).has_value());
  const auto other = models.of("m", {1, 0, 0});  // another version
  EXPECT_EQ(one, other);
  EXPECT_TRUE(second.begin(nullptr, other).has_value());
  EXPECT_EQ(models.of("m", {}), nullptr);
  EXPECT_FALSE(second.begin(nullptr, one).has_value());  // the limit is gone
  EXPECT_EQ(models.all().size(), 1u);
}

// Any interleaving of begins, moves, charges and ends on several threads.
TEST(Admission, CountsAreZeroAtRest) {
  const auto model = limits(kModel, {5, 0, 0});
  const auto key = limits(kKey, {7, 1e6, 1e6});
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      std::vector<Admission> mine(4);
      for (int i = 0; i < 20'000; ++i) {
        Admission& one = mine[random() % mine.size()];
        switch (random() % 5) {
          case 0: (void)one.begin(key, model); break;
          case 1: (void)one.begin(random() % 2 == 0 ? key : nullptr, model); break;
          case 2: one.end(); break;
          case 3: one.charge_rows(random() % 3); break;
          case 4: one = std::move(mine[random() % mine.size()]); break;
        }
        ASSERT_LE(model->in_flight(), 5);
        ASSERT_LE(key->in_flight(), 7);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(model->in_flight(), 0);
  EXPECT_EQ(key->in_flight(), 0);
}

}  // namespace
}  // namespace serval
