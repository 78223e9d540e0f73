// The record of a request that has ended, as statistics, access log and traces read it. Data only;
// hot path, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "engine/request/protocol.h"
#include "engine/request/trace.h"
#include "stats/model_stats.h"

namespace serval {

// Nanoseconds of each step of one request that was reached.
struct ServeTimes {
  uint64_t input_ns = 0, infer_ns = 0, output_ns = 0;
  uint32_t rows = 1;
  CacheResult cached = CacheResult::None;
  uint64_t cache_ns = 0;  // look-up and store in the response cache
};

// The progress of a request: its id, once it was decoded, and the time it waited before.
struct Progress {
  std::string_view id;
  uint64_t queue_ns = 0;
  ServeTimes times;
};

struct ServedRequest {
  Protocol protocol;
  ErrorCode code;
  size_t request_bytes, response_bytes;
  uint64_t total_ns;
  Progress progress;
  std::string_view reason = {};  // why it failed
  const Trace* trace = nullptr;  // null: it is not traced
  bool logged = true;            // false: counted only, as a step of an ensemble
};

}  // namespace serval
