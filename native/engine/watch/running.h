// The running requests of one model, registered so that threads that do not own them can end their
// runs: the deadline timer and an unload. Hot path (queued requests: a lock at each end of a run);
// any thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "engine/request/request.h"

namespace serval {

class RunningRequests {
 public:
  void add(std::span<Request* const> requests);
  // Removes requests; does not touch them after it returns.
  void remove(std::span<Request* const> requests);
  // Ends the runs whose deadline has passed. Returns when the next deadline passes; kNever = none.
  uint64_t expire();
  // Ends the runs of warm-up requests, later ones too.
  void end_warm_ups(EndCause cause);
  // Ends all runs, later ones too.
  void end_all(EndCause cause);

 private:
  void end_unwanted(Request& request);

  std::mutex mutex_;
  std::vector<Request*> running_;             // guarded by mutex_
  EndCause warm_ups_ended_ = EndCause::None;  // guarded by mutex_
  EndCause all_ended_ = EndCause::None;       // guarded by mutex_
};

// Ends a run that serves several requests once none of them is wanted any more: their flags notify
// it, and it sets `flag()`. Thread: the one that runs; the threads that set the flags may notify
// it.
class BatchRun final : private RunEnder {
 public:
  // Borrows the requests and registers itself in their flags.
  explicit BatchRun(std::span<Request* const> requests);
  ~BatchRun();
  BatchRun(const BatchRun&) = delete;
  BatchRun& operator=(const BatchRun&) = delete;

  const CancelFlag* flag() const { return &flag_; }

 private:
  void end_run() override;

  const std::span<Request* const> requests_;
  std::atomic<size_t> wanted_;
  CancelFlag flag_;
};

}  // namespace serval
