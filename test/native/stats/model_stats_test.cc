// The counters of one model: what each outcome adds, buckets, batch sizes, and sums over threads.
#include "stats/model_stats.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "stats/thread_index.h"

namespace serval {
namespace {

constexpr RequestRecord kOk = {1, Outcome::Success, 1'500, 2'500, 30'000, 700, 40'000, 3};

uint64_t sum(const std::vector<uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
}

uint64_t of(const StatsReading& reading, Outcome outcome) {
  return reading.outcomes[static_cast<size_t>(outcome)];
}

TEST(ModelStats, BeforeTheFirstRecordEverythingIsZeroAndEveryBucketIsThere) {
  const StatsReading reading = ModelStats().read();
  EXPECT_EQ(reading.last_inference_ms, 0u);
  EXPECT_EQ(reading.inference_count, 0u);
  EXPECT_EQ(reading.execution_count, 0u);
  EXPECT_EQ(reading.success.count, 0u);
  EXPECT_EQ(reading.fail.count, 0u);
  EXPECT_TRUE(reading.batches.empty());
  EXPECT_EQ(reading.request_us.counts, std::vector<uint64_t>(23));
  EXPECT_EQ(reading.output_us.counts, std::vector<uint64_t>(23));
  EXPECT_EQ(reading.batch_rows.counts, std::vector<uint64_t>(15));
}

TEST(ModelStats, ASuccessCountsRowsDurationsAndBuckets) {
  ModelStats stats;
  stats.record(kOk);
  stats.record(kOk);
  const StatsReading reading = stats.read();
  EXPECT_EQ(of(reading, Outcome::Success), 2u);
  EXPECT_EQ(reading.outcomes_by_entry[1][0], 2u);
  EXPECT_EQ(reading.outcomes_by_entry[0][0], 0u);
  EXPECT_EQ(reading.inference_count, 6u);
  EXPECT_EQ(reading.success.count, 2u);
  EXPECT_EQ(reading.success.ns, 80'000u);
  EXPECT_EQ(reading.queue.count, 2u);
  EXPECT_EQ(reading.queue.ns, 3'000u);
  EXPECT_EQ(reading.input.ns, 5'000u);
  EXPECT_EQ(reading.infer.ns, 60'000u);
  EXPECT_EQ(reading.output.ns, 1'400u);
  EXPECT_EQ(reading.fail.count, 0u);
  EXPECT_EQ(reading.fail.ns, 0u);
  EXPECT_EQ(reading.request_us.counts[5], 2u);  // 20 us < 40 us <= 50 us
  EXPECT_EQ(reading.queue_us.counts[1], 2u);
  EXPECT_EQ(reading.input_us.counts[2], 2u);
  EXPECT_EQ(reading.infer_us.counts[5], 2u);
  EXPECT_EQ(reading.output_us.counts[0], 2u);
  EXPECT_EQ(reading.request_us.count, 2u);
  EXPECT_EQ(reading.request_us.sum_ns, 80'000u);
  EXPECT_EQ(reading.execution_count, 0u);  // batches are recorded on their own
}

TEST(ModelStats, EveryOtherOutcomeCountsAsAFailureAndTouchesNothingElse) {
  for (const Outcome outcome :
       {Outcome::Rejected, Outcome::Cancelled, Outcome::BackendFailed, Outcome::Other}) {
    ModelStats stats;
    RequestRecord request = kOk;
    request.entry = 2;
    request.outcome = outcome;
    stats.record(request);
    const StatsReading reading = stats.read();
    EXPECT_EQ(of(reading, outcome), 1u);
    EXPECT_EQ(reading.outcomes_by_entry[2][static_cast<size_t>(outcome)], 1u);
    EXPECT_EQ(of(reading, Outcome::Success), 0u);
    EXPECT_EQ(reading.fail.count, 1u);
    EXPECT_EQ(reading.fail.ns, 40'000u);
    EXPECT_EQ(reading.success.count, 0u);
    EXPECT_EQ(reading.success.ns, 0u);
    EXPECT_EQ(reading.queue.count, 0u);
    EXPECT_EQ(reading.infer.ns, 0u);
    EXPECT_EQ(reading.inference_count, 0u);
    EXPECT_EQ(reading.request_us.count, 0u);
    EXPECT_EQ(sum(reading.request_us.counts), 0u);
    EXPECT_NE(reading.last_inference_ms, 0u);
  }
}

TEST(ModelStats, TheLastInferenceIsNow) {
  const auto wall_ms = [] {
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                     std::chrono::system_clock::now().time_since_epoch())
                                     .count());
  };
  ModelStats stats;
  const uint64_t before = wall_ms();
  stats.record(kOk);
  const uint64_t last = stats.read().last_inference_ms;
  EXPECT_GE(last, before - 50);  // the coarse clock may be a kernel tick late
  EXPECT_LE(last, wall_ms());
}

TEST(ModelStats, TensorFlowHistogramsAreKeptOnlyForItsEntries) {
  ModelStats stats;
  for (uint8_t entry = 0; entry < kEntries; ++entry) {
    RequestRecord request = kOk;
    request.entry = entry;
    stats.record(request);
  }
  const StatsReading reading = stats.read();
  for (size_t entry = 0; entry < kEntries; ++entry) {
    const HistogramReading& whole = reading.tensorflow_request_us[entry];
    const HistogramReading& runtime = reading.tensorflow_runtime_us[entry];
    if (entry >= 1 && entry <= 3) {
      EXPECT_TRUE(whole.counts.empty());
      EXPECT_TRUE(runtime.counts.empty());
      continue;
    }
    ASSERT_EQ(whole.counts.size(), kTensorFlowBuckets + 1);
    EXPECT_EQ(whole.counts[3], 1u);    // 32.4 us < 40 us <= 58.32 us
    EXPECT_EQ(runtime.counts[2], 1u);  // 18 us < 30 us <= 32.4 us
    EXPECT_EQ(whole.count, 1u);
    EXPECT_EQ(whole.sum_ns, 40'000u);
    EXPECT_EQ(runtime.sum_ns, 30'000u);
  }
}

TEST(ModelStats, AFailureIsInNoTensorFlowHistogram) {
  ModelStats stats;
  stats.record(RequestRecord{0, Outcome::Cancelled, 1, 1, 1, 1, 1, 1});
  const StatsReading reading = stats.read();
  EXPECT_EQ(reading.tensorflow_request_us[0].count, 0u);
  EXPECT_EQ(reading.outcomes_by_entry[0][2], 1u);
}

TEST(ModelStats, BatchSizesAreKeptApartAndAscend) {
  ModelStats stats;
  const uint32_t sizes[] = {64, 1, 63, 4095, 1, 65, 0};
  for (const uint32_t size : sizes) stats.record(BatchRecord{size, 2, 10, 20, 30});
  const StatsReading reading = stats.read();
  EXPECT_EQ(reading.execution_count, 7u);
  EXPECT_EQ(reading.padding_rows, 14u);
  EXPECT_EQ(reading.batch_rows_sum, 64u + 1 + 63 + 4095 + 1 + 65);
  std::vector<uint64_t> seen;
  for (const BatchReading& batch : reading.batches) {
    seen.push_back(batch.batch_size);
    const uint64_t times = batch.batch_size == 1 ? 2 : 1;
    EXPECT_EQ(batch.input.count, times);
    EXPECT_EQ(batch.infer.count, times);
    EXPECT_EQ(batch.output.count, times);
    EXPECT_EQ(batch.input.ns, times * 10);
    EXPECT_EQ(batch.infer.ns, times * 20);
    EXPECT_EQ(batch.output.ns, times * 30);
  }
  EXPECT_EQ(seen, (std::vector<uint64_t>{0, 1, 63, 64, 65, 4095}));
}

TEST(ModelStats, LargerBatchesAreCountedAtThePowerOfTwoBelow) {
  ModelStats stats;
  for (const uint32_t size : {4096u, 8191u, 8192u, 1'000'000u, UINT32_MAX}) {
    stats.record(BatchRecord{size, 0, 1, 1, 1});
  }
  std::vector<std::pair<uint64_t, uint64_t>> seen;
  for (const BatchReading& batch : stats.read().batches) {
    seen.emplace_back(batch.batch_size, batch.infer.count);
  }
  EXPECT_EQ(seen, (std::vector<std::pair<uint64_t, uint64_t>>{
                      {4096, 2}, {8192, 1}, {524288, 1}, {2147483648, 1}}));
}

TEST(ModelStats, BatchRowsFallIntoPowersOfTwo) {
  ModelStats stats;
  for (const uint32_t rows : {0u, 1u, 2u, 3u, 4u, 5u, 8192u, 8193u, UINT32_MAX}) {
    stats.record(BatchRecord{rows, 0, 0, 0, 0});
  }
  EXPECT_EQ(stats.read().batch_rows.counts,
            (std::vector<uint64_t>{2, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}));
  EXPECT_EQ(stats.read().batch_rows.count, 9u);
}

TEST(ModelStats, ModelsDoNotMix) {
  ModelStats one, other;
  one.record(kOk);
  other.record(BatchRecord{7, 0, 1, 1, 1});
  EXPECT_EQ(one.read().execution_count, 0u);
  EXPECT_EQ(other.read().success.count, 0u);
}

// Gives every thread its own share, so that the sums over threads are known.
RequestRecord request_of(size_t thread, size_t turn) {
  const auto outcome = static_cast<Outcome>(turn % kOutcomes);
  return {static_cast<uint8_t>(thread % kEntries),
          outcome,
          turn,
          2 * turn,
          3 * turn,
          4 * turn,
          10 * turn,
          2};
}

TEST(ModelStats, SumsAreExactOnceTheThreadsHaveEndedAndNeverFallWhileTheyRecord) {
  constexpr size_t kThreads = 4;
  constexpr size_t kTurns = 20'000;
  ModelStats stats;
  std::atomic<size_t> running{kThreads};
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t turn = 0; turn < kTurns; ++turn) {
        stats.record(request_of(thread, turn));
        stats.record(BatchRecord{static_cast<uint32_t>(turn % 200), 1, turn, 1, 1});
      }
      running.fetch_sub(1);
    });
  }
  uint64_t successes = 0, executions = 0;
  while (running.load() != 0) {
    const StatsReading reading = stats.read();
    ASSERT_GE(reading.success.count, successes);
    ASSERT_GE(reading.execution_count, executions);
    ASSERT_EQ(reading.infer_us.count, sum(reading.infer_us.counts));
    successes = reading.success.count;
    executions = reading.execution_count;
  }
  for (std::thread& thread : threads) thread.join();
  const StatsReading reading = stats.read();
  uint64_t success_turns = 0, fail_turns = 0;
  for (size_t turn = 0; turn < kTurns; ++turn) {
    (turn % kOutcomes == 0 ? success_turns : fail_turns) += turn;
  }
  constexpr uint64_t kSuccesses = kThreads * kTurns / kOutcomes;
  for (const uint64_t count : reading.outcomes) EXPECT_EQ(count, kSuccesses);
  EXPECT_EQ(reading.inference_count, 2 * kSuccesses);
  EXPECT_EQ(reading.success.ns, kThreads * 10 * success_turns);
  EXPECT_EQ(reading.fail.ns, kThreads * 10 * fail_turns);
  EXPECT_EQ(reading.queue.ns, kThreads * success_turns);
  EXPECT_EQ(reading.output.ns, kThreads * 4 * success_turns);
  EXPECT_EQ(sum(reading.request_us.counts), kSuccesses);
  EXPECT_EQ(reading.execution_count, kThreads * kTurns);
  EXPECT_EQ(reading.batches.size(), 200u);
  for (const BatchReading& batch : reading.batches) {
    EXPECT_EQ(batch.infer.count, kThreads * kTurns / 200);
  }
}

constexpr uint64_t kRoundTurns = 64;

void record_round(ModelStats& stats) {
  for (uint64_t turn = 0; turn < kRoundTurns; ++turn) stats.record(kOk);
  for (uint64_t turn = 0; turn < kRoundTurns; ++turn) stats.record(BatchRecord{5, 0, 1, 2, 3});
}

// Two threads that record until each has often seen the other progress between two of its rounds,
// so that they really meet in the shared shard.
class Duel {
 public:
  // `me` is 0 or 1. Returns the rounds recorded.
  uint64_t run(size_t me, ModelStats& stats) {
    arrived_.fetch_add(1);
    while (arrived_.load() < 2) std::this_thread::yield();
    uint64_t rounds = 0, last = 0;
    for (int sightings = 0; sightings < kSightings && rounds < kRoundsMax; ++rounds) {
      record_round(stats);
      rounds_[me].store(rounds + 1, std::memory_order_relaxed);
      const uint64_t other = rounds_[1 - me].load(std::memory_order_relaxed);
      if (other == kEnded) sightings = kSightings;
      if (other != last) ++sightings;
      last = other;
    }
    rounds_[me].store(kEnded, std::memory_order_relaxed);
    return rounds;
  }

 private:
  static constexpr int kSightings = 1'000;
  static constexpr uint64_t kRoundsMax = 30'000;
  static constexpr uint64_t kEnded = UINT64_MAX;
  std::atomic<int> arrived_{0};
  std::array<std::atomic<uint64_t>, 2> rounds_{};
};

TEST(ModelStats, ThreeHundredThreadsAtOnceShareTheLastShardAndLoseNothing) {
  constexpr size_t kThreads = 300;
  ModelStats stats;
  Duel duel;
  std::vector<uint32_t> indexes(kThreads);
  std::atomic<uint64_t> turns_all{0};
  std::atomic<size_t> shared_threads{0};
  std::barrier everyone(static_cast<std::ptrdiff_t>(kThreads));
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      indexes[thread] = thread_index();
      const size_t place = indexes[thread] == kSharedThreadIndex ? shared_threads.fetch_add(1) : 2;
      everyone.arrive_and_wait();  // no index is returned before all threads have one
      record_round(stats);
      turns_all.fetch_add(kRoundTurns * (1 + (place < 2 ? duel.run(place, stats) : 0)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const StatsReading reading = stats.read();
  const uint64_t turns = turns_all.load();
  EXPECT_EQ(reading.success.count, turns);
  EXPECT_EQ(reading.success.ns, turns * 40'000);
  EXPECT_EQ(sum(reading.request_us.counts), turns);
  EXPECT_EQ(reading.execution_count, turns);
  ASSERT_EQ(reading.batches.size(), 1u);
  EXPECT_EQ(reading.batches[0].output.ns, turns * 3);
  std::set<uint32_t> own;
  for (const uint32_t index : indexes) {
    if (index == kSharedThreadIndex) continue;
    EXPECT_TRUE(own.insert(index).second) << "index " << index << " was given out twice";
  }
  EXPECT_GE(shared_threads.load(), kThreads - 255);
  EXPECT_GT(own.size(), 250u);
}

TEST(ModelStats, ThreadsThatComeAndGoDoNotUseUpTheIndexes) {
  ModelStats stats;
  std::set<uint32_t> indexes;
  for (size_t turn = 0; turn < 600; ++turn) {
    std::thread([&] {
      stats.record(kOk);
      indexes.insert(thread_index());
    }).join();
  }
  EXPECT_EQ(stats.read().success.count, 600u);
  EXPECT_EQ(indexes.size(), 1u);
  EXPECT_EQ(indexes.count(kSharedThreadIndex), 0u);
}

TEST(ModelStats, AThreadKeepsItsIndexWhileItLives) {
  std::thread([] {
    const uint32_t first = thread_index();
    EXPECT_LT(first, kSharedThreadIndex);
    EXPECT_EQ(thread_index(), first);
  }).join();
}

// Created before the thread has an index, so destroyed after the index was returned.
struct LateRecorder {
  ~LateRecorder() {
    if (stats == nullptr) return;
    stats->record(kOk);
    *index = thread_index();
  }
  ModelStats* stats = nullptr;
  uint32_t* index = nullptr;
};

TEST(ModelStats, WhatAnEndingThreadStillRecordsIsCountedInTheSharedShard) {
  ModelStats stats;
  uint32_t late_index = 0;
  std::thread([&] {
    thread_local LateRecorder late;
    late.stats = &stats;
    late.index = &late_index;
    stats.record(kOk);
  }).join();
  EXPECT_EQ(stats.read().success.count, 2u);
  EXPECT_EQ(late_index, kSharedThreadIndex);
}

}  // namespace
}  // namespace serval
