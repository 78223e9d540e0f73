// Admits the requests of limited models and callers. Hot path (limited requests); the listener's
// thread.
#include "engine/lane/state.h"

#include "engine/request/limit_error.h"

namespace serval {

// A caller that is not in the table has a key that was just removed: its requests that were
// accepted before that are served.
Status LaneState::admit_limited(const Model& model, Admission& admission) {
  // Not published(): it may replace the list that the caller's model is borrowed from.
  const std::shared_ptr<const CallerTable>& callers = published_->callers;
  const LimitedCaller* caller =
      caller_ == 0 || callers == nullptr ? nullptr : callers->find(caller_);
  if (caller != nullptr) flow_.part_weight = caller->weight;
  const std::optional<LimitHit> hit =
      admission.begin(caller == nullptr ? nullptr : caller->limits, model.limits());
  return hit.has_value() ? Status(limit_error(*hit)) : Status();
}

bool LaneState::may_use(const Published& now, std::string_view model) const {
  const LimitedCaller* caller = now.callers == nullptr ? nullptr : now.callers->find(caller_);
  return caller != nullptr && caller->may_use(model);
}

}  // namespace serval
