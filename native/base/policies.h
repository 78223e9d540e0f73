// What a model's configuration says of batching, queueing and its tensors: engine.fbs tables as
// plain structs. Immutable after load; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/generated/engine_generated.h"

namespace serval {

using BatchMode = fb::BatchMode;
using TimeoutAction = fb::TimeoutAction;

// A row is one entry along the first dim. Sizes ascend. See engine.fbs.
struct BatchPolicy {
  BatchMode mode = BatchMode::Off;
  uint32_t rows_max = 0;
  uint32_t request_rows_max = 0;  // 0 = any
  std::vector<uint32_t> preferred_rows;
  std::vector<uint32_t> allowed_rows;
  uint32_t delay_us = 0;
  bool split = false;
  bool pad_inner = false;
  bool preserve_ordering = false;
  bool only_if_batchable = false;
};

struct QueuePolicy {
  TimeoutAction timeout_action = TimeoutAction::Reject;
  uint64_t default_timeout_us = 0;  // 0 = none
  bool allow_timeout_override = false;
  uint32_t requests_max = 0;  // 0 = the model's
};

// Level 1 is served first.
struct PriorityQueuePolicy {
  uint32_t level = 0;
  QueuePolicy policy;
};

struct QueueSettings {
  uint32_t requests_max = 1024;
  uint32_t priority_levels = 0;  // 0 = no priorities
  uint32_t default_priority = 0;
  QueuePolicy policy;
  std::vector<PriorityQueuePolicy> priority_policies;

  // Whether the parameters `priority` and `timeout` of a request mean anything here.
  bool reads_request() const;
  // The policy of one level (0 where there are no priorities).
  const QueuePolicy& policy_of(uint32_t level) const;
};

struct TensorOverride {
  std::string name;
  std::vector<int64_t> dims;        // -1 = free; the batch dim included
  std::vector<int64_t> model_dims;  // empty = dims
  std::vector<std::string> labels;
};

}  // namespace serval
