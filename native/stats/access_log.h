// The access log: one JSON line per sampled request that was answered, kept in memory until
// JavaScript takes it. Any thread. Never contains payloads: names, numbers, the request's id cut at
// 256 bytes and, for a refusal, the message to the client, cut at 1024.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace serval {

inline constexpr uint32_t kNoStatus = UINT32_MAX;

// Empty texts are omitted from the line, except `protocol` and `code`.
struct AccessRecord {
  std::string_view protocol;  // "v1-rest", "v2-rest", "v2-grpc", "v2-grpc-stream", ..., "grpc"
  std::string_view call;      // for calls that reached no model's queue: gRPC's path
  std::string_view model;
  std::string_view version;  // decimal text
  std::string_view id;
  std::string_view code;        // "OK" or the error code's name
  uint32_t status = kNoStatus;  // of HTTP or gRPC, depending on `protocol`; kNoStatus = unknown
  std::string_view reason;
  std::string_view trace;  // the trace's id, hexadecimal
  // Whether the following members are known.
  bool measured = true;
  uint32_t rows = 0;
  uint64_t request_bytes = 0, response_bytes = 0;
  uint64_t queue_ns = 0, input_ns = 0, infer_ns = 0, output_ns = 0, total_ns = 0;
};

struct AccessLogSettings {
  uint32_t one_in = 0;       // one in this many requests is logged; 0 = off
  bool errors_only = false;  // logs all failed requests instead, and nothing else
  bool reasons = true;       // lines contain the message to the client
  // The wire status of a code, at protocol * kCodesMax + code. UINT16_MAX, and indices after the
  // end, are unknown.
  std::vector<uint16_t> statuses;
  static constexpr size_t kCodesMax = 32, kProtocolsMax = 16;
};

class AccessLog {
 public:
  void set(const AccessLogSettings& settings);
  void set_one_in(uint32_t one_in) { set({one_in, false, true, {}}); }
  bool is_on() const { return one_in_.load(std::memory_order_relaxed) != 0; }
  // Hot path; whether this thread's next request is logged, given whether it failed. Each thread
  // has its own counter, over all logs. Costs one relaxed load if the log is off.
  bool sample(bool failed = false);
  // The wire status of `code` in `protocol`; kNoStatus if it is unknown.
  uint32_t status_of(size_t protocol, size_t code) const;
  // Appends a line; beyond 4 MiB of untaken lines they are only counted, and the next taken text
  // begins with {"time":..,"dropped":N}.
  void record(const AccessRecord& record);
  // The same for lines that were formatted elsewhere; each ends with a newline.
  void add(std::string_view lines);
  // Returns all lines since the last call, each ended by a newline.
  std::string take();

 private:
  std::atomic<uint32_t> one_in_{0};
  std::atomic<bool> errors_only_{false}, reasons_{true};
  // One more than in the settings; 0 = unknown.
  std::array<std::atomic<uint16_t>, AccessLogSettings::kCodesMax * AccessLogSettings::kProtocolsMax>
      statuses_{};
  std::mutex mutex_;
  std::string lines_;     // guarded by mutex_
  uint64_t dropped_ = 0;  // guarded by mutex_
};

}  // namespace serval
