// Implements the batch policy. Hot path; thread: instance. Pure: no clock, no memory but its
// arguments.
#include "batch/batch_policy.h"

#include <algorithm>
#include <cassert>

namespace serval {

namespace {

// The longest prefix that fits in one batch, and the one that starts at once.
struct Prefixes {
  size_t fitting = 1;  // number of requests
  uint64_t fitting_rows = 0;
  size_t preferred = 0;  // number of requests; 0 = no prefix has a preferred size
};

// Rows are 32 bits and fewer than 2^32 requests wait: a 64-bit sum cannot overflow.
Prefixes measure(const BatchPolicy& policy, std::span<const uint32_t> rows) {
  const std::span<const uint32_t> sizes(policy.preferred_rows);
  Prefixes found;
  uint64_t sum = 0;
  size_t size = 0;  // the smallest preferred size that `sum` has not exceeded
  for (size_t i = 0; i < rows.size(); ++i) {
    sum += rows[i];
    if (i > 0 && sum > policy.rows_max) break;
    found.fitting = i + 1;
    found.fitting_rows = sum;
    while (size < sizes.size() && sizes[size] < sum) ++size;
    if (size < sizes.size() && sizes[size] == sum) found.preferred = i + 1;
  }
  return found;
}

}  // namespace

BatchChoice choose_batch(const BatchPolicy& policy, const BatchView& view) {
  assert(!view.rows.empty());
  const Prefixes found = measure(policy, view.rows);
  // Checked before "full": the model is fastest at a preferred size (Triton's order). Rows beyond
  // the largest preferred size can never match one later, so they start too.
  if (found.preferred != 0) return {found.preferred, 0};
  const bool full = found.fitting < view.rows.size() || found.fitting_rows >= policy.rows_max;
  const bool past_preferred =
      !policy.preferred_rows.empty() && found.fitting_rows > policy.preferred_rows.back();
  const uint64_t delay_ns = uint64_t{policy.delay_us} * 1000;
  if (full || past_preferred || view.closing || view.oldest_wait_ns >= delay_ns) {
    return {found.fitting, 0};
  }
  return {0, delay_ns - view.oldest_wait_ns};
}

uint32_t padded_rows(const BatchPolicy& policy, uint32_t rows) {
  const auto& sizes = policy.allowed_rows;
  const auto next = std::lower_bound(sizes.begin(), sizes.end(), rows);
  return next == sizes.end() ? rows : *next;
}

}  // namespace serval
