// The request log's engine side: a tap for each model's name says which requests are logged, and
// copies of those and of their answers wait here, within a limit, until the main thread takes them.
// Taps: hot path, any thread. The rest: whoever logs, any thread; rates and take: control plane.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory_budget.h"
#include "engine/request/protocol.h"

namespace serval {

// Logged requests and their answers that wait to be written, in all; and what is taken at a time.
inline constexpr size_t kRequestLogBytesMax = 64u << 20;
inline constexpr size_t kRequestLogTakeBytes = 4u << 20;

// How many of a model's requests are logged, and in which form.
struct LogRate {
  double rate = 0;          // 0 .. 1
  bool tensorflow = false;  // all become TensorFlow Serving's messages
};

// Of all versions of one model.
class RequestTap {
 public:
  explicit RequestTap(LogRate rate) { set(rate); }
  RequestTap(const RequestTap&) = delete;
  RequestTap& operator=(const RequestTap&) = delete;

  // One relaxed load.
  bool on() const { return step_.load(std::memory_order_relaxed) != 0; }
  // Whether the request that asks is logged: the first, and from then on so evenly that of n
  // requests rate * n are, rounded up. One relaxed load when off.
  bool sample() {
    const uint64_t step = step_.load(std::memory_order_relaxed);
    if (step == 0) return false;
    const uint64_t before = passed_.fetch_add(step, std::memory_order_relaxed);
    return before >> 32 != (before + step) >> 32;
  }
  bool tensorflow() const { return tensorflow_.load(std::memory_order_relaxed); }
  void set(LogRate rate);

 private:
  std::atomic<uint64_t> step_{0};  // the rate, in 2^-32
  std::atomic<uint64_t> passed_{
      0};  // sum of steps; where it becomes a whole one more, one is logged
  std::atomic<bool> tensorflow_{false};
};

// A request that ended, as record() copies it. Borrowed.
struct LoggedBytes {
  Protocol protocol = Protocol::V1Predict;
  ErrorCode code = ErrorCode::Ok;
  std::string_view id;
  uint64_t total_ns = 0;
  int64_t json_bytes = -1;  // of the request; -1 = all of it
  size_t response_json_bytes = 0;
  std::span<const uint8_t> request, response;
};

// One that waits to be taken.
struct LoggedEntry {
  Protocol protocol;
  ErrorCode code;
  bool tensorflow;  // wanted in that form
  uint32_t handle;  // of the model that it was for
  std::string model, version, id;
  uint64_t time_ms, total_us;
  int64_t json_bytes;
  size_t response_json_bytes, response_bytes;
  ByteBuffer bytes;  // the response, and behind it the request

  std::span<const uint8_t> response() const { return bytes.bytes().first(response_bytes); }
  std::span<const uint8_t> request() const { return bytes.bytes().subspan(response_bytes); }
};

// What became of requests since the last time.
struct LogCounts {
  uint64_t written = 0;    // records in files
  uint64_t unwritten = 0;  // a file could not be written
  uint64_t formless = 0;   // there is no such record of them
  uint64_t stopped = 0;    // logs that cannot be written now
};
struct LogTotals {
  LogCounts counts;
  uint64_t dropped = 0;  // there was no memory for them
};

class RequestLog {
 public:
  // What waits is charged to `budget`, and is no more than an eighth of it. Borrows it.
  explicit RequestLog(MemoryBudget& budget);

  // The tap of all versions of the model, which lives as long as somebody has it.
  std::shared_ptr<RequestTap> tap(const std::string& model);
  // From now on; "" stands for models that are not named.
  void set_rates(std::map<std::string, LogRate> rates);

  // Copies a request that its tap chose. Where there is no room it is counted instead; it never
  // waits for memory or for whoever takes.
  void record(uint32_t handle, const std::string& model, const std::string& version,
              bool tensorflow, const LoggedBytes& bytes);

  struct Taken {
    std::vector<LoggedEntry> entries;  // the oldest first
    uint64_t dropped = 0;              // since the last one
    bool more = false;
  };
  // Entries of up to `bytes_max` bytes, or one.
  Taken take(size_t bytes_max);
  // Counts entries that were taken and could not be handed over.
  void drop(uint64_t entries);
  // What became of entries that were taken, and how many logs are stopped now.
  void count(const LogCounts& counts);
  // Of the process so far.
  LogTotals totals() const;

 private:
  LogRate rate_of(const std::string& model) const;

  MemoryBudget& budget_;
  const size_t bytes_max_;
  std::mutex taps_mutex_;
  std::map<std::string, LogRate> rates_;                   // guarded by taps_mutex_
  std::map<std::string, std::weak_ptr<RequestTap>> taps_;  // guarded by taps_mutex_
  size_t taps_max_ = 64;  // guarded by taps_mutex_: where those that nobody has are dropped
  std::mutex mutex_;
  std::deque<LoggedEntry> entries_;  // guarded by mutex_
  size_t bytes_ = 0;                 // guarded by mutex_: of entries_
  std::atomic<uint64_t> dropped_{0}, dropped_total_{0};
  std::atomic<uint64_t> written_{0}, unwritten_{0}, formless_{0}, stopped_{0};
};

}  // namespace serval
