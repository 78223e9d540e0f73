// The requests of one model that run now, so that their runs can be ended by those who do not own
// them: the deadline timer and an unload. Hot path (queued requests: a lock at each end of a run);
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
  // From when this returns nobody here touches the requests.
  void remove(std::span<Request* const> requests);
  // Ends the runs whose deadline has passed. Answers when the next one's does; kNever = none.
  uint64_t expire();
  // Ends the runs of warm-up requests, those to come too.
  void end_warm_ups(EndCause cause);
  // Ends all, those to come too.
  void end_all(EndCause cause);

 private:
  void end_unwanted(Request& request);

  std::mutex mutex_;
  std::vector<Request*> running_;             // guarded by mutex_
  EndCause warm_ups_ended_ = EndCause::None;  // guarded by mutex_
  EndCause all_ended_ = EndCause::None;       // guarded by mutex_
};

// Ends a run that answers several requests when none of them is waited for any more: their flags
// tell it, and it puts up `flag()`. Thread: the one that runs; the flags' may tell it.
class BatchRun final : private RunEnder {
 public:
  // Borrows the requests, whose flags it is hung into.
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
