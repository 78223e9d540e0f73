// Tracks running requests and ends their runs. Hot path (queued requests), any thread.
#include "engine/watch/running.h"

#include <algorithm>

#include "base/clock.h"
#include "engine/request/time_limit.h"

namespace serval {

// Caller holds mutex_.
void RunningRequests::end_unwanted(Request& request) {
  const bool warm_up = request.stage == Request::Stage::Control;
  const EndCause cause = warm_up && all_ended_ == EndCause::None ? warm_ups_ended_ : all_ended_;
  if (cause != EndCause::None) request.cancel.cancel(cause);
}

void RunningRequests::add(std::span<Request* const> requests) {
  std::lock_guard lock(mutex_);
  for (Request* request : requests) {
    request->running_at = running_.size();
    running_.push_back(request);
    end_unwanted(*request);
  }
}

void RunningRequests::remove(std::span<Request* const> requests) {
  std::lock_guard lock(mutex_);
  for (Request* request : requests) {
    Request* last = running_.back();
    running_[request->running_at] = last;
    last->running_at = request->running_at;
    running_.pop_back();
  }
}

uint64_t RunningRequests::expire() {
  std::lock_guard lock(mutex_);
  const uint64_t now = now_ns();
  uint64_t next = kNever;
  for (Request* request : running_) {
    if (request->deadline_ns == 0 || request->cancel.cancelled()) continue;
    if (request->deadline_ns <= now) request->cancel.cancel(EndCause::Deadline);
    else next = std::min(next, request->deadline_ns);
  }
  return next;
}

void RunningRequests::end_warm_ups(EndCause cause) {
  std::lock_guard lock(mutex_);
  warm_ups_ended_ = cause;
  for (Request* request : running_) end_unwanted(*request);
}

void RunningRequests::end_all(EndCause cause) {
  std::lock_guard lock(mutex_);
  all_ended_ = cause;
  for (Request* request : running_) end_unwanted(*request);
}

BatchRun::BatchRun(std::span<Request* const> requests)
    : requests_(requests), wanted_(requests.size()) {
  for (Request* request : requests_) request->cancel.begin_run(*this);
}

BatchRun::~BatchRun() {
  for (Request* request : requests_) request->cancel.leave_run(*this);
}

void BatchRun::end_run() {
  if (wanted_.fetch_sub(1) == 1) flag_.cancel(EndCause::ClientLeft);
}

}  // namespace serval
