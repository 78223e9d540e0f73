// A run that tests hold. The threads wait for states, not for times. Test time only.
#pragma once

#include <atomic>
#include <thread>

#include "engine/turns/run_turns.h"

namespace serval {

template <typename Condition>
void until_true(const Condition& condition) {
  while (!condition()) std::this_thread::yield();
}

// A run on its own thread, from its wait for a turn until end().
class HeldRun {
 public:
  explicit HeldRun(RunFlow& flow, const CancelFlag* cancel = nullptr, size_t replica = 0)
      : thread_([this, &flow, cancel, replica] {
          RunTurn turn(flow);
          if (turn.needed()) turn.wait(cancel, replica);
          runs_ = true;
          until_true([this] { return ends_.load(); });
        }) {}
  ~HeldRun() {
    ends_ = true;
    thread_.join();
  }
  HeldRun(const HeldRun&) = delete;
  HeldRun& operator=(const HeldRun&) = delete;

  bool runs() const { return runs_; }
  void end() { ends_ = true; }
  void begun() const {
    until_true([this] { return runs_.load(); });
  }

 private:
  std::atomic<bool> runs_{false}, ends_{false};
  std::thread thread_;
};

}  // namespace serval
