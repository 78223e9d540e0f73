// Micro-benchmark of a request's other costs: one record() of the statistics, the trace decision,
// and the check of its key; next to one locked addition (the minimum for a counter that threads
// share). Prints one line of JSON per part: {"name", "ns_per_call", "reference",
// "reference_ns_per_call", "target_ns"}. Each number is the best of many rounds within 0.15 s, with
// durations spread over all buckets. Results are checked after timing.
//
//   stats_bench [PART OF A NAME]
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "engine/observe/tracer.h"
#include "stats/access_log.h"
#include "stats/model_stats.h"

#ifdef SERVAL_BENCH_KEYS
#include "calls/accepted_keys.h"
#endif

namespace {

using namespace serval;

constexpr uint64_t kRoundsNs = 150'000'000;
constexpr size_t kCalls = 4096;
constexpr int kTraceTargetNs = 20;
constexpr std::string_view kUnsampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

const char* filter = "";
std::atomic<uint64_t> counter{0};

void require(bool holds, const char* text) {
  if (holds) return;
  std::fprintf(stderr, "stats_bench: %s\n", text);
  std::exit(1);
}

// Nanoseconds of one call in the fastest of many rounds of kCalls.
double best_ns(const std::function<void()>& round) {
  const uint64_t start = now_ns();
  uint64_t best = UINT64_MAX;
  for (uint64_t begin = start; begin - start < kRoundsNs;) {
    round();
    const uint64_t end = now_ns();
    best = std::min(best, end - begin);
    begin = end;
  }
  return static_cast<double>(best) / static_cast<double>(kCalls);
}

// `target_ns`: the allowed cost; 0 = no target.
void measure(const char* name, const std::function<void()>& round, int target_ns = 0) {
  if (std::strstr(name, filter) == nullptr) return;
  const double ns = best_ns(round);
  const double reference_ns = best_ns([] {
    for (size_t i = 0; i < kCalls; ++i) counter.fetch_add(1, std::memory_order_relaxed);
  });
  std::printf(
      "{\"name\":\"%s\",\"ns_per_call\":%.2f,\"reference\":\"locked addition\","
      "\"reference_ns_per_call\":%.2f",
      name, ns, reference_ns);
  if (target_ns > 0) std::printf(",\"target_ns\":%d", target_ns);
  std::printf("}\n");
  std::fflush(stdout);
}

std::array<RequestRecord, kCalls> requests_of(uint8_t entry, Outcome outcome) {
  std::mt19937_64 random(1);
  std::array<RequestRecord, kCalls> out;
  for (RequestRecord& each : out) {
    const auto any = [&random] { return random() >> (30 + random() % 33); };
    each = {entry, outcome, any(), any(), any(), any(), any(), 1};
  }
  return out;
}

void bench_request(const char* name, uint8_t entry, Outcome outcome) {
  ModelStats stats;
  uint64_t rounds = 0;
  const std::array<RequestRecord, kCalls> requests = requests_of(entry, outcome);
  measure(name, [&] {
    for (const RequestRecord& request : requests) stats.record(request);
    ++rounds;
  });
  require(stats.read().outcomes[static_cast<size_t>(outcome)] == rounds * kCalls,
          "a request was not counted");
}

void bench_batch() {
  ModelStats stats;
  uint64_t rounds = 0;
  measure("record a batch", [&] {
    for (size_t i = 0; i < kCalls; ++i) {
      stats.record(BatchRecord{static_cast<uint32_t>(1 + i % 64), 0, 100, 200, 300});
    }
    ++rounds;
  });
  require(stats.read().execution_count == rounds * kCalls, "a batch was not counted");
}

void bench_sample() {
  AccessLog log;
  uint64_t sampled = 0;
  measure("access log, off", [&] {
    for (size_t i = 0; i < kCalls; ++i) sampled += log.sample() ? 1 : 0;
  });
  require(sampled == 0, "a request was sampled");
}

// The cost of the trace decision for a request that is not traced, as in Lane::admit() and
// begin_trace(): with tracing off, with a very low rate, and with a check of its context. The
// target is less than 20 ns.
void bench_trace(const char* name, const TraceRate& rate, std::string_view parent_text = {}) {
  Tracer tracer;
  tracer.set({{{"", true, rate}}, true});
  const std::atomic<TraceSampler*> of_model{tracer.sampler_of("m")};
  std::optional<TraceParent> parent;
  std::unique_ptr<Trace> trace;
  const uint64_t parents = tracer.generation();
  uint64_t traced = 0;
  measure(
      name,
      [&] {
        for (size_t i = 0; i < kCalls; ++i) {
          if (!parent_text.empty() && tracer.on() && tracer.reads_parents()) {
            parent = parse_trace_parent(parent_text, {});
          }
          if (!tracer.on()) continue;
          if (parents != tracer.generation()) parent.reset();
          trace = tracer.begin(*of_model.load(std::memory_order_relaxed), parent);
          parent.reset();
          traced += trace != nullptr ? 1 : 0;
        }
      },
      parent_text.empty() ? kTraceTargetNs : 0);
  require(traced == 0, "a request was traced");
}

#ifdef SERVAL_BENCH_KEYS
// A key that was accepted before, the only one or one of many that are used in turn.
void bench_keys(const char* name, size_t count) {
  AcceptedKeys keys;
  std::vector<std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    texts.push_back("Bearer " + std::string(40, 'k') + std::to_string(100 + i));
    keys.add(0, texts.back());
  }
  uint64_t known = 0;
  uint64_t asked = 0;
  measure(name, [&] {
    for (size_t i = 0; i < kCalls; ++i) known += keys.has(0, texts[i % count]) ? 1 : 0;
    asked += kCalls;
  });
  require(known == asked, "a key is not known");
}
#endif

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) filter = arguments[1];
  bench_request("record a V2 request", 1, Outcome::Success);
  bench_request("record a V1 request", 0, Outcome::Success);
  bench_request("record a failed request", 1, Outcome::Rejected);
  bench_batch();
  bench_sample();
  bench_trace("trace, off", {});
  bench_trace("trace, not sampled", {true, UINT32_MAX, -1});
  bench_trace("trace, rate 0", {true, 0, -1});
  bench_trace("trace, a context that is not sampled", {true, 1, -1}, kUnsampled);
#ifdef SERVAL_BENCH_KEYS
  bench_keys("key, accepted before", 1);
  bench_keys("key, accepted before, one of 100", 100);
#endif
  return 0;
}
