// A model's bounded queue of requests: by priority, then by the shares of the callers' keys, then
// in order of arrival; late ones are rejected or delayed by the policy of their level. Any thread.
// Never blocks a producer. Source of the policies: Triton's queue policies
// (docs/guides/batching.md).
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
#include "engine/request/fair_waiting.h"
#include "engine/request/request.h"
#include "engine/request/time_limit.h"

namespace serval {

// An idle consumer ends after this time: a thousand idle models have no threads.
inline constexpr std::chrono::nanoseconds kConsumerIdle = std::chrono::seconds(30);

// The now_ns() at which the earlier of a request's time limits passes; kNever = none.
uint64_t time_limit_of(const Request& request);
// The time limit that a request has passed, if any: its deadline goes first.
Request::Late lateness(const Request& request, uint64_t now);

class RequestQueue {
 public:
  explicit RequestQueue(QueueSettings settings);

  enum class Push : uint8_t { Taken, Full, Closed };
  // Does not own the request. `notify` false: no consumer is woken until notify() (a listener
  // notifies once for all requests of one event-loop iteration). `limit_ns`: now_ns() at which its
  // time limit passes, kNever = never.
  Push push(Request* request, bool notify, uint64_t& limit_ns);
  Push push(Request* request) {
    uint64_t limit_ns = kNever;
    return push(request, true, limit_ns);
  }
  void notify() { ready_.notify_one(); }
  // Requests leave by take() only, also cancelled and late ones, and in their order. Call before
  // the first request.
  void keep_order() { ordered_ = true; }
  // Makes one take() return, also without a request: a consumer's other work changed. Any thread.
  void nudge();

  // Sets the limits of consumers, which start when they are needed and end when they are not: at
  // most `max` at a time, each until it has waited for `idle`. Call before the first request.
  void set_consumers(size_t max, std::chrono::nanoseconds idle = kConsumerIdle);
  // Returns whether one more consumer must be started: more requests wait than consumers wait for
  // them. The caller then starts one, which reports its start, or withdraws the claim. One request
  // per starting consumer counts as taken instead of waiting: so the limits do not depend on how
  // fast threads start.
  bool claim_consumer();
  void arrive();
  void unclaim();
  // For a consumer whose take() returned nothing. Returns true if it must end: no request waits.
  bool retire();

  // Sets how long a request may wait for its model's process. Call before the first request.
  void set_process_wait(uint64_t ns) { process_wait_ns_ = ns; }
  // No request can run until release(), because the model's process is down: consumers get none,
  // and requests that waited too long for the process are late. Any thread.
  void hold();
  // Returns whether requests were held.
  bool release();
  bool held() const { return held_.load(std::memory_order_relaxed); }
  // Puts requests whose run met a process that is down before all that wait, in this order; they
  // keep their time limits. False: the queue is closed. Any thread.
  [[nodiscard]] bool put_back(std::span<Request* const> requests);
  // Keeps a request apart from those that wait for a consumer, until unpark(). It can be removed
  // and be late as they can. False: the queue is closed.
  [[nodiscard]] bool park(Request* request);
  // Puts the parked requests with this key before all that wait. Returns whether there were any.
  bool unpark(const CacheKey& key);
  // Requests that waited for the model's process.
  uint64_t waited_for_process() const { return waited_.load(std::memory_order_relaxed); }

  // Waits until there is a request, the queue is closed, or now_ns() reaches `until_ns` (kNever: at
  // most the idle time of a consumer). Returns up to out.size() requests in the order in which to
  // run them; late ones go to `late` with Request::late set and must be answered too.
  size_t take(std::span<Request*> out, uint64_t until_ns, std::vector<Request*>& late);
  // Takes one request for one consumer; nullptr when the consumer must end. `late` as above, then
  // with nullptr too.
  Request* pop(std::vector<Request*>& late);

  // Removes `request` if no other request waits and it may run at once. Lane's thread.
  bool take_if_alone(Request* request);
  // Removes a waiting request (its client left). Returns false if it is no longer waiting.
  bool remove(Request* request);
  // Removes late requests that must not wait for a consumer (rejected, past their deadline).
  void expire(std::vector<Request*>& late);
  // The now_ns() before which expire() has nothing to do; kNever = nothing at all.
  uint64_t next_expiry_ns();
  // Returns the waiting requests if there is no consumer and none starts: they would wait forever.
  std::vector<Request*> strand();
  // Wakes all consumers; returns the waiting requests.
  std::vector<Request*> close();

  const QueueSettings& settings() const { return settings_; }
  bool closed();
  size_t size();
  // Whether no request waits, and no consumer runs one.
  bool idle();
  size_t consumers() const { return consumers_.load(std::memory_order_relaxed); }
  // Consumers that wait for a request.
  size_t waiting();
  // The most requests that may wait at the level of this priority.
  size_t limit_of(uint64_t priority) const;
  // The action of the priority's level for a request that waited too long.
  TimeoutAction action_of(uint64_t priority) const;
  // The level of requests of this priority: 1..levels, 0 if there are none.
  uint32_t level_of(uint64_t priority) const;

 private:
  struct Level {
    const QueuePolicy* policy = nullptr;
    size_t requests_max = 0;
    // Were taken and came back, before `waiting`: the last one is next. Their keys were charged.
    std::vector<Request*> returned;
    FairWaiting waiting;
    std::deque<Request*> delayed;  // past their timeout, run when nothing else waits at the level

    Request* front();
    Request* pop();
    bool remove(Request* request);
    template <typename Sift>
    void remove_if(const Sift& sift) {
      std::erase_if(delayed, sift);
      std::erase_if(returned, sift);
      waiting.remove_if(sift);
    }
  };
  std::vector<Request*> take_all();
  void move_late(std::vector<Request*>& late);
  bool timed_out(Level& level, Request* request, uint64_t now, std::vector<Request*>& late);
  Level& level_for(const Request& request);
  void make_levels();
  // Whether the queue has to remove the request when its time limit passes.
  bool is_timed(const Request& request) const;
  void begin_wait(Request* request, uint64_t now);
  void lift_timeout(Request* request);
  void move_late_parked(uint64_t now, std::vector<Request*>& late);
  void move_unserved(std::vector<Request*>& late);
  uint64_t next_limit_ns() const;
  bool wait_for_some(std::unique_lock<std::mutex>& lock, uint64_t until_ns,
                     std::vector<Request*>& late);

  const QueueSettings settings_;
  std::mutex mutex_;
  std::condition_variable ready_;
  // Guarded by mutex_; the first is served first. Empty until the first request: most of many
  // models have none.
  std::vector<Level> levels_;
  std::vector<Request*> parked_;   // guarded by mutex_; not counted in size_
  size_t size_ = 0;                // guarded by mutex_
  size_t timed_ = 0;               // guarded by mutex_: waiting requests with a time limit
  uint64_t earliest_ns_ = kNever;  // guarded by mutex_: no limit of a waiting request is earlier
  bool closed_ = false;            // guarded by mutex_
  bool nudged_ = false;            // guarded by mutex_
  bool ordered_ = false;           // constant after start-up
  uint64_t process_wait_ns_ = 0;   // constant after start-up
  std::atomic<bool> held_{false};  // changed under mutex_
  uint64_t unserved_ns_ = kNever;  // guarded by mutex_: no wait_until_ns is earlier, while held_
  std::atomic<uint64_t> waited_{0};
  size_t consumers_max_ = 0;  // constant after start-up, as is idle_
  std::chrono::nanoseconds idle_ = kConsumerIdle;
  std::atomic<size_t> consumers_{0};  // changed under mutex_
  size_t waiting_ = 0;                // guarded by mutex_: consumers that wait for a request
  // guarded by mutex_: consumers that were claimed and have not started yet
  size_t starting_ = 0;
};

}  // namespace serval
