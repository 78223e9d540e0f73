// choose_batch and padded_rows: each rule by hand, then thousands of random queues against the
// rules written out prefix by prefix.
#include <gtest/gtest.h>

#include <random>

#include "batch/batch_policy.h"

namespace serval {
namespace {

constexpr uint64_t kNsPerUs = 1000;

BatchPolicy policy(uint32_t rows_max, uint32_t delay_us, std::vector<uint32_t> preferred = {}) {
  BatchPolicy out;
  out.mode = BatchMode::On;
  out.rows_max = rows_max;
  out.delay_us = delay_us;
  out.preferred_rows = std::move(preferred);
  return out;
}

BatchChoice choose(const BatchPolicy& policy, std::vector<uint32_t> rows, uint64_t wait_ns = 0,
                   bool closing = false) {
  return choose_batch(policy, {rows, wait_ns, closing});
}

void expect_taken(const BatchChoice& choice, size_t requests) {
  EXPECT_EQ(choice.requests, requests);
  EXPECT_EQ(choice.wait_ns, 0u);
}

void expect_waits(const BatchChoice& choice, uint64_t wait_ns) {
  EXPECT_EQ(choice.requests, 0u);
  EXPECT_EQ(choice.wait_ns, wait_ns);
}

TEST(ChooseBatch, FullBatchesLeaveAtOnce) {
  expect_taken(choose(policy(8, 100), {4, 4}), 2);     // rows_max exactly
  expect_taken(choose(policy(8, 100), {4, 3, 2}), 2);  // the next does not fit
  expect_taken(choose(policy(8, 100), {8, 1}), 1);
  expect_taken(choose(policy(8, 100), {0, 9}), 1);  // a choice is never empty
  expect_taken(choose(policy(1, 100), {1, 1, 1}), 1);
}

TEST(ChooseBatch, ARequestOverTheLimitGoesAlone) {
  expect_taken(choose(policy(8, 100), {9, 1}), 1);
  expect_taken(choose(policy(8, 100), {9}), 1);
  expect_taken(choose(policy(0, 100), {1, 1}), 1);  // no limit was set
  expect_taken(choose(policy(8, 100, {4}), {100, 4}), 1);
}

TEST(ChooseBatch, WaitsForCompany) {
  expect_waits(choose(policy(8, 100), {4, 3}), 100 * kNsPerUs);
  expect_waits(choose(policy(8, 100), {4, 3}, 99'999), 1);
  expect_waits(choose(policy(8, 100), {0}), 100 * kNsPerUs);
  expect_waits(choose(policy(8, UINT32_MAX), {1}), uint64_t{UINT32_MAX} * kNsPerUs);
}

TEST(ChooseBatch, DelayZeroTimeOutAndClosingTakeAll) {
  expect_taken(choose(policy(8, 0), {4, 3}), 2);
  expect_taken(choose(policy(8, 100), {4, 3}, 100'000), 2);
  expect_taken(choose(policy(8, 100), {4, 3}, UINT64_MAX), 2);
  expect_taken(choose(policy(8, 100), {4, 3}, 0, true), 2);
  expect_taken(choose(policy(8, 100, {4}), {3}, 0, true), 1);
}

TEST(ChooseBatch, PreferredSizesLeaveAtOnce) {
  expect_taken(choose(policy(16, 100, {4, 8}), {4}), 1);
  expect_taken(choose(policy(16, 100, {4, 8}), {2, 2, 2}), 2);
  // the largest preferred size that is reached
  expect_taken(choose(policy(16, 100, {4, 8}), {4, 4, 1}), 2);
  expect_taken(choose(policy(16, 100, {4, 8}), {4, 5, 7}), 1);  // 16 is full, 4 is preferred
  // a request without rows joins the batch
  expect_taken(choose(policy(16, 100, {4, 8}), {4, 0, 1}), 2);
  expect_taken(choose(policy(16, 0, {4, 8}), {4, 1}), 1);
}

TEST(ChooseBatch, PreferredSizesThatAreMissed) {
  expect_waits(choose(policy(16, 100, {4, 8}), {3}), 100 * kNsPerUs);
  expect_waits(choose(policy(16, 100, {4, 8}), {3, 2}), 100 * kNsPerUs);  // 8 may still be reached
  expect_taken(choose(policy(16, 100, {4, 8}), {3, 6}), 2);               // 8 cannot be reached
  expect_taken(choose(policy(16, 100, {4, 8}), {3, 6, 9}), 2);            // all that fits
  expect_taken(choose(policy(16, 0, {4, 8}), {3}), 1);
  expect_taken(choose(policy(16, 100, {4, 8}), {3}, 100'000), 1);
}

TEST(ChooseBatch, SumsOfRowsDoNotWrap) {
  // 2^32 - 1 + 2 is 1 in 32 bits.
  expect_taken(choose(policy(8, 100), {UINT32_MAX, 2}), 1);
  expect_taken(choose(policy(UINT32_MAX, 100), {UINT32_MAX - 1, 2}), 1);
  expect_taken(choose(policy(UINT32_MAX, 100), {UINT32_MAX - 1, 1}), 2);
  expect_waits(choose(policy(UINT32_MAX, 1), {UINT32_MAX - 1}), kNsPerUs);
  expect_taken(choose(policy(10, 100, {2}), {4, UINT32_MAX - 1}), 1);
}

uint64_t sum_of(const std::vector<uint32_t>& rows, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += rows[i];
  return sum;
}

// The rules written again, with one pass per rule.
BatchChoice expected_choice(const BatchPolicy& policy, const std::vector<uint32_t>& rows,
                            uint64_t wait_ns, bool closing) {
  size_t fits = 1;
  for (size_t n = 1; n <= rows.size(); ++n) {
    if (sum_of(rows, n) <= policy.rows_max) fits = n;
  }
  for (size_t at = policy.preferred_rows.size(); at-- > 0;) {
    for (size_t n = fits; n > 0; --n) {
      if (sum_of(rows, n) == policy.preferred_rows[at]) return {n, 0};
    }
  }
  const bool full = fits < rows.size() || sum_of(rows, fits) >= policy.rows_max;
  const bool past =
      !policy.preferred_rows.empty() && sum_of(rows, fits) > policy.preferred_rows.back();
  const uint64_t delay_ns = policy.delay_us * kNsPerUs;
  if (full || past || closing || wait_ns >= delay_ns) return {fits, 0};
  return {0, delay_ns - wait_ns};
}

TEST(ChooseBatch, RandomQueues) {
  std::mt19937 random(20240607);
  const auto below = [&random](uint32_t end) { return static_cast<uint32_t>(random() % end); };
  size_t waited = 0;
  for (int round = 0; round < 20'000; ++round) {
    BatchPolicy one = policy(1 + below(24), below(3) * 50);
    for (uint32_t size = 1 + below(8); size <= one.rows_max; size += 1 + below(8)) {
      if (below(2) == 0) one.preferred_rows.push_back(size);
    }
    std::vector<uint32_t> rows(1 + below(8));
    for (uint32_t& count : rows) count = below(below(4) == 0 ? 32 : 6);
    const uint64_t wait_ns = below(120) * kNsPerUs;
    const bool closing = below(8) == 0;
    const BatchChoice got = choose_batch(one, {rows, wait_ns, closing});
    const BatchChoice expected = expected_choice(one, rows, wait_ns, closing);
    ASSERT_EQ(got.requests, expected.requests) << "round " << round;
    ASSERT_EQ(got.wait_ns, expected.wait_ns) << "round " << round;
    waited += got.requests == 0;
  }
  EXPECT_GT(waited, 1000u) << "the queues are too full to try the waits";
}

TEST(PaddedRows, NextAllowedSize) {
  BatchPolicy one = policy(32, 0);
  one.allowed_rows = {4, 8, 32};
  EXPECT_EQ(padded_rows(one, 0), 4u);
  EXPECT_EQ(padded_rows(one, 1), 4u);
  EXPECT_EQ(padded_rows(one, 4), 4u);
  EXPECT_EQ(padded_rows(one, 5), 8u);
  EXPECT_EQ(padded_rows(one, 9), 32u);
  EXPECT_EQ(padded_rows(one, 32), 32u);
}

TEST(PaddedRows, RowsThemselvesWhereNoneIsAllowed) {
  BatchPolicy one = policy(32, 0);
  EXPECT_EQ(padded_rows(one, 0), 0u);
  EXPECT_EQ(padded_rows(one, 7), 7u);
  one.allowed_rows = {4};
  EXPECT_EQ(padded_rows(one, 5), 5u);
  EXPECT_EQ(padded_rows(one, UINT32_MAX), UINT32_MAX);
}

}  // namespace
}  // namespace serval
