// The access log: one JSON line per sampled inference request, kept in memory until JavaScript
// takes it. Any thread. Never payloads: names, numbers, and the request's id cut at 256 bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace serval {

struct AccessRecord {
  std::string_view protocol;  // "v1-rest", "v2-rest", "v2-grpc", "v2-grpc-stream"
  std::string_view model;
  std::string_view version;  // decimal text
  std::string_view id;       // "" = none
  std::string_view code;     // "OK" or the error code's name
  uint32_t rows = 0;
  uint64_t request_bytes = 0, response_bytes = 0;
  uint64_t queue_ns = 0, input_ns = 0, infer_ns = 0, output_ns = 0, total_ns = 0;
};

class AccessLog {
 public:
  // Every `one_in`-th request is written; 0 = off. Each thread counts for itself, over all logs.
  void set_one_in(uint32_t one_in) { one_in_.store(one_in, std::memory_order_relaxed); }
  // Hot path; whether this thread's next request is written. One relaxed load when off.
  bool sample();
  // Appends a line; beyond 4 MiB of untaken lines they are counted instead, and the next taken text
  // begins with {"time":..,"dropped":N}.
  void record(const AccessRecord& record);
  // All lines since the last call, each ended by a newline.
  std::string take();

 private:
  std::atomic<uint32_t> one_in_{0};
  std::mutex mutex_;
  std::string lines_;     // guarded by mutex_
  uint64_t dropped_ = 0;  // guarded by mutex_
};

}  // namespace serval
