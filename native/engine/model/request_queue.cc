// Implements a model's bounded queue. Hot path (queued requests), any thread.
#include "engine/model/request_queue.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace serval {

namespace {

std::chrono::steady_clock::time_point time_point(uint64_t ns) {
  return std::chrono::steady_clock::time_point(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          std::chrono::nanoseconds(static_cast<int64_t>(ns))));
}

}  // namespace

Request::Late lateness(const Request& request, uint64_t now) {
  if (request.deadline_ns != 0 && now >= request.deadline_ns) return Request::Late::Deadline;
  if (request.policy_timeout_ns != 0 && now >= request.policy_timeout_ns) {
    return Request::Late::Timeout;
  }
  return Request::Late::No;
}

uint64_t time_limit_of(const Request& request) {
  uint64_t limit = kNever;
  if (request.deadline_ns != 0) limit = std::min(limit, request.deadline_ns);
  if (request.policy_timeout_ns != 0) limit = std::min(limit, request.policy_timeout_ns);
  return limit;
}

bool RequestQueue::is_timed(const Request& request) const {
  return !ordered_ && time_limit_of(request) != kNever;
}

RequestQueue::RequestQueue(QueueSettings settings) : settings_(std::move(settings)) {}

// The request that pop() removes, unless it was delayed; null: there is none.
Request* RequestQueue::Level::front() {
  if (!returned.empty()) return returned.back();
  return waiting.empty() ? nullptr : waiting.front();
}

// Removes the next request; null: there is none.
Request* RequestQueue::Level::pop() {
  if (!returned.empty()) {
    Request* const request = returned.back();
    returned.pop_back();
    return request;
  }
  if (!waiting.empty()) return waiting.pop();
  if (delayed.empty()) return nullptr;
  Request* const request = delayed.front();
  delayed.pop_front();
  return request;
}

bool RequestQueue::Level::remove(Request* request) {
  if (waiting.remove(request) || std::erase(returned, request) != 0) return true;
  return std::erase(delayed, request) != 0;
}

// Caller holds mutex_.
void RequestQueue::make_levels() {
  levels_.resize(std::max<size_t>(1, settings_.priority_levels));
  for (size_t i = 0; i < levels_.size(); ++i) {
    const uint32_t level = settings_.priority_levels == 0 ? 0 : static_cast<uint32_t>(i + 1);
    levels_[i].policy = &settings_.policy_of(level);
    const uint32_t own = levels_[i].policy->requests_max;
    levels_[i].requests_max = own != 0 ? own : settings_.requests_max;
  }
}

uint32_t RequestQueue::level_of(uint64_t priority) const {
  if (settings_.priority_levels == 0) return 0;
  if (priority == 0 || priority > settings_.priority_levels) {
    return std::max<uint32_t>(1, settings_.default_priority);
  }
  return static_cast<uint32_t>(priority);
}

size_t RequestQueue::limit_of(uint64_t priority) const {
  const QueuePolicy& policy = settings_.policy_of(level_of(priority));
  return policy.requests_max != 0 ? policy.requests_max : settings_.requests_max;
}

TimeoutAction RequestQueue::action_of(uint64_t priority) const {
  return settings_.policy_of(level_of(priority)).timeout_action;
}

// Caller holds mutex_.
RequestQueue::Level& RequestQueue::level_for(const Request& request) {
  if (levels_.empty()) [[unlikely]]
    make_levels();
  const uint32_t number = level_of(request.schedule.priority);
  return levels_[number == 0 ? 0 : number - 1];
}

RequestQueue::Push RequestQueue::push(Request* request, bool notify_now, uint64_t& limit) {
  const QueuePolicy& policy = settings_.policy_of(level_of(request->schedule.priority));
  uint64_t timeout_us = policy.default_timeout_us;
  const uint64_t wanted_us = std::min(request->schedule.timeout_us, kTimeoutUsMax);
  if (policy.allow_timeout_override && wanted_us != 0 &&
      (timeout_us == 0 || wanted_us < timeout_us)) {
    timeout_us = wanted_us;
  }
  request->late = Request::Late::No;
  request->policy_timeout_ns = timeout_us == 0 ? 0 : now_ns() + timeout_us * 1000;
  limit = time_limit_of(*request);
  {
    std::lock_guard lock(mutex_);
    if (closed_) return Push::Closed;
    Level& level = level_for(*request);
    const size_t waits = level.waiting.size() + level.returned.size() + level.delayed.size();
    if (waits >= level.requests_max + starting_) return Push::Full;
    level.waiting.push(request, ordered_ ? 0 : request->key);
    ++size_;
    if (is_timed(*request)) {
      ++timed_;
      earliest_ns_ = std::min(earliest_ns_, limit);
    }
    if (held()) {
      begin_wait(request, now_ns());
      limit = std::min(limit, request->wait_until_ns);
    }
  }
  if (notify_now) ready_.notify_one();
  return Push::Taken;
}

// Caller holds mutex_. Ends the policy's timeout of a request that its policy delays.
void RequestQueue::lift_timeout(Request* request) {
  request->policy_timeout_ns = 0;
  if (request->deadline_ns == 0) --timed_;
  else earliest_ns_ = std::min(earliest_ns_, request->deadline_ns);
}

// Caller holds mutex_. Returns true if the request must not run now: rejected, or moved back.
bool RequestQueue::timed_out(Level& level, Request* request, uint64_t now,
                             std::vector<Request*>& late) {
  const Request::Late passed = lateness(*request, now);
  if (passed == Request::Late::No) return false;
  if (passed == Request::Late::Timeout && level.policy->timeout_action == TimeoutAction::Delay) {
    lift_timeout(request);
    level.delayed.push_back(request);
    return true;
  }
  request->late = passed;
  --timed_;
  --size_;
  late.push_back(request);
  return true;
}

// Caller holds mutex_. Removes late requests at any position. Scans the queue only when the
// earliest limit has passed.
void RequestQueue::move_late(std::vector<Request*>& late) {
  if (timed_ == 0) earliest_ns_ = kNever;
  if (earliest_ns_ == kNever) return;
  const uint64_t now = now_ns();
  if (now < earliest_ns_) return;
  earliest_ns_ = kNever;
  for (Level& level : levels_) {
    const auto sift = [&](Request* request) {
      if (!is_timed(*request)) return false;
      if (timed_out(level, request, now, late)) return true;
      earliest_ns_ = std::min(earliest_ns_, time_limit_of(*request));
      return false;
    };
    level.remove_if(sift);
  }
  move_late_parked(now, late);
}

// Caller holds mutex_. A parked request that its policy would delay stays.
void RequestQueue::move_late_parked(uint64_t now, std::vector<Request*>& late) {
  std::erase_if(parked_, [&](Request* request) {
    if (!is_timed(*request)) return false;
    const Request::Late passed = lateness(*request, now);
    if (passed == Request::Late::No) {
      earliest_ns_ = std::min(earliest_ns_, time_limit_of(*request));
      return false;
    }
    if (passed == Request::Late::Timeout &&
        level_for(*request).policy->timeout_action == TimeoutAction::Delay) {
      lift_timeout(request);
      return false;
    }
    request->late = passed;
    --timed_;
    late.push_back(request);
    return true;
  });
}

// Caller holds mutex_.
void RequestQueue::begin_wait(Request* request, uint64_t now) {
  if (request->wait_until_ns == 0) {
    request->wait_until_ns = now + process_wait_ns_;
    waited_.fetch_add(1, std::memory_order_relaxed);
  }
  unserved_ns_ = std::min(unserved_ns_, request->wait_until_ns);
}

void RequestQueue::hold() {
  {
    std::lock_guard lock(mutex_);
    if (held_.exchange(true)) return;
    unserved_ns_ = kNever;
    const uint64_t now = now_ns();
    for (Level& level : levels_) {
      const auto begin = [&](Request* request) { begin_wait(request, now); };
      level.waiting.for_each(begin);
      std::ranges::for_each(level.returned, begin);
      std::ranges::for_each(level.delayed, begin);
    }
  }
  ready_.notify_all();
}

bool RequestQueue::release() {
  {
    std::lock_guard lock(mutex_);
    if (!held_.exchange(false)) return false;
  }
  ready_.notify_all();
  return true;
}

void RequestQueue::nudge() {
  {
    std::lock_guard lock(mutex_);
    nudged_ = true;
  }
  ready_.notify_one();
}

bool RequestQueue::put_back(std::span<Request* const> requests) {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    const uint64_t now = now_ns();
    for (auto at = requests.rbegin(); at != requests.rend(); ++at) {
      Request* const request = *at;
      level_for(*request).returned.push_back(request);
      ++size_;
      begin_wait(request, now);
      if (!is_timed(*request)) continue;
      ++timed_;
      earliest_ns_ = std::min(earliest_ns_, time_limit_of(*request));
    }
  }
  ready_.notify_all();
  return true;
}

bool RequestQueue::park(Request* request) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  parked_.push_back(request);
  if (!is_timed(*request)) return true;
  ++timed_;
  earliest_ns_ = std::min(earliest_ns_, time_limit_of(*request));
  return true;
}

bool RequestQueue::unpark(const CacheKey& key) {
  {
    const std::lock_guard lock(mutex_);
    if (parked_.empty()) return false;
    const auto stays = [&](const Request* request) { return !(request->equal_key == key); };
    const auto first = std::stable_partition(parked_.begin(), parked_.end(), stays);
    if (first == parked_.end()) return false;
    const uint64_t now = held() ? now_ns() : 0;
    for (auto at = parked_.end(); at != first;) {
      Request* const request = *--at;
      level_for(*request).returned.push_back(request);
      ++size_;
      if (held()) begin_wait(request, now);
    }
    parked_.erase(first, parked_.end());
  }
  ready_.notify_all();
  return true;
}

// Caller holds mutex_. Removes the requests that waited too long for the model's process.
void RequestQueue::move_unserved(std::vector<Request*>& late) {
  if (!held() || unserved_ns_ == kNever) return;
  const uint64_t now = now_ns();
  if (now < unserved_ns_) return;
  unserved_ns_ = kNever;
  const auto sift = [&](Request* request) {
    if (now < request->wait_until_ns) {
      unserved_ns_ = std::min(unserved_ns_, request->wait_until_ns);
      return false;
    }
    request->late = Request::Late::Down;
    --size_;
    if (is_timed(*request)) --timed_;
    late.push_back(request);
    return true;
  };
  for (Level& level : levels_) {
    level.remove_if(sift);
  }
}

// Caller holds mutex_. The time when move_late() or move_unserved() has something to do.
uint64_t RequestQueue::next_limit_ns() const {
  const uint64_t timed = timed_ == 0 ? kNever : earliest_ns_;
  return held() ? std::min(timed, unserved_ns_) : timed;
}

void RequestQueue::set_consumers(size_t max, std::chrono::nanoseconds idle) {
  consumers_max_ = max;
  idle_ = idle;
}

// The check without the lock cannot miss a consumer that ended: it ended before the caller's push,
// or saw the pushed request and stayed.
bool RequestQueue::claim_consumer() {
  if (consumers_.load(std::memory_order_relaxed) >= consumers_max_) return false;
  std::lock_guard lock(mutex_);
  const size_t work = size_ + size_t{nudged_};
  if (closed_ || work <= waiting_ || consumers_ >= consumers_max_) return false;
  ++consumers_;
  ++starting_;
  return true;
}

void RequestQueue::arrive() {
  std::lock_guard lock(mutex_);
  --starting_;
}

void RequestQueue::unclaim() {
  std::lock_guard lock(mutex_);
  --starting_;
  --consumers_;
}

bool RequestQueue::retire() {
  std::lock_guard lock(mutex_);
  if (closed_ || size_ != 0 || consumers_ == 0) return false;
  --consumers_;
  return true;
}

// Caller holds `lock` of mutex_. Waits as take() does; false: it has nothing to return but `late`.
bool RequestQueue::wait_for_some(std::unique_lock<std::mutex>& lock, uint64_t until_ns,
                                 std::vector<Request*>& late) {
  const auto some = [this] { return closed_ || nudged_ || (size_ != 0 && !held()); };
  if (some()) return true;
  const uint64_t end_ns =
      until_ns == kNever ? now_ns() + static_cast<uint64_t>(idle_.count()) : until_ns;
  for (;;) {
    // While all requests are held, a consumer removes the late ones in time.
    const uint64_t limit_ns = held() ? std::min(end_ns, next_limit_ns()) : end_ns;
    ++waiting_;
    ready_.wait_until(lock, time_point(limit_ns));
    --waiting_;
    if (some()) return true;
    if (held()) {
      move_late(late);
      move_unserved(late);
    }
    if (!late.empty() || now_ns() >= end_ns) return false;
  }
}

size_t RequestQueue::take(std::span<Request*> out, uint64_t until_ns, std::vector<Request*>& late) {
  std::unique_lock lock(mutex_);
  if (!wait_for_some(lock, until_ns, late)) return 0;
  nudged_ = false;
  move_late(late);
  if (held() && !closed_) return 0;  // it was nudged
  size_t count = 0;
  for (Level& level : levels_) {
    while (count < out.size()) {
      Request* const request = level.pop();
      if (request == nullptr) break;
      --size_;
      if (is_timed(*request)) --timed_;
      out[count++] = request;
    }
  }
  return count;
}

Request* RequestQueue::pop(std::vector<Request*>& late) {
  Request* request = nullptr;
  for (;;) {
    if (take({&request, 1}, kNever, late) == 1) return request;
    if (!late.empty() || retire() || closed()) return nullptr;
  }
}

bool RequestQueue::take_if_alone(Request* request) {
  std::lock_guard lock(mutex_);
  if (size_ != 1 || held()) return false;
  for (Level& level : levels_) {
    if (level.front() != request || request->died) continue;
    level.pop();
    --size_;
    if (is_timed(*request)) --timed_;
    return true;
  }
  return false;
}

bool RequestQueue::remove(Request* request) {
  if (ordered_) return false;
  std::lock_guard lock(mutex_);
  for (Level& level : levels_) {
    if (!level.remove(request)) continue;
    --size_;
    if (is_timed(*request)) --timed_;
    return true;
  }
  if (std::erase(parked_, request) == 0) return false;
  if (is_timed(*request)) --timed_;
  return true;
}

void RequestQueue::expire(std::vector<Request*>& late) {
  if (ordered_) return;
  std::lock_guard lock(mutex_);
  move_late(late);
  move_unserved(late);
}

uint64_t RequestQueue::next_expiry_ns() {
  std::lock_guard lock(mutex_);
  return next_limit_ns();
}

// Caller holds mutex_.
std::vector<Request*> RequestQueue::take_all() {
  std::vector<Request*> all;
  for (Level& level : levels_) {
    while (Request* const request = level.pop()) all.push_back(request);
  }
  all.insert(all.end(), parked_.begin(), parked_.end());
  parked_.clear();
  size_ = timed_ = 0;
  return all;
}

std::vector<Request*> RequestQueue::strand() {
  std::lock_guard lock(mutex_);
  if (consumers_.load(std::memory_order_relaxed) > 0) return {};
  return take_all();
}

std::vector<Request*> RequestQueue::close() {
  std::vector<Request*> left;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    left = take_all();
  }
  ready_.notify_all();
  return left;
}

bool RequestQueue::closed() {
  std::lock_guard lock(mutex_);
  return closed_;
}

size_t RequestQueue::waiting() {
  std::lock_guard lock(mutex_);
  return waiting_;
}

size_t RequestQueue::size() {
  std::lock_guard lock(mutex_);
  return size_;
}

bool RequestQueue::idle() {
  std::lock_guard lock(mutex_);
  return size_ == 0 && starting_ == 0 && waiting_ == consumers_.load(std::memory_order_relaxed);
}

}  // namespace serval
