// Registers running requests. Hot path (queued requests); the thread that runs them.
#include "engine/model/running_scope.h"

#include "engine/watch/deadline_timer.h"

namespace serval {

RunningScope::RunningScope(Model& model, std::span<Request* const> requests)
    : running_(model.running()), requests_(requests) {
  running_.add(requests);
  DeadlineTimer* timer = model.services().timer;
  if (timer == nullptr) return;
  for (Request* request : requests) {
    if (request->deadline_ns != 0) timer->watch(request->model, request->deadline_ns);
  }
}

RunningScope::~RunningScope() { running_.remove(requests_); }

}  // namespace serval
