// Implements the statistics of a model version. Recording: hot path, any thread; reads no clock but
// the coarse one.
//
// A shard has one writer: the thread whose index it has (thread_index.h), so that a counter is a
// relaxed load and store. The last shard is shared and adds with a locked instruction. Rarely
// needed parts are allocated at first use: batch sizes in pages of 64, TensorFlow's histograms per
// entry. A model with two recording threads takes about 12 KB.
#include "stats/model_stats.h"

#include <ctime>

#include <algorithm>
#include <cassert>
#include <mutex>

#include "stats/histogram.h"
#include "stats/thread_index.h"

namespace serval {

namespace {

using Counter = std::atomic<uint64_t>;

enum class Writers : uint8_t { One, Many };

template <Writers kWriters>
void add(Counter& counter, uint64_t amount) {
  if constexpr (kWriters == Writers::One) {
    counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  } else {
    counter.fetch_add(amount, std::memory_order_relaxed);
  }
}

uint64_t value_of(const Counter& counter) { return counter.load(std::memory_order_relaxed); }

// Returns the object that `place` owns; the first thread that needs it makes it.
template <typename T>
T& made(std::atomic<T*>& place) {
  T* found = place.load(std::memory_order_acquire);
  if (found != nullptr) [[likely]]
    return *found;
  auto fresh = std::make_unique<T>();
  if (!place.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel,
                                     std::memory_order_acquire)) {
    return *found;
  }
  return *fresh.release();
}

template <typename T>
void free_made(std::atomic<T*>& place) {
  std::unique_ptr<T>(place.exchange(nullptr, std::memory_order_acquire)).reset();
}

#ifdef CLOCK_REALTIME_COARSE
constexpr clockid_t kWallClock = CLOCK_REALTIME_COARSE;
#else
constexpr clockid_t kWallClock = CLOCK_REALTIME;
#endif

uint64_t wall_ms() {
  timespec now{};
  clock_gettime(kWallClock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 + static_cast<uint64_t>(now.tv_nsec) / 1000000;
}

template <size_t N>
using Counters = std::array<Counter, N>;

using LatencyCounters = Counters<kLatencyBoundsUs.size() + 1>;
using TensorFlowCounters = Counters<kTensorFlowBuckets + 1>;

// One quantity of successful requests.
struct Latency {
  Counter sum_ns{0};
  LatencyCounters buckets{};

  template <Writers kWriters>
  void record(uint64_t ns) {
    add<kWriters>(sum_ns, ns);
    add<kWriters>(buckets[kLatencyBucket.of(ns)], 1);
  }
};

struct TensorFlowLatency {
  Counter request_ns{0}, runtime_ns{0};
  TensorFlowCounters request{}, runtime{};
};

struct CacheCounters {
  Counter count{0}, ns{0};
};

struct BatchCell {
  Counter count{0}, input_ns{0}, infer_ns{0}, output_ns{0};
};

// Sizes [64 * page, 64 * page + 64); the page after the exact ones holds powers of two.
constexpr size_t kPageSizes = 64;
constexpr size_t kExactPages = kBatchSizesExact / kPageSizes;
constexpr int kExactWidth = std::bit_width(kBatchSizesExact);
using BatchPage = std::array<BatchCell, kPageSizes>;

struct BatchPlace {
  size_t page, cell;
};

BatchPlace place_of(uint32_t rows) {
  if (rows < kBatchSizesExact) return {rows / kPageSizes, rows % kPageSizes};
  return {kExactPages, static_cast<size_t>(std::bit_width(rows) - kExactWidth)};
}

uint64_t batch_size_at(size_t page, size_t cell) {
  if (page < kExactPages) return page * kPageSizes + cell;
  return uint64_t{kBatchSizesExact} << cell;
}

template <size_t N>
void add_histogram(const Counters<N>& counters, const Counter* sum_ns, HistogramReading& out) {
  out.counts.resize(N);
  for (size_t i = 0; i < N; ++i) {
    const uint64_t count = value_of(counters[i]);
    out.counts[i] += count;
    out.count += count;
  }
  if (sum_ns != nullptr) out.sum_ns += value_of(*sum_ns);
}

void add_latency(const Latency& latency, Duration& duration, HistogramReading& out) {
  add_histogram(latency.buckets, &latency.sum_ns, out);
  duration.ns += value_of(latency.sum_ns);
}

}  // namespace

struct alignas(64) ModelStats::Shard {
  Shard() = default;
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;
  ~Shard() {
    for (auto& page : batches) free_made(page);
    for (auto& entry : tensorflow) free_made(entry);
    free_made(window);
  }

  template <Writers kWriters>
  void record(const RequestRecord& request);
  template <Writers kWriters>
  void record_tensorflow(size_t entry, const RequestRecord& done);
  template <Writers kWriters>
  void record(const BatchRecord& batch);
  void record_summaries(const RequestRecord& done);
  void read_requests(StatsReading& out) const;
  void read_batches(StatsReading& out) const;

  Counter last_inference_ms{0};
  Counter rows{0}, fail_ns{0};
  Latency request, queue, input, infer, output;
  CacheCounters hits, misses;
  std::array<Counters<kOutcomes>, kEntries> outcomes{};
  Counter executions{0}, executed_rows{0}, padding_rows{0};
  Counters<kBatchRowsBounds + 1> batch_rows{};
  std::array<std::atomic<BatchPage*>, kExactPages + 1> batches{};      // owned
  std::array<std::atomic<TensorFlowLatency*>, kEntries> tensorflow{};  // owned
  std::atomic<SummaryWindow*> window{nullptr};                         // owned
  std::mutex window_mutex;  // held to record in the shared shard
};

template <Writers kWriters>
void ModelStats::Shard::record(const RequestRecord& done) {
  assert(done.entry < kEntries && static_cast<size_t>(done.outcome) < kOutcomes);
  const size_t entry = done.entry % kEntries;
  last_inference_ms.store(wall_ms(), std::memory_order_relaxed);
  add<kWriters>(outcomes[entry][static_cast<size_t>(done.outcome)], 1);
  if (done.outcome != Outcome::Success) {
    add<kWriters>(fail_ns, done.total_ns);
    return;
  }
  request.record<kWriters>(done.total_ns);
  queue.record<kWriters>(done.queue_ns);
  if (done.cached != CacheResult::None) {
    CacheCounters& counters = done.cached == CacheResult::Hit ? hits : misses;
    add<kWriters>(counters.count, 1);
    add<kWriters>(counters.ns, done.cache_ns);
  }
  if (is_tensorflow_entry(entry)) record_tensorflow<kWriters>(entry, done);
  if (done.cached == CacheResult::Hit) return;
  add<kWriters>(rows, done.rows);
  input.record<kWriters>(done.input_ns);
  infer.record<kWriters>(done.infer_ns);
  output.record<kWriters>(done.output_ns);
}

template <Writers kWriters>
void ModelStats::Shard::record_tensorflow(size_t entry, const RequestRecord& done) {
  TensorFlowLatency& latency = made(tensorflow[entry]);
  add<kWriters>(latency.request_ns, done.total_ns);
  add<kWriters>(latency.runtime_ns, done.infer_ns);
  add<kWriters>(latency.request[kTensorFlowBucket.of(done.total_ns)], 1);
  add<kWriters>(latency.runtime[kTensorFlowBucket.of(done.infer_ns)], 1);
}

// Records successful requests only, like the other durations.
void ModelStats::Shard::record_summaries(const RequestRecord& done) {
  if (done.outcome != Outcome::Success) return;
  SummaryWindow& recent = made(window);
  const uint64_t at_ms = wall_ms();
  recent.record(Summary::Request, done.total_ns, at_ms);
  recent.record(Summary::Queue, done.queue_ns, at_ms);
  if (done.cached != CacheResult::None) {
    const bool is_hit = done.cached == CacheResult::Hit;
    recent.record(is_hit ? Summary::CacheHit : Summary::CacheMiss, done.cache_ns, at_ms);
    if (is_hit) return;
  }
  recent.record(Summary::Input, done.input_ns, at_ms);
  recent.record(Summary::Infer, done.infer_ns, at_ms);
  recent.record(Summary::Output, done.output_ns, at_ms);
}

template <Writers kWriters>
void ModelStats::Shard::record(const BatchRecord& batch) {
  add<kWriters>(executions, 1);
  add<kWriters>(executed_rows, batch.rows);
  add<kWriters>(padding_rows, batch.padding_rows);
  add<kWriters>(batch_rows[batch_rows_bucket(batch.rows)], 1);
  const BatchPlace place = place_of(batch.rows);
  BatchCell& cell = made(batches[place.page])[place.cell];
  add<kWriters>(cell.count, 1);
  add<kWriters>(cell.input_ns, batch.input_ns);
  add<kWriters>(cell.infer_ns, batch.infer_ns);
  add<kWriters>(cell.output_ns, batch.output_ns);
}

void ModelStats::Shard::read_requests(StatsReading& out) const {
  out.last_inference_ms = std::max(out.last_inference_ms, value_of(last_inference_ms));
  out.inference_count += value_of(rows);
  out.fail.ns += value_of(fail_ns);
  out.cache_hit.count += value_of(hits.count);
  out.cache_hit.ns += value_of(hits.ns);
  out.cache_miss.count += value_of(misses.count);
  out.cache_miss.ns += value_of(misses.ns);
  for (size_t entry = 0; entry < kEntries; ++entry) {
    for (size_t outcome = 0; outcome < kOutcomes; ++outcome) {
      const uint64_t count = value_of(outcomes[entry][outcome]);
      out.outcomes_by_entry[entry][outcome] += count;
      out.outcomes[outcome] += count;
    }
  }
  add_latency(request, out.success, out.request_us);
  add_latency(queue, out.queue, out.queue_us);
  add_latency(input, out.input, out.input_us);
  add_latency(infer, out.infer, out.infer_us);
  add_latency(output, out.output, out.output_us);
  for (size_t entry = 0; entry < kEntries; ++entry) {
    const TensorFlowLatency* latency = tensorflow[entry].load(std::memory_order_acquire);
    if (latency == nullptr) continue;
    add_histogram(latency->request, &latency->request_ns, out.tensorflow_request_us[entry]);
    add_histogram(latency->runtime, &latency->runtime_ns, out.tensorflow_runtime_us[entry]);
  }
}

void ModelStats::Shard::read_batches(StatsReading& out) const {
  out.execution_count += value_of(executions);
  out.padding_rows += value_of(padding_rows);
  out.batch_rows_sum += value_of(executed_rows);
  add_histogram(batch_rows, nullptr, out.batch_rows);
}

ModelStats::ModelStats(bool summaries) : summaries_(summaries) {}

ModelStats::~ModelStats() {
  for (auto& page : pages_) {
    Page* const shards = page.load(std::memory_order_acquire);
    if (shards == nullptr) continue;
    for (auto& shard : *shards) free_made(shard);
    free_made(page);
  }
}

ModelStats::Shard& ModelStats::shard_of(uint32_t thread) {
  return made(made(pages_[thread / kPageShards])[thread % kPageShards]);
}

void ModelStats::record(const RequestRecord& request) {
  const uint32_t thread = thread_index();
  Shard& shard = shard_of(thread);
  if (thread == kSharedThreadIndex) [[unlikely]] {
    shard.record<Writers::Many>(request);
    if (!summaries_) return;
    std::lock_guard lock(shard.window_mutex);
    return shard.record_summaries(request);
  }
  shard.record<Writers::One>(request);
  if (summaries_) [[unlikely]]
    shard.record_summaries(request);
}

void ModelStats::record(const BatchRecord& batch) {
  const uint32_t thread = thread_index();
  Shard& shard = shard_of(thread);
  if (thread == kSharedThreadIndex) [[unlikely]]
    return shard.record<Writers::Many>(batch);
  shard.record<Writers::One>(batch);
}

namespace {

// Makes a reading without shards have every bucket.
void give_buckets(StatsReading& out) {
  for (HistogramReading* each :
       {&out.request_us, &out.queue_us, &out.input_us, &out.infer_us, &out.output_us}) {
    each->counts.resize(kLatencyBoundsUs.size() + 1);
  }
  out.batch_rows.counts.resize(kBatchRowsBounds + 1);
}

// Appends the sizes of one page, summed over the shards that have it, to `out`, ascending.
void read_page(size_t page, const std::vector<const BatchPage*>& parts,
               std::vector<BatchReading>& out) {
  for (size_t cell = 0; cell < kPageSizes; ++cell) {
    BatchReading sum;
    sum.batch_size = batch_size_at(page, cell);
    for (const BatchPage* part : parts) {
      const BatchCell& from = (*part)[cell];
      sum.input.count += value_of(from.count);
      sum.input.ns += value_of(from.input_ns);
      sum.infer.ns += value_of(from.infer_ns);
      sum.output.ns += value_of(from.output_ns);
    }
    sum.infer.count = sum.output.count = sum.input.count;
    if (sum.input.count != 0) out.push_back(sum);
  }
}

}  // namespace

StatsReading ModelStats::read() const {
  StatsReading out;
  give_buckets(out);
  std::vector<const Shard*> shards;
  for (const auto& made_page : pages_) {
    const Page* page = made_page.load(std::memory_order_acquire);
    if (page == nullptr) continue;
    for (const auto& place : *page) {
      const Shard* shard = place.load(std::memory_order_acquire);
      if (shard != nullptr) shards.push_back(shard);
    }
  }
  for (const Shard* shard : shards) {
    shard->read_requests(out);
    const SummaryWindow* window = shard->window.load(std::memory_order_acquire);
    if (window != nullptr) window->add_to(out.recent, wall_ms());
    shard->read_batches(out);
  }
  const uint64_t successes = out.outcomes[static_cast<size_t>(Outcome::Success)];
  out.success.count = out.queue.count = successes;
  const uint64_t runs = successes - std::min(successes, out.cache_hit.count);
  out.input.count = out.infer.count = out.output.count = runs;
  for (const uint64_t count : out.outcomes) out.fail.count += count;
  out.fail.count -= successes;
  std::vector<const BatchPage*> parts;
  for (size_t page = 0; page <= kExactPages; ++page) {
    parts.clear();
    for (const Shard* shard : shards) {
      const BatchPage* part = shard->batches[page].load(std::memory_order_acquire);
      if (part != nullptr) parts.push_back(part);
    }
    if (!parts.empty()) read_page(page, parts, out.batches);
  }
  return out;
}

}  // namespace serval
