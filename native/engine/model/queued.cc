// Entry into a model's queue and refusals. Hot path (queued requests); any thread.
#include "engine/model/queued.h"

#include <utility>

#include "base/clock.h"
#include "engine/model/model.h"
#include "engine/model/record.h"
#include "engine/model/refusals.h"
#include "engine/request/completion.h"
#include "engine/watch/deadline_timer.h"

namespace serval {

RequestQueue::Push push_request(const std::shared_ptr<Model>& model, Request& request,
                                Entry entry) {
  uint64_t limit_ns = kNever;
  const bool notify = entry != Entry::Unflushed;
  const RequestQueue::Push pushed = model->queue().push(&request, notify, limit_ns);
  if (pushed != RequestQueue::Push::Taken) return pushed;
  if (limit_ns != kNever) model->services().timer->watch(model, limit_ns);
  if (entry != Entry::Again) {
    model->counters().requests_queued.fetch_add(1, std::memory_order_relaxed);
  }
  if (notify) model->attend();
  return pushed;
}

void finish_refused(Model& model, Request& request, Error error) {
  end_request(model, request, std::move(error));
  complete_one(request);
}

void finish_late(Model& model, const std::vector<Request*>& late) {
  for (Request* request : late) finish_refused(model, *request, late_error(model, *request));
}

}  // namespace serval
