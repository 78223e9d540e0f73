// The access log: one JSON line per sampled request that was answered, kept in memory until
// JavaScript takes it. Any thread. Never payloads: names, numbers, the request's id cut at 256
// bytes and, of a refusal, what its client was told, cut at 1024.
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

// Texts that are "" are left out of the line, but `protocol` and `code`.
struct AccessRecord {
  std::string_view protocol;  // "v1-rest", "v2-rest", "v2-grpc", "v2-grpc-stream", ..., "grpc"
  std::string_view call;      // of what came to no model's queue: gRPC's path
  std::string_view model;
  std::string_view version;  // decimal text
  std::string_view id;
  std::string_view code;        // "OK" or the error code's name
  uint32_t status = kNoStatus;  // HTTP's or gRPC's, as `protocol` says; kNoStatus = not known
  std::string_view reason;
  std::string_view trace;  // the trace's id, hexadecimal
  // Whether the following is known of it.
  bool measured = true;
  uint32_t rows = 0;
  uint64_t request_bytes = 0, response_bytes = 0;
  uint64_t queue_ns = 0, input_ns = 0, infer_ns = 0, output_ns = 0, total_ns = 0;
};

struct AccessLogSettings {
  uint32_t one_in = 0;       // every so many-th request is written; 0 = off
  bool errors_only = false;  // all that failed instead, and nothing else
  bool reasons = true;       // lines have what a client was told
  // What a code is on the wire, at protocol * kCodesMax + code. UINT16_MAX, and what is behind the
  // end, is not known.
  std::vector<uint16_t> statuses;
  static constexpr size_t kCodesMax = 32, kProtocolsMax = 16;
};

class AccessLog {
 public:
  void set(const AccessLogSettings& settings);
  void set_one_in(uint32_t one_in) { set({one_in, false, true, {}}); }
  bool is_on() const { return one_in_.load(std::memory_order_relaxed) != 0; }
  // Hot path; whether this thread's next request is written, of which is known whether it failed.
  // Each thread counts for itself, over all logs. One relaxed load when off.
  bool sample(bool failed = false);
  // What `protocol` answers for `code`; kNoStatus where nobody said.
  uint32_t status_of(size_t protocol, size_t code) const;
  // Appends a line; beyond 4 MiB of untaken lines they are counted instead, and the next taken text
  // begins with {"time":..,"dropped":N}.
  void record(const AccessRecord& record);
  // The same for lines that somebody else made; each ends with a newline.
  void add(std::string_view lines);
  // All lines since the last call, each ended by a newline.
  std::string take();

 private:
  std::atomic<uint32_t> one_in_{0};
  std::atomic<bool> errors_only_{false}, reasons_{true};
  // One more than settings say; 0 = not known.
  std::array<std::atomic<uint16_t>, AccessLogSettings::kCodesMax * AccessLogSettings::kProtocolsMax>
      statuses_{};
  std::mutex mutex_;
  std::string lines_;     // guarded by mutex_
  uint64_t dropped_ = 0;  // guarded by mutex_
};

}  // namespace serval
