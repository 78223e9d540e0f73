// The scheduler of sequences with a clock of the test: slots, backlog, batches, and the ends of
// sequences.
#include "engine/sequence/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "engine/request/time_limit.h"

namespace serval::test {
namespace {

SequenceRules rules_with(SequenceStrategy strategy, uint32_t groups, uint32_t slots,
                         uint32_t rows_max) {
  SequenceRules rules;
  rules.strategy = strategy;
  rules.groups = groups;
  rules.slots = slots;
  rules.idle_ns = 1000;
  rules.batch.rows_max = rows_max;
  return rules;
}

SequenceId number(uint64_t id) { return {false, id, {}}; }

bool any(const SequenceEntry&, const SequenceEntry&) { return true; }

class Fixture {
 public:
  explicit Fixture(const SequenceRules& rules) : scheduler(rules) {}

  // A request; null: it is not accepted.
  SequenceEntry* add(uint64_t id, bool start = false, bool end = false) {
    auto& entry = *entries.emplace_back(std::make_unique<SequenceEntry>());
    entry.start = start;
    entry.end = end;
    entry.arrived_ns = now;
    return scheduler.add(number(id), entry) ? &entry : nullptr;
  }
  // The entries of the next batch; empty: none yet.
  std::vector<SequenceEntry*> next(bool closing = false) {
    batch.rows.clear();
    if (!scheduler.next(now, closing, any, batch)) return {};
    return batch.rows;
  }
  void done(const std::vector<SequenceEntry*>& rows, bool ok = true) {
    for (SequenceEntry* entry : rows) {
      if (entry != nullptr) scheduler.done(*entry, ok, now, dropped);
    }
  }

  SequenceScheduler scheduler;
  SequenceBatch batch;
  uint64_t now = 1;
  std::vector<SequenceEntry*> dropped;
  std::vector<std::unique_ptr<SequenceEntry>> entries;
};

using Rows = std::vector<SequenceEntry*>;

TEST(SequenceSchedulerTest, OneRequestOfASequenceIsInABatchAndTheyKeepTheirOrder) {
  Fixture at(rules_with(SequenceStrategy::Oldest, 1, 4, 8));
  SequenceEntry* const a1 = at.add(1, true);
  SequenceEntry* const a2 = at.add(1);
  SequenceEntry* const b1 = at.add(2, true);
  EXPECT_EQ(at.next(), (Rows{a1, b1}));
  EXPECT_EQ(at.next(), Rows()) << "the next request of a sequence waits for the run";
  at.done({a1, b1});
  EXPECT_EQ(at.next(), Rows{a2});
}

TEST(SequenceSchedulerTest, ASequenceBeginsWithStart) {
  Fixture at(rules_with(SequenceStrategy::Oldest, 1, 4, 8));
  EXPECT_EQ(at.add(1), nullptr);
  EXPECT_NE(at.add(1, true), nullptr);
  EXPECT_NE(at.add(1, false, true), nullptr);
  EXPECT_EQ(at.add(1), nullptr) << "after its end";
  EXPECT_NE(at.add(1, true), nullptr);
  EXPECT_EQ(at.scheduler.active(), 1u);
  EXPECT_FALSE(SequenceId({true, 0, "1"}) == number(1)) << "text and number";
}

TEST(SequenceSchedulerTest, SequencesBeyondTheSlotsWaitForOne) {
  Fixture at(rules_with(SequenceStrategy::Oldest, 1, 2, 8));
  SequenceEntry* const a = at.add(1, true);
  SequenceEntry* const b = at.add(2, true);
  SequenceEntry* const c = at.add(3, true);
  EXPECT_EQ(at.scheduler.active(), 2u);
  EXPECT_EQ(at.scheduler.backlog(), 1u);
  EXPECT_EQ(at.next(), (Rows{a, b}));
  at.done({a, b});
  EXPECT_EQ(at.next(), Rows()) << "both are open";
  SequenceEntry* const a2 = at.add(1, false, true);
  EXPECT_EQ(at.next(), Rows{a2});
  at.done({a2});
  EXPECT_EQ(at.next(), Rows{c});
  EXPECT_EQ(at.scheduler.backlog(), 0u);
}

TEST(SequenceSchedulerTest, AnIdleSequenceGivesItsSlotAway) {
  Fixture at(rules_with(SequenceStrategy::Oldest, 1, 1, 8));
  SequenceEntry* const a = at.add(1, true);
  EXPECT_EQ(at.next(), Rows{a});
  SequenceEntry* const b = at.add(2, true);
  at.now += 5000;
  EXPECT_EQ(at.next(), Rows()) << "it is not idle while its request runs";
  at.done({a});
  EXPECT_EQ(at.next(), Rows());
  EXPECT_EQ(at.scheduler.next_ns(), at.now + 1000);
  at.now += 1000;
  EXPECT_EQ(at.next(), Rows{b});
  EXPECT_EQ(at.add(1), nullptr);
}

TEST(SequenceSchedulerTest, ARequestThatRepeatsKeepsItsSlotAndLetsOthersJoin) {
  Fixture at(rules_with(SequenceStrategy::Oldest, 1, 2, 8));
  SequenceEntry* const a = at.add(1, true, true);
  EXPECT_EQ(at.next(), Rows{a});
  at.scheduler.repeat(*a);
  EXPECT_FALSE(a->start);
  SequenceEntry* const b = at.add(2, true, true);
  SequenceEntry* const c = at.add(3, true, true);
  EXPECT_EQ(at.next(), (Rows{a, b})) << "b joins; c has no slot";
  at.done({b});
  at.scheduler.repeat(*a);
  EXPECT_EQ(at.next(), (Rows{c, a})) << "c has waited since before the step of a";
  at.scheduler.repeat(*c);
  at.done({a}, false);
  EXPECT_EQ(at.next(), Rows{c});
  at.done({c});
  EXPECT_TRUE(at.scheduler.empty());
  EXPECT_EQ(at.scheduler.waiting_requests(), 0u);
  EXPECT_TRUE(at.dropped.empty());
}

TEST(SequenceSchedulerTest, ARequestBetweenItsStepsIsNotQueued) {
  Fixture at(rules_with(SequenceStrategy::Oldest, 1, 4, 1));
  SequenceEntry* const a = at.add(1, true, true);
  SequenceEntry* const b = at.add(2, true, true);
  EXPECT_EQ(at.scheduler.waiting_requests(), 2u);
  EXPECT_EQ(at.next(), Rows{a});
  at.scheduler.repeat(*a);
  EXPECT_EQ(at.scheduler.waiting_requests(), 1u) << "b";
  EXPECT_EQ(at.next(), Rows{b});
  at.scheduler.repeat(*b);
  EXPECT_EQ(at.scheduler.waiting_requests(), 0u);
  EXPECT_TRUE(at.scheduler.has_waiting()) << "for its next step";
  at.scheduler.remove(*b, at.now, at.dropped);
  EXPECT_EQ(at.next(), Rows{a});
  EXPECT_FALSE(at.scheduler.has_waiting());
  at.done({a});
  EXPECT_EQ(at.scheduler.waiting_requests(), 0u);
  a->start = a->end = true;
  ASSERT_TRUE(at.scheduler.add(number(3), *a)) << "the entry of another request";
  EXPECT_EQ(at.scheduler.waiting_requests(), 1u);
}

TEST(SequenceSchedulerTest, MoreRequestsThanRowsRepeatInTurn) {
  Fixture at(rules_with(SequenceStrategy::Oldest, 1, 3, 2));
  SequenceEntry* const a = at.add(1, true, true);
  SequenceEntry* const b = at.add(2, true, true);
  SequenceEntry* const c = at.add(3, true, true);
  EXPECT_EQ(at.next(), (Rows{a, b}));
  at.scheduler.repeat(*a);
  at.scheduler.repeat(*b);
  EXPECT_EQ(at.next(), (Rows{c, a}));
  at.scheduler.repeat(*c);
  at.scheduler.repeat(*a);
  EXPECT_EQ(at.next(), (Rows{b, c}));
}

TEST(SequenceSchedulerTest, DirectRepeatsInItsRow) {
  Fixture at(rules_with(SequenceStrategy::Direct, 1, 2, 2));
  SequenceEntry* const a = at.add(1, true, true);
  SequenceEntry* const b = at.add(2, true, true);
  EXPECT_EQ(at.next(), (Rows{a, b}));
  at.done({a});
  EXPECT_EQ(at.next(), Rows()) << "the group runs until every entry is done";
  at.scheduler.repeat(*b);
  SequenceEntry* const c = at.add(3, true, true);
  EXPECT_EQ(at.next(), (Rows{c, b}));
  at.scheduler.remove(*at.add(4, true, true), at.now, at.dropped);
  at.scheduler.repeat(*c);
  at.scheduler.remove(*c, at.now, at.dropped);
  at.done({b});
  EXPECT_TRUE(at.scheduler.empty());
}

TEST(SequenceSchedulerTest, DirectKeepsTheRowOfASequence) {
  Fixture at(rules_with(SequenceStrategy::Direct, 2, 2, 2));
  SequenceEntry* const a = at.add(1, true);
  SequenceEntry* const b = at.add(2, true);
  SequenceEntry* const c = at.add(3, true);
  EXPECT_EQ(at.next(), (Rows{a, c})) << "the lowest rows of both instances come first";
  EXPECT_EQ(at.batch.group, 0u);
  EXPECT_EQ(at.next(), Rows{b});
  EXPECT_EQ(at.batch.group, 1u);
  SequenceEntry* const b2 = at.add(2);
  SequenceEntry* const c2 = at.add(3);
  EXPECT_EQ(at.next(), Rows()) << "both instances run";
  at.done({a, c});
  EXPECT_EQ(at.next(), (Rows{nullptr, c2})) << "a row without a request stays empty";
  EXPECT_EQ(at.batch.group, 0u);
  at.done({b});
  EXPECT_EQ(at.next(), Rows{b2});
}

TEST(SequenceSchedulerTest, DirectWaitsForItsSlotsUntilTheDelay) {
  SequenceRules rules = rules_with(SequenceStrategy::Direct, 1, 4, 4);
  rules.rows_min = 2;
  rules.batch.delay_us = 1;
  Fixture at(rules);
  SequenceEntry* const a = at.add(1, true);
  EXPECT_EQ(at.next(), Rows());
  EXPECT_EQ(at.scheduler.next_ns(), at.now + 1000);
  EXPECT_EQ(at.next(true), Rows{a}) << "closing";
  at.done({a});
  SequenceEntry* const a2 = at.add(1);
  SequenceEntry* const b = at.add(2, true);
  EXPECT_EQ(at.next(), (Rows{a2, b}));
  at.done({a2, b});
  SequenceEntry* const b2 = at.add(2);
  at.now += 1000;
  EXPECT_EQ(at.next(), (Rows{nullptr, b2}));
}

TEST(SequenceSchedulerTest, OldestTakesPreferredSizes) {
  SequenceRules rules = rules_with(SequenceStrategy::Oldest, 1, 8, 8);
  rules.batch.preferred_rows = {2};
  rules.batch.delay_us = 1;
  Fixture at(rules);
  SequenceEntry* const a = at.add(1, true);
  EXPECT_EQ(at.next(), Rows());
  EXPECT_EQ(at.scheduler.next_ns(), at.now + 1000);
  SequenceEntry* const b = at.add(2, true);
  EXPECT_EQ(at.next(), (Rows{a, b}));
  SequenceEntry* const c = at.add(3, true);
  at.now += 1000;
  EXPECT_EQ(at.next(), Rows{c}) << "its delay is over";
}

TEST(SequenceSchedulerTest, AFailedRunEndsItsSequence) {
  Fixture at(rules_with(SequenceStrategy::Oldest, 1, 1, 8));
  SequenceEntry* const a = at.add(1, true);
  SequenceEntry* const a2 = at.add(1);
  SequenceEntry* const a3 = at.add(1, false, true);
  SequenceEntry* const again = at.add(1, true);
  SequenceEntry* const b = at.add(2, true, true);
  EXPECT_EQ(at.next(), Rows{a});
  at.done({a}, false);
  EXPECT_EQ(at.dropped, (Rows{a2, a3}));
  EXPECT_EQ(at.next(), Rows{b}) << "it waited for the slot longer than the new start";
  at.done({b});
  EXPECT_EQ(at.next(), Rows{again});
  at.done({again}, false);
  EXPECT_TRUE(at.scheduler.empty());
  EXPECT_EQ(at.add(1), nullptr);
}

TEST(SequenceSchedulerTest, AWithdrawnRequestEndsItsSequence) {
  Fixture at(rules_with(SequenceStrategy::Oldest, 1, 1, 8));
  SequenceEntry* const a = at.add(1, true);
  SequenceEntry* const a2 = at.add(1);
  SequenceEntry* const a3 = at.add(1);
  SequenceEntry* const b = at.add(2, true);
  EXPECT_EQ(at.next(), Rows{a});
  at.scheduler.remove(*a2, at.now, at.dropped);
  EXPECT_EQ(at.dropped, Rows{a3});
  EXPECT_EQ(at.add(1), nullptr);
  at.done({a});
  EXPECT_EQ(at.next(), Rows{b}) << "its slot is free";
  at.scheduler.remove(*at.add(3, true), at.now, at.dropped);
  at.done({b}, false);
  EXPECT_TRUE(at.scheduler.empty()) << "also one that waited for a slot";
  EXPECT_EQ(at.scheduler.waiting_requests(), 0u);
}

TEST(SequenceSchedulerTest, ASkippedRequestEndsItsSequenceAfterTheRequestsThatItHas) {
  Fixture at(rules_with(SequenceStrategy::Oldest, 1, 2, 8));
  SequenceEntry* const a = at.add(1, true);
  SequenceEntry* const a2 = at.add(1);
  at.scheduler.skip(number(1), at.now);
  at.scheduler.skip(number(9), at.now);
  EXPECT_EQ(at.add(1), nullptr);
  EXPECT_EQ(at.next(), Rows{a});
  at.done({a});
  EXPECT_EQ(at.next(), Rows{a2});
  at.done({a2});
  EXPECT_TRUE(at.scheduler.empty());
  SequenceEntry* const b = at.add(2, true);
  EXPECT_EQ(at.next(), Rows{b});
  at.done({b});
  EXPECT_FALSE(at.scheduler.empty()) << "idle";
  at.scheduler.skip(number(2), at.now);
  EXPECT_TRUE(at.scheduler.empty());
}

TEST(SequenceSchedulerTest, RetiringEndsIdleSequences) {
  Fixture at(rules_with(SequenceStrategy::Oldest, 1, 1, 8));
  SequenceEntry* const a = at.add(1, true);
  SequenceEntry* const b = at.add(2, true);
  EXPECT_EQ(at.next(), Rows{a});
  at.done({a});
  EXPECT_EQ(at.next(), Rows{}) << "the first one has the only slot";
  at.scheduler.retire();
  EXPECT_EQ(at.next(), Rows{b});
  at.done({b});
  EXPECT_EQ(at.next(), Rows{});
  EXPECT_TRUE(at.scheduler.empty());
}

// Random arrivals, runs, failures and pauses: every request is run or dropped once, in its order,
// and no slot is lost.
TEST(SequenceSchedulerTest, RandomInterleavingsKeepEveryOrder) {
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto one_in = [&](uint32_t n) { return random() % n == 0; };
    const bool direct = seed % 2 == 0;
    SequenceRules rules = rules_with(direct ? SequenceStrategy::Direct : SequenceStrategy::Oldest,
                                     direct ? 2 : 1, 3, direct ? 3 : 2);
    rules.rows_min = seed % 3;
    rules.batch.delay_us = seed % 2;
    Fixture at(rules);
    std::vector<std::vector<SequenceEntry*>> expected(9);  // per sequence: in flight, in order
    std::deque<Rows> running;
    const auto take = [&](SequenceEntry* entry) {
      std::vector<SequenceEntry*>& list = expected[entry->sequence->id.number];
      ASSERT_FALSE(list.empty());
      EXPECT_EQ(list.front(), entry);
      list.erase(list.begin());
    };
    const auto settle = [&](bool ok) {
      for (SequenceEntry* entry : running.front()) {
        if (entry != nullptr) take(entry);
      }
      const Rows rows = running.front();
      running.pop_front();
      for (SequenceEntry* entry : rows) {
        if (entry == nullptr) continue;
        std::vector<SequenceEntry*>& list = expected[entry->sequence->id.number];
        at.scheduler.done(*entry, ok, at.now, at.dropped);
        for (SequenceEntry* dropped : at.dropped) {
          ASSERT_FALSE(list.empty());
          EXPECT_EQ(list.front(), dropped);
          list.erase(list.begin());
        }
        at.dropped.clear();
      }
    };
    for (int step = 0; step < 2000; ++step) {
      at.now += random() % 400;
      const uint64_t id = 1 + random() % 8;
      const bool wants = one_in(2);
      SequenceEntry* const added = wants ? at.add(id, one_in(3), one_in(4)) : nullptr;
      if (added != nullptr) expected[id].push_back(added);
      if (const Rows rows = at.next(); !rows.empty()) {
        size_t members = 0;
        for (SequenceEntry* entry : rows) {
          if (entry == nullptr) continue;
          ++members;
          EXPECT_EQ(expected[entry->sequence->id.number].front(), entry);
        }
        EXPECT_LE(members, rules.batch.rows_max);
        EXPECT_LE(rows.size(), 3u);
        running.push_back(rows);
      }
      if (!running.empty() && one_in(2)) settle(!one_in(6));
      EXPECT_LE(at.scheduler.active(), direct ? 6u : 3u);
    }
    for (int rounds = 0; rounds < 1000; ++rounds) {
      at.now += 100'000;
      if (const Rows rows = at.next(true); !rows.empty()) running.push_back(rows);
      if (!running.empty()) settle(true);
    }
    at.now += 100'000;
    EXPECT_TRUE(at.next().empty());
    for (const auto& list : expected) EXPECT_TRUE(list.empty());
    EXPECT_TRUE(at.scheduler.empty());
    EXPECT_EQ(at.scheduler.waiting_requests(), 0u);
    EXPECT_EQ(at.scheduler.next_ns(), kNever);
  }
}

}  // namespace
}  // namespace serval::test
