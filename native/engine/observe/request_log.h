// The request log's engine side: a tap for each model name decides which requests are logged, and
// copies of those and of their responses wait here, up to a limit, until the main thread takes
// them. Taps: hot path, any thread. Recording: any thread; rates and take: control plane.
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

// Limits of the bytes of logged requests and responses: those that wait to be written, and those
// taken at a time.
inline constexpr size_t kRequestLogBytesMax = 64u << 20;
inline constexpr size_t kRequestLogTakeBytes = 4u << 20;

// The fraction of a model's requests to log, and the form of the log.
struct LogRate {
  double rate = 0;          // 0 .. 1
  bool tensorflow = false;  // all are logged as TensorFlow Serving's messages
};

// The tap of all versions of one model.
class RequestTap {
 public:
  explicit RequestTap(LogRate rate) { set(rate); }
  RequestTap(const RequestTap&) = delete;
  RequestTap& operator=(const RequestTap&) = delete;

  // Costs one relaxed load.
  bool on() const { return step_.load(std::memory_order_relaxed) != 0; }
  // Returns whether to log the current request. Logs the first, and then evenly, so that rate * n
  // of n requests, rounded up, are logged. Costs one relaxed load when off.
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
      0};  // sum of steps; a request is logged whenever it reaches the next whole number
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

// A logged request that waits to be taken.
struct LoggedEntry {
  Protocol protocol;
  ErrorCode code;
  bool tensorflow;  // logged as a message of TensorFlow Serving
  uint32_t handle;  // handle of the request's model
  std::string model, version, id;
  uint64_t time_ms, total_us;
  int64_t json_bytes;
  size_t response_json_bytes, response_bytes;
  ByteBuffer bytes;  // the response, followed by the request

  std::span<const uint8_t> response() const { return bytes.bytes().first(response_bytes); }
  std::span<const uint8_t> request() const { return bytes.bytes().subspan(response_bytes); }
};

// Outcomes of logged requests since the last count.
struct LogCounts {
  uint64_t written = 0;    // records written to files
  uint64_t unwritten = 0;  // a file could not be written
  uint64_t formless = 0;   // they have no such form
  uint64_t stopped = 0;    // logs that cannot be written now
};
struct LogTotals {
  LogCounts counts;
  uint64_t dropped = 0;  // there was no memory for them
};

class RequestLog {
 public:
  // Charges waiting entries to `budget`, at most an eighth of it. Borrows it.
  explicit RequestLog(MemoryBudget& budget);

  // Returns the tap of all versions of the model, which exists as long as it has holders.
  std::shared_ptr<RequestTap> tap(const std::string& model);
  // Sets the rates from now on; "" is the rate of models that are not named.
  void set_rates(std::map<std::string, LogRate> rates);

  // Copies a request that its tap chose. If there is no space, it is counted as dropped; never
  // waits for memory or for a reader.
  void record(uint32_t handle, const std::string& model, const std::string& version,
              bool tensorflow, const LoggedBytes& bytes);

  struct Taken {
    std::vector<LoggedEntry> entries;  // the oldest first
    uint64_t dropped = 0;              // since the last take
    bool more = false;
  };
  // Takes entries of up to `bytes_max` bytes in total, at least one.
  Taken take(size_t bytes_max);
  // Counts entries that were taken and could not be delivered.
  void drop(uint64_t entries);
  // Adds the outcomes of entries that were taken, and sets how many logs are stopped now.
  void count(const LogCounts& counts);
  // The totals of the process so far.
  LogTotals totals() const;

 private:
  LogRate rate_of(const std::string& model) const;

  MemoryBudget& budget_;
  const size_t bytes_max_;
  std::mutex taps_mutex_;
  std::map<std::string, LogRate> rates_;                   // guarded by taps_mutex_
  std::map<std::string, std::weak_ptr<RequestTap>> taps_;  // guarded by taps_mutex_
  size_t taps_max_ = 64;  // guarded by taps_mutex_: size at which taps without holders are removed
  std::mutex mutex_;
  std::deque<LoggedEntry> entries_;  // guarded by mutex_
  size_t bytes_ = 0;                 // guarded by mutex_: of entries_
  std::atomic<uint64_t> dropped_{0}, dropped_total_{0};
  std::atomic<uint64_t> written_{0}, unwritten_{0}, formless_{0}, stopped_{0};
};

}  // namespace serval
