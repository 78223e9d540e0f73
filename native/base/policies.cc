// Selects the queue policy for a request. Hot path, any thread.
#include "base/policies.h"

namespace serval {

bool QueueSettings::reads_request() const {
  if (priority_levels > 0 || policy.allow_timeout_override) return true;
  for (const PriorityQueuePolicy& one : priority_policies) {
    if (one.policy.allow_timeout_override) return true;
  }
  return false;
}

const QueuePolicy& QueueSettings::policy_of(uint32_t level) const {
  for (const PriorityQueuePolicy& one : priority_policies) {
    if (one.level == level) return one.policy;
  }
  return policy;
}

}  // namespace serval
