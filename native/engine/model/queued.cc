// Entry into a model's queue and refusals. Hot path (queued requests); any thread.
#include "engine/model/queued.h"

#include <chrono>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "engine/model/model.h"
#include "engine/model/record.h"
#include "engine/model/refusals.h"
#include "engine/request/completion.h"
#include "engine/watch/deadline_timer.h"

namespace serval {

namespace {

// How often a request that waits for its second run checks whether it was cancelled.
constexpr std::chrono::milliseconds kTurnPoll(10);
constexpr int kTurnPolls = 100;

}  // namespace

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

bool returns_to_queue(Model& model, Request& request, Loss loss, const CancelFlag* cancel) {
  if (loss == Loss::None) return false;
  if (cancel != nullptr && cancel->cancelled()) return false;
  const bool died = loss == Loss::Died;
  if (died && (!model.spec().retry || request.died)) return false;
  if (request.wait_until_ns != 0 && now_ns() >= request.wait_until_ns) return false;
  if (!model.can_wait()) return false;
  if (!died) return true;
  request.died = true;
  model.counters().retried.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void put_back(Model& model, std::span<Request* const> requests) {
  if (requests.empty() || model.queue().put_back(requests)) return;
  for (Request* request : requests) finish_refused(model, *request, unloaded_waiting(model));
}

RetryTurn::RetryTurn(BackendModel& backend, bool died, const CancelFlag* cancel) {
  std::timed_mutex* const mutex = died ? backend.retry_mutex() : nullptr;
  if (mutex == nullptr) return;
  for (int poll = 0; poll < kTurnPolls; ++poll) {
    if (mutex->try_lock()) {
      held_ = mutex;
      return;
    }
    if (cancel != nullptr && cancel->cancelled()) return;
    std::this_thread::sleep_for(kTurnPoll);
  }
}

void finish_refused(Model& model, Request& request, Error error) {
  end_request(model, request, std::move(error));
  complete_one(request);
}

void finish_late(Model& model, const std::vector<Request*>& late) {
  for (Request* request : late) finish_refused(model, *request, late_error(model, *request));
}

}  // namespace serval
