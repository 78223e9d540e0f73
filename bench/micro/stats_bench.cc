// Micro-benchmark of the statistics: what one record() costs a request, next to one locked addition
// (the least that a counter shared by threads would cost). Prints one line of JSON per piece:
//   {"name", "ns_per_call", "reference", "reference_ns_per_call"}
// Each number is the best of many rounds within 0.15 s, with durations spread over all buckets.
// Answers are checked after timing. Usage: stats_bench [PART OF A NAME]
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>

#include "base/clock.h"
#include "engine/trace/tracer.h"
#include "stats/access_log.h"
#include "stats/model_stats.h"

namespace {

using namespace serval;

constexpr uint64_t kRoundsNs = 150'000'000;
constexpr size_t kCalls = 4096;

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

void measure(const char* name, const std::function<void()>& round) {
  if (std::strstr(name, filter) == nullptr) return;
  const double ns = best_ns(round);
  const double reference_ns = best_ns([] {
    for (size_t i = 0; i < kCalls; ++i) counter.fetch_add(1, std::memory_order_relaxed);
  });
  std::printf(
      "{\"name\":\"%s\",\"ns_per_call\":%.2f,\"reference\":\"locked addition\","
      "\"reference_ns_per_call\":%.2f}\n",
      name, ns, reference_ns);
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

// What a request that is not traced pays for being asked about, off and with one in very many.
void bench_trace(const char* name, const TraceRate& rate) {
  Tracer tracer;
  tracer.set({{{"", true, rate}}, true});
  TraceSampler& sampler = *tracer.sampler_of("m");
  std::optional<TraceParent> parent;
  uint64_t traced = 0;
  measure(name, [&] {
    for (size_t i = 0; i < kCalls; ++i) {
      if (tracer.on()) traced += tracer.begin(sampler, parent) != nullptr ? 1 : 0;
    }
  });
  require(traced == 0, "a request was traced");
}

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
  return 0;
}
