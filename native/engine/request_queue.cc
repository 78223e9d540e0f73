// See request_queue.h. Hot path (queued requests), any thread.
#include "engine/request_queue.h"

#include <algorithm>

namespace serval {

RequestQueue::Push RequestQueue::push(Request* request) {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return Push::Closed;
    if (waiting_.size() >= requests_max_) return Push::Full;
    waiting_.push_back(request);
  }
  ready_.notify_one();
  return Push::Taken;
}

Request* RequestQueue::pop() {
  std::unique_lock lock(mutex_);
  ready_.wait(lock, [this] { return closed_ || !waiting_.empty(); });
  if (waiting_.empty()) return nullptr;
  Request* request = waiting_.front();
  waiting_.pop_front();
  return request;
}

std::deque<Request*> RequestQueue::close() {
  std::deque<Request*> left;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    left.swap(waiting_);
  }
  ready_.notify_all();
  return left;
}

bool RequestQueue::remove(Request* request) {
  std::lock_guard lock(mutex_);
  const auto found = std::find(waiting_.begin(), waiting_.end(), request);
  if (found == waiting_.end()) return false;
  waiting_.erase(found);
  return true;
}

}  // namespace serval
