// Runs work that takes seconds on threads that use a core only while nothing else wants it, so that
// it delays no request (docs/decisions/0026). Control plane; any thread but a listener's.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "engine/control/task_threads.h"

namespace serval {

// The time that a thread ran and the time that it waited for a core, since it began.
struct CoreTimes {
  uint64_t ran_ns = 0;
  uint64_t waited_ns = 0;
};

// Times of a thread of this process. False: the system does not tell.
bool read_core_times(int thread, CoreTimes& out);

// Makes a thread of this process run only while a core is idle. False: it is not permitted.
bool set_idle_priority(int thread);
// Gives it normal priority again. False: the system does not permit it (CAP_SYS_NICE or ulimit -e
// are needed).
bool restore_priority(int thread);

class QuietWork {
 public:
  using Restore = bool (*)(int thread);
  explicit QuietWork(int threads_max, Restore restore = restore_priority)
      : threads_("sv-load-idle", threads_max, false),
        threads_max_(threads_max),
        restore_(restore) {}

  // Runs `work`, which must not throw, to its end and returns true. If it finds no time because
  // every core is busy, its thread gets normal priority. False: that is not permitted, no thread is
  // free, or no core had time lately; the caller does the work itself. `work` may then still run to
  // its end, and must own what it uses.
  bool run(std::function<void()> work);
  // Waits for all work.
  void finish() { threads_.finish(); }

 private:
  struct Turn;
  bool wait(Turn& turn);

  std::atomic<uint64_t> starved_ns_{0};  // when work last found no time
  std::atomic<int> running_{0};

  TaskThreads threads_;
  const int threads_max_;
  const Restore restore_;
};

}  // namespace serval
