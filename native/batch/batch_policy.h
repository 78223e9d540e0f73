// Decides which waiting requests run together. Hot path; thread: instance. Pure functions of a
// view; the only caller is native/engine/model/batcher.cc. Source of the rules: Triton's dynamic
// batcher, TensorFlow Serving's batching parameters (docs/guides/batching.md).
#pragma once

#include <cstdint>
#include <span>

#include "base/policies.h"

namespace serval {

// Requests that may share a batch, oldest first.
struct BatchView {
  std::span<const uint32_t> rows;  // per request
  uint64_t oldest_wait_ns = 0;     // of the first one
  bool closing = false;            // no more requests will arrive
};

struct BatchChoice {
  size_t requests = 0;  // number to take from the front; 0 = wait
  // if requests is 0: decide again after this time, or when a request arrives
  uint64_t wait_ns = 0;
};

// `view.rows` is not empty. A first request larger than rows_max runs alone.
BatchChoice choose_batch(const BatchPolicy& policy, const BatchView& view);

// The rows to run for `rows` actual rows: the next allowed size, or `rows` itself.
uint32_t padded_rows(const BatchPolicy& policy, uint32_t rows);

}  // namespace serval
