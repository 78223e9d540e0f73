// Which waiting requests are run together. Hot path; thread: instance. Pure functions of a view;
// the one caller is native/engine/model/batcher.cc. Source of the rules: Triton's dynamic batcher,
// TensorFlow Serving's batching parameters (docs/guides/batching.md).
#pragma once

#include <cstdint>
#include <span>

#include "base/policies.h"

namespace serval {

// Requests that may share a batch, oldest first.
struct BatchView {
  std::span<const uint32_t> rows;  // of each request
  uint64_t oldest_wait_ns = 0;     // of the first
  bool closing = false;            // nothing more will come
};

struct BatchChoice {
  size_t requests = 0;   // to take from the front; 0 = wait
  uint64_t wait_ns = 0;  // when requests is 0: ask again after this long, or when one comes
};

// `view.rows` is not empty. A first request over rows_max is taken alone.
BatchChoice choose_batch(const BatchPolicy& policy, const BatchView& view);

// The rows to run for `rows` real ones: the next allowed size, or `rows` itself.
uint32_t padded_rows(const BatchPolicy& policy, uint32_t rows);

}  // namespace serval
