// Priorities, limits and timeouts of the queue, without instances.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>

#include "base/clock.h"
#include "engine/model/request_queue.h"

namespace serval::test {
namespace {

QueueSettings three_levels() {
  QueueSettings settings;
  settings.requests_max = 100;
  settings.priority_levels = 3;
  settings.default_priority = 2;
  return settings;
}

std::vector<Request*> take_all(RequestQueue& queue, std::vector<Request*>& late) {
  std::array<Request*, 16> out{};
  const size_t count = queue.take(out, 0, late);
  return {out.begin(), out.begin() + static_cast<ptrdiff_t>(count)};
}

TEST(RequestQueue, ServesLevelOneFirstAndKeepsOrderInside) {
  RequestQueue queue(three_levels());
  std::array<Request, 5> requests;
  const std::array<uint64_t, 5> priorities = {3, 0, 1, 99, 1};  // 0 and 99 mean the default, 2
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].schedule.priority = priorities[i];
    ASSERT_EQ(queue.push(&requests[i]), RequestQueue::Push::Taken);
  }
  std::vector<Request*> late;
  const std::vector<Request*> expected = {&requests[2], &requests[4], &requests[1], &requests[3],
                                          &requests[0]};
  EXPECT_EQ(take_all(queue, late), expected);
  EXPECT_TRUE(late.empty());
}

// Pushes a request for each of `keys`, takes one at a time, and returns the keys in that order.
std::vector<uint32_t> order_of_keys(RequestQueue& queue, std::span<Request> requests,
                                    const std::vector<uint32_t>& keys) {
  for (size_t i = 0; i < keys.size(); ++i) {
    requests[i].key = keys[i];
    EXPECT_EQ(queue.push(&requests[i]), RequestQueue::Push::Taken);
  }
  std::vector<uint32_t> out;
  std::vector<Request*> late;
  Request* one = nullptr;
  while (queue.take({&one, 1}, 0, late) == 1) out.push_back(one->key);
  return out;
}

TEST(RequestQueue, ServesAKeyWithOneRequestBeforeTheRestOfAnothers) {
  RequestQueue queue{QueueSettings()};
  std::array<Request, 8> requests;
  const std::vector<uint32_t> expected = {1, 2, 0, 1, 1, 1};
  EXPECT_EQ(order_of_keys(queue, requests, {1, 1, 1, 1, 2, 0}), expected);
  EXPECT_EQ(order_of_keys(queue, requests, {1, 1, 1, 1, 2, 0}), expected) << "nothing is saved up";
}

TEST(RequestQueue, ServesKeysByTheirWeights) {
  RequestQueue queue{QueueSettings()};
  std::array<Request, 16> requests;
  for (size_t i = 8; i < 16; ++i) requests[i].key_weight = 300;
  std::vector<uint32_t> keys(8, 1);
  keys.resize(16, 2);
  const std::vector<uint32_t> order = order_of_keys(queue, requests, keys);
  EXPECT_EQ(std::count(order.begin(), order.begin() + 8, 2), 6);
  EXPECT_EQ(order.size(), 16u);
}

// Takes requests one at a time until it gets `wanted`; returns the number of those before it.
size_t taken_before(RequestQueue& queue, const Request& wanted) {
  std::vector<Request*> late;
  Request* one = nullptr;
  size_t count = 0;
  for (; queue.take({&one, 1}, 0, late) == 1; ++count) {
    if (one == &wanted) return count;
  }
  ADD_FAILURE() << "the request did not wait";
  return count;
}

void push_all(RequestQueue& queue, std::span<Request> requests, uint32_t key) {
  for (Request& request : requests) {
    request.key = key;
    ASSERT_EQ(queue.push(&request), RequestQueue::Push::Taken);
  }
}

TEST(RequestQueue, ServesAKeysFirstRequestBeforeTheRestOfThoseWithoutAKey) {
  RequestQueue queue{QueueSettings()};
  std::array<Request, 51> requests;
  const std::span<Request> all(requests);
  push_all(queue, all.first(50), 0);
  EXPECT_EQ(taken_before(queue, requests[0]), 0u);  // runs
  push_all(queue, all.last(1), 7);
  EXPECT_EQ(taken_before(queue, requests[50]), 0u);
  EXPECT_EQ(taken_before(queue, requests[49]), 48u) << "in the order of arrival";
}

TEST(RequestQueue, RequestsThatEndUnservedCostTheirKeyNothing) {
  RequestQueue queue{QueueSettings()};
  std::array<Request, 200> others;
  push_all(queue, others, 2);
  std::array<Request, 90> ended;
  const std::span<Request> all(ended);
  push_all(queue, all.first(30), 1);
  for (Request& request : all.first(30)) EXPECT_TRUE(queue.remove(&request));
  for (Request& request : all.subspan(30, 30)) request.deadline_ns = now_ns();
  push_all(queue, all.subspan(30, 30), 1);
  std::vector<Request*> late;
  queue.expire(late);
  EXPECT_EQ(late.size(), 30u);
  push_all(queue, all.last(30), 1);
  for (Request& request : all.last(30)) request.cancel.cancel(EndCause::ClientLeft);
  Request served;
  push_all(queue, {&served, 1}, 1);
  // The cancelled requests are answered, and one of the other key may run.
  EXPECT_LE(taken_before(queue, served), 31u);
  EXPECT_EQ(queue.size(), 199u);
}

TEST(RequestQueue, RequestsThatComeBackAreNextAndCostNothingMore) {
  RequestQueue queue{QueueSettings()};
  std::array<Request, 100> first, second;
  push_all(queue, first, 1);
  push_all(queue, std::span(second).first(1), 2);
  EXPECT_EQ(taken_before(queue, first[99]), 100u);
  push_all(queue, std::span(second).subspan(1), 2);
  const std::array<Request*, 2> back = {&first[98], &first[99]};
  ASSERT_TRUE(queue.put_back(back));
  EXPECT_EQ(taken_before(queue, first[98]), 0u);
  EXPECT_EQ(taken_before(queue, first[99]), 0u);
  EXPECT_EQ(taken_before(queue, second[1]), 0u);
  Request parked, other;
  parked.key = 1;
  parked.equal_key = CacheKey{};
  ASSERT_TRUE(queue.park(&parked));
  ASSERT_TRUE(queue.unpark(CacheKey{}));
  push_all(queue, {&other, 1}, 9);
  EXPECT_EQ(taken_before(queue, parked), 0u);
  EXPECT_EQ(taken_before(queue, other), 0u);
  EXPECT_EQ(taken_before(queue, second[99]), 97u);
}

TEST(RequestQueue, KeepsTheOrderOfRequestsOfOneKey) {
  RequestQueue queue(three_levels());
  std::array<Request, 6> requests;
  for (size_t i = 0; i < requests.size(); ++i) requests[i].key = i % 2 == 0 ? 5 : 6;
  for (Request& request : requests) ASSERT_EQ(queue.push(&request), RequestQueue::Push::Taken);
  std::vector<Request*> late;
  const std::vector<Request*> expected = {&requests[0], &requests[1], &requests[2],
                                          &requests[3], &requests[4], &requests[5]};
  EXPECT_EQ(take_all(queue, late), expected);
}

TEST(RequestQueue, KeepsTheOrderOfAllRequestsOfSequences) {
  RequestQueue queue{QueueSettings()};
  queue.keep_order();
  std::array<Request, 4> requests;
  const std::vector<uint32_t> keys = {1, 1, 1, 2};
  EXPECT_EQ(order_of_keys(queue, requests, keys), keys);
}

TEST(RequestQueue, ALevelHasItsOwnLimit) {
  QueueSettings settings = three_levels();
  PriorityQueuePolicy first{1, {}};
  first.policy.requests_max = 1;
  settings.priority_policies.push_back(first);
  RequestQueue queue(settings);
  std::array<Request, 3> requests;
  requests[0].schedule.priority = requests[1].schedule.priority = 1;
  EXPECT_EQ(queue.push(&requests[0]), RequestQueue::Push::Taken);
  EXPECT_EQ(queue.push(&requests[1]), RequestQueue::Push::Full);
  EXPECT_EQ(queue.push(&requests[2]), RequestQueue::Push::Taken) << "level 2 has room";
  EXPECT_EQ(queue.limit_of(1), 1u);
  EXPECT_EQ(queue.limit_of(2), 100u);
}

TEST(RequestQueue, APolicysLimitMayBeLargerThanTheModels) {
  QueueSettings settings;
  settings.requests_max = 1;
  settings.policy.requests_max = 3;
  RequestQueue queue(settings);
  std::array<Request, 4> requests;
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(queue.push(&requests[i]), RequestQueue::Push::Taken);
  }
  EXPECT_EQ(queue.push(&requests[3]), RequestQueue::Push::Full);
  EXPECT_EQ(queue.limit_of(0), 3u);
}

TEST(RequestQueue, RejectsWhatWaitedTooLong) {
  QueueSettings settings;
  settings.policy.default_timeout_us = 1;
  RequestQueue queue(settings);
  Request request;
  queue.push(&request);
  while (now_ns() < request.policy_timeout_ns) std::this_thread::yield();
  std::vector<Request*> late;
  EXPECT_TRUE(take_all(queue, late).empty());
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0]->late, Request::Late::Timeout);
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(queue.next_expiry_ns(), kNever);
}

TEST(RequestQueue, DelaysWhatWaitedTooLongBehindTheOthers) {
  QueueSettings settings;
  settings.policy.default_timeout_us = 1;
  settings.policy.timeout_action = TimeoutAction::Delay;
  RequestQueue queue(settings);
  Request slow, quick;
  queue.push(&slow);
  while (now_ns() < slow.policy_timeout_ns) std::this_thread::yield();
  std::vector<Request*> late;
  queue.expire(late);
  EXPECT_TRUE(late.empty());
  quick.policy_timeout_ns = 0;
  queue.push(&quick);
  std::array<Request*, 1> out{};
  ASSERT_EQ(queue.take(out, 0, late), 1u);
  // The quick one may be late by now as well: then both are delayed, in order.
  if (out[0] == &quick) {
    ASSERT_EQ(queue.take(out, 0, late), 1u);
    EXPECT_EQ(out[0], &slow);
  }
  EXPECT_TRUE(late.empty());
}

TEST(RequestQueue, ARequestMayShortenItsTimeoutWhereAllowed) {
  QueueSettings settings;
  settings.policy.default_timeout_us = 1'000'000;
  Request request;
  request.schedule.timeout_us = 10;
  {
    RequestQueue queue(settings);
    queue.push(&request);
    EXPECT_GT(request.policy_timeout_ns, now_ns() + 500'000'000) << "not allowed";
  }
  settings.policy.allow_timeout_override = true;
  {
    RequestQueue queue(settings);
    queue.push(&request);
    EXPECT_LT(request.policy_timeout_ns, now_ns() + 500'000'000);
    request.schedule.timeout_us = 5'000'000;
    Request longer;
    longer.schedule.timeout_us = 5'000'000;
    queue.push(&longer);
    EXPECT_LT(longer.policy_timeout_ns, now_ns() + 1'500'000'000) << "never lengthened";
  }
}

TEST(RequestQueue, ADeadlineEndsTheWaitWhateverThePolicy) {
  QueueSettings settings;
  settings.policy.timeout_action = TimeoutAction::Delay;
  RequestQueue queue(settings);
  Request request;
  request.deadline_ns = now_ns();
  uint64_t limit_ns = 0;
  EXPECT_EQ(queue.push(&request, false, limit_ns), RequestQueue::Push::Taken);
  EXPECT_EQ(limit_ns, request.deadline_ns);
  std::vector<Request*> late;
  queue.expire(late);
  ASSERT_EQ(late.size(), 1u);
  EXPECT_EQ(late[0]->late, Request::Late::Deadline);
}

TEST(RequestQueue, TakeIfAloneTakesOnlyTheOnlyOne) {
  RequestQueue queue{QueueSettings()};
  Request first, second;
  queue.push(&first);
  EXPECT_FALSE(queue.take_if_alone(&second));
  queue.push(&second);
  EXPECT_FALSE(queue.take_if_alone(&first));
  EXPECT_TRUE(queue.remove(&second));
  EXPECT_FALSE(queue.remove(&second));
  EXPECT_TRUE(queue.take_if_alone(&first));
  EXPECT_EQ(queue.size(), 0u);
}

}  // namespace
}  // namespace serval::test
