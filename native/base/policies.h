// The queue policies of a model, and the enums of its configuration. Data, immutable after load;
// any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/generated/engine_structs.h"

namespace serval {

using BatchMode = fb::BatchMode;
using TimeoutAction = fb::TimeoutAction;

struct QueueSettings {
  uint32_t requests_max = 1024;
  uint32_t priority_levels = 0;  // 0 = no priorities
  uint32_t default_priority = 0;
  QueuePolicy policy;
  std::vector<PriorityQueuePolicy> priority_policies;

  // Whether a request's parameters `priority` and `timeout` have an effect here.
  bool reads_request() const;
  // The policy of one level (0 if there are no priorities).
  const QueuePolicy& policy_of(uint32_t level) const;
};

}  // namespace serval
