// A model's bounded queue of requests: by priority, then in order of arrival; late ones are
// rejected or delayed as the policy of their level says. Any thread. Never blocks a producer.
// Source of the policies: Triton's queue policies (docs/guides/batching.md).
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "base/policies.h"
#include "engine/request/request.h"
#include "engine/request/time_limit.h"

namespace serval {

// A consumer with nothing to do for so long ends: a thousand idle models have no threads.
inline constexpr std::chrono::nanoseconds kConsumerIdle = std::chrono::seconds(30);

class RequestQueue {
 public:
  explicit RequestQueue(QueueSettings settings);

  enum class Push : uint8_t { Taken, Full, Closed };
  // Does not own the request. `notify` false: nobody is woken until notify() (a listener tells of
  // all the requests of one turn at once).
  // `limit_ns`: now_ns() at which its time is over, kNever = never.
  Push push(Request* request, bool notify, uint64_t& limit_ns);
  Push push(Request* request) {
    uint64_t limit_ns = kNever;
    return push(request, true, limit_ns);
  }
  void notify() { ready_.notify_one(); }

  // Consumers come when they are needed and go when they are not. At most `max` at a time, each
  // until it has waited for `idle`. Before the first request.
  void set_consumers(size_t max, std::chrono::nanoseconds idle = kConsumerIdle);
  // Whether one more is to be started: more waits than consumers that wait for it. Then the caller
  // starts one, which tells when it is there, or takes that back. A request for each that starts
  // counts as taken and not as waiting: the limits do not depend on how fast threads start.
  bool claim_consumer();
  void arrive();
  void unclaim();
  // For a consumer that take() left with nothing. True when it is to end: nothing waits.
  bool retire();

  // Waits until a request is there, the queue is closed, or now_ns() reaches `until_ns` (kNever: no
  // longer than a consumer may idle). Hands out
  // up to out.size() requests, those to be run next first; late ones go to `late` with
  // Request::late set and must be answered too.
  size_t take(std::span<Request*> out, uint64_t until_ns, std::vector<Request*>& late);
  // For one consumer of one request: nullptr once it is to end. `late` as above, then with nullptr
  // too.
  Request* pop(std::vector<Request*>& late);

  // Takes `request` out when it is all that waits. Lane's thread.
  bool take_if_alone(Request* request);
  // Takes a waiting request out (its client went away). False when it is not waiting any more.
  bool remove(Request* request);
  // Late requests that must not wait for a consumer (rejected, past their deadline).
  void expire(std::vector<Request*>& late);
  // now_ns() before which expire() has nothing to do; kNever = nothing at all.
  uint64_t next_expiry_ns();
  // Where there is no consumer, and none starts: what waits, which nobody would take.
  std::vector<Request*> strand();
  // Wakes everyone; returns what was waiting.
  std::vector<Request*> close();

  const QueueSettings& settings() const { return settings_; }
  bool closed();
  size_t size();
  size_t consumers() const { return consumers_.load(std::memory_order_relaxed); }
  // Consumers that wait for a request.
  size_t waiting();
  // The most that wait at the level of this priority.
  size_t limit_of(uint64_t priority) const;
  // What its level does with a request that waited too long.
  TimeoutAction action_of(uint64_t priority) const;
  // The level a request of this priority goes to: 1..levels, 0 where there are none.
  uint32_t level_of(uint64_t priority) const;

 private:
  struct Level {
    const QueuePolicy* policy = nullptr;
    size_t requests_max = 0;
    std::deque<Request*> waiting;
    std::deque<Request*> delayed;  // past their timeout, run when nothing else waits at the level
  };
  std::vector<Request*> take_all();
  void move_late(std::vector<Request*>& late);
  bool timed_out(Level& level, Request* request, uint64_t now, std::vector<Request*>& late);

  const QueueSettings settings_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<Level> levels_;      // guarded by mutex_; the first is served first
  size_t size_ = 0;                // guarded by mutex_
  size_t timed_ = 0;               // guarded by mutex_: waiting requests with a time limit
  uint64_t earliest_ns_ = kNever;  // guarded by mutex_: no limit of a waiting request is earlier
  bool closed_ = false;            // guarded by mutex_
  size_t consumers_max_ = 0;       // fixed from the start, as is idle_
  std::chrono::nanoseconds idle_ = kConsumerIdle;
  std::atomic<size_t> consumers_{0};  // changed under mutex_
  size_t waiting_ = 0;                // guarded by mutex_: consumers that wait for a request
  size_t starting_ = 0;               // guarded by mutex_: consumers claimed and not there yet
};

}  // namespace serval
