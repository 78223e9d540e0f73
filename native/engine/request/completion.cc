// Returns finished requests to their lanes. Hot path (queued requests); any thread.
#include "engine/request/completion.h"

#include <utility>

#include "engine/request/home.h"
#include "engine/request/outcome.h"

namespace serval {

namespace {

// Limits the response bytes of one wake-up: each is copied when it is handed over, and their memory
// is released only after all of them.
constexpr size_t kAnswerBytesPerWake = 2u << 20;

}  // namespace

void CompletionQueue::add_working(int change) {
  std::lock_guard lock(mutex_);
  working_ += change;
}

void CompletionQueue::complete(std::span<Request* const> requests) {
  std::lock_guard lock(mutex_);
  const bool none = completed_.empty();
  working_ -= static_cast<int64_t>(requests.size());
  completed_.insert(completed_.end(), requests.begin(), requests.end());
  if (closed_) {
    idle_.notify_all();
  } else if (none) {
    hooks_.wake();
  }
}

void CompletionQueue::complete_here(Request& request) {
  std::lock_guard lock(mutex_);
  --working_;
  completed_.push_back(&request);
}

// Hot path: reply (queued).
size_t CompletionQueue::take(std::span<Request*> out) {
  std::lock_guard lock(mutex_);
  size_t count = 0;
  size_t bytes = 0;
  while (count < out.size() && !completed_.empty() && bytes < kAnswerBytesPerWake) {
    bytes += completed_.front()->response.size();
    completed_.front()->stage = Request::Stage::Taken;
    out[count++] = completed_.front();
    completed_.pop_front();
  }
  return count;
}

bool CompletionQueue::empty() {
  std::lock_guard lock(mutex_);
  return completed_.empty();
}

void CompletionQueue::wake() {
  std::lock_guard lock(mutex_);
  if (!closed_) hooks_.wake();
}

void CompletionQueue::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
}

const std::deque<Request*>& CompletionQueue::wait_for_all() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return working_ == 0; });
  return completed_;
}

void complete_all(std::span<Request* const> requests) {
  for (size_t first = 0; first < requests.size();) {
    // A request may be reused as soon as complete() has queued it: keep the home here.
    const std::shared_ptr<Home> home = std::move(requests[first]->home);
    size_t end = first + 1;
    while (end < requests.size() && requests[end]->home == home) {
      requests[end++]->home.reset();
    }
    home->completions().complete(requests.subspan(first, end - first));
    first = end;
  }
}

void complete_one(Request& request) {
  Request* one = &request;
  complete_all({&one, 1});
}

void BatchDelivery::deliver(uint64_t number, std::vector<Request*>& requests) {
  if (!in_order_) {
    complete_all(requests);
    requests.clear();
    return;
  }
  std::lock_guard lock(mutex_);
  too_early_[number] = std::move(requests);
  requests.clear();
  for (auto at = too_early_.find(next_); at != too_early_.end(); at = too_early_.find(next_)) {
    complete_all(at->second);
    too_early_.erase(at);
    ++next_;
  }
}

void finish_request(Request& request) {
  request.code = ErrorCode::Ok;
  complete_one(request);
}

void finish_request(Request& request, const Error& error) {
  store_outcome(request, error);
  complete_one(request);
}

}  // namespace serval
