// Decides which requests are traced, and keeps their records in memory until the main thread takes
// them. Any thread. When off, a request costs one relaxed load.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "engine/observe/sampler.h"
#include "engine/observe/served.h"
#include "engine/request/protocol.h"
#include "engine/request/trace.h"

namespace serval {

// Limit of untaken records; more are counted as dropped. A record is at most about 2 KB.
inline constexpr size_t kTraceRecordsMax = 4096;
inline constexpr size_t kTraceIdBytesShown = 256;  // of a request's id
// Limit of the tensors' bytes in untaken records; a record that exceeds it is dropped.
inline constexpr size_t kTraceBytesMax = 2u << 20;

// One model's rule; `model` "" is the rule of all models without their own.
struct TraceRule {
  std::string model;
  bool own = true;  // false: the model's own rule is removed
  TraceRate rate;
};

struct TraceRules {
  std::vector<TraceRule> rules;
  bool parents = false;  // whether callers' trace context is used

  // Errors: invalid_argument.
  static Result<TraceRules> parse(std::span<const uint8_t> bytes);
};

class Tracer {
 public:
  Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Whether any model's requests may be traced. Hot path.
  bool on() const { return on_.load(std::memory_order_relaxed); }
  // Whether callers' trace context is used.
  bool reads_parents() const { return reads_parents_.load(std::memory_order_relaxed); }
  // Changes each time that tracing is switched off.
  uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }
  // Remains true once tracing was on: then there are counts.
  bool was_on() const { return was_on_.load(std::memory_order_relaxed); }

  // Sets rules; the models concerned must then get the result of sampler_of() again. Control plane.
  void set(const TraceRules& rules);
  // Returns the sampler that applies to a model. Any thread.
  TraceSampler* sampler_of(std::string_view model);

  // Returns the trace of a request that begins; null: it is not traced. A caller's decision takes
  // precedence over the rate, as in OpenTelemetry's ParentBased. Moves from the parent.
  std::unique_ptr<Trace> begin(TraceSampler& sampler, std::optional<TraceParent>& parent);
  // Returns the trace of another request of the same call.
  static std::unique_ptr<Trace> beside(const Trace& first);

  // Keeps the record of a request that has ended. Any thread.
  void record(const Trace& trace, const std::string& model, const std::string& version,
              const ServedRequest& served);
  // Takes all records since the last call and the rules' counts, as a TraceTake. Returns false if
  // out of memory.
  bool take(ByteBuffer& out);
  // Counts traces that were taken and could not be written or sent.
  void count_lost(uint64_t traces) { dropped_.fetch_add(traces, std::memory_order_relaxed); }

  uint64_t recorded() const { return recorded_.load(std::memory_order_relaxed); }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  // The part of a traced request that outlives it.
  struct Record {
    Trace trace;
    std::string model, version, id;
    Protocol protocol;
    ErrorCode code;
    uint64_t total_ns, queue_ns, input_ns, infer_ns, output_ns, request_bytes, response_bytes;
    uint32_t rows;
  };
  struct Named {
    TraceSampler sampler;
    bool own = true;
  };

  std::atomic<bool> on_{false};
  std::atomic<bool> reads_parents_{false};
  std::atomic<bool> was_on_{false};
  std::atomic<uint64_t> generation_{0};
  std::atomic<uint64_t> recorded_{0};
  std::atomic<uint64_t> dropped_{0};
  TraceSampler all_;
  std::mutex rules_mutex_;
  std::map<std::string, std::unique_ptr<Named>, std::less<>> named_;  // guarded by rules_mutex_
  std::mutex records_mutex_;
  std::vector<Record> records_;  // guarded by records_mutex_
  size_t tensor_bytes_ = 0;      // guarded by records_mutex_
};

}  // namespace serval
