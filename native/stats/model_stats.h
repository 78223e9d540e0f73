// The counters and histograms of one loaded model version. Recording: hot path, any thread,
// lock-free, each thread in its own shard; reading: control plane, any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/generated/engine_names.h"
#include "stats/summary_window.h"

namespace serval {

enum class Outcome : uint8_t { Success, Rejected, Cancelled, BackendFailed, Other };
inline constexpr size_t kOutcomes = 5;

// The entry point of a request: an fb::Protocol.
inline constexpr auto kEntries = static_cast<size_t>(fb::Protocol::MAX) + 1;
// TensorFlow Serving's APIs, REST and gRPC, have their own histograms. V2's (1, 2, 3) do not.
constexpr bool is_tensorflow_entry(size_t entry) { return entry == 0 || entry >= 4; }

// Upper bounds, in microseconds, of the histograms that Serval adds; +Inf follows.
inline constexpr std::array<double, 22> kLatencyBoundsUs = {
    1,    2,     5,     10,    20,     50,     100,    200,     500,     1000,    2000,
    5000, 10000, 20000, 50000, 100000, 200000, 500000, 1000000, 2000000, 5000000, 10000000};
// TensorFlow Serving's request_latency buckets: 10 * 1.8^k, 33 of them; +Inf follows.
inline constexpr size_t kTensorFlowBuckets = 33;

// The part that the response cache had in a request.
enum class CacheResult : uint8_t { None, Hit, Miss };

// One request, with any outcome. Durations in nanoseconds; 0 for steps it did not reach.
struct RequestRecord {
  uint8_t entry = 0;
  Outcome outcome = Outcome::Success;
  uint64_t queue_ns = 0, input_ns = 0, infer_ns = 0, output_ns = 0, total_ns = 0;
  uint32_t rows = 1;
  CacheResult cached = CacheResult::None;
  uint64_t cache_ns = 0;  // look-up and store in the response cache
};

// One run of the backend.
struct BatchRecord {
  uint32_t rows = 1;
  uint32_t padding_rows = 0;
  uint64_t input_ns = 0, infer_ns = 0, output_ns = 0;
};

struct Duration {
  uint64_t count = 0, ns = 0;
};

// Not cumulative: counts[i] are the samples of bucket i alone; the sums are made when text is
// written.
struct HistogramReading {
  std::vector<uint64_t> counts;    // one more than the number of bounds
  uint64_t count = 0, sum_ns = 0;  // count: the sum of counts
};

// Batch sizes below this are counted individually; larger ones at the power of two at or below.
inline constexpr uint32_t kBatchSizesExact = 4096;

struct BatchReading {
  uint64_t batch_size = 0;
  Duration input, infer, output;
};

// A sum over all shards. While threads record, a reading may include one field of a request and not
// yet another; nothing is lost, and once they have ended every number is exact.
struct StatsReading {
  uint64_t last_inference_ms = 0;  // since 1970, of the latest request with any outcome; 0 = none
  uint64_t inference_count = 0;    // rows of successful requests that ran
  uint64_t execution_count = 0;    // batches
  std::array<uint64_t, kOutcomes> outcomes{};
  std::array<std::array<uint64_t, kOutcomes>, kEntries> outcomes_by_entry{};
  // Triton's: all but `fail` are of successful requests; `input`, `infer` and `output` of those
  // that ran, so not of those that the response cache answered.
  Duration success, fail, queue, input, infer, output, cache_hit, cache_miss;
  uint64_t pending = 0;  // requests waiting now; set by the reader of the queue
  uint64_t padding_rows = 0;
  std::vector<BatchReading> batches;  // ascending
  // For the same requests as the durations: the sums are equal. Bounds: kLatencyBoundsUs.
  HistogramReading request_us, queue_us, input_us, infer_us, output_us;
  // For successful requests: total and infer. Without counts if the entry is not TensorFlow's or
  // had no success yet.
  std::array<HistogramReading, kEntries> tensorflow_request_us;
  std::array<HistogramReading, kEntries> tensorflow_runtime_us;
  HistogramReading batch_rows;  // powers of two: 1, 2, 4 ... 8192; sum_ns unused
  uint64_t batch_rows_sum = 0;
  // Latencies of the same requests in about the last minute; empty if the model has no summaries.
  SummaryCounts recent;
};

class ModelStats {
 public:
  // `summaries`: also keeps latencies of the last minute, 160 KB for each thread that records.
  explicit ModelStats(bool summaries = false);
  ~ModelStats();
  ModelStats(const ModelStats&) = delete;
  ModelStats& operator=(const ModelStats&) = delete;

  // Hot path; a few plain stores into the calling thread's shard (made at its first record),
  // without a locked instruction except in the shard shared by threads beyond the 255th. entry <
  // kEntries.
  void record(const RequestRecord& request);
  void record(const BatchRecord& batch);

  StatsReading read() const;

 private:
  struct Shard;
  Shard& shard_of(uint32_t thread);
  const bool summaries_;
  // In pages that the first record of one of their threads makes: most of many models have none.
  static constexpr size_t kPageShards = 16;
  using Page = std::array<std::atomic<Shard*>, kPageShards>;
  std::array<std::atomic<Page*>, 256 / kPageShards> pages_{};  // by thread_index(); owned
};

}  // namespace serval
