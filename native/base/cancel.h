// Cancellation of a run whose result is no longer needed: the flag, owned by the waiting side, and
// the hook that a run registers in it. Hot path (one exchange at the start of a run and one at its
// end); any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace serval {

// The reason why a run is no longer needed. Displaced: it took too long for its thread, and is to
// be run again on another one.
enum class EndCause : uint8_t { None, ClientLeft, Deadline, Unloaded, Displaced };

// Ends one current run.
class RunEnder {
 public:
  // Any thread; called at most once per run; must not block. The run may end by itself meanwhile.
  virtual void end_run() = 0;

 protected:
  ~RunEnder() = default;
};

// Lets a long run be cancelled. The methods of the waiting side are non-const, those of the run
// const.
class CancelFlag {
 public:
  bool cancelled() const { return cause() != EndCause::None; }
  EndCause cause() const {
    return static_cast<EndCause>(state_.load(std::memory_order_relaxed) & kCauseMask);
  }

  // Registers `ender` for the current run; calls it at once if the flag is already set. One run at
  // a time; leave_run() follows.
  void begin_run(RunEnder& ender) const {
    ender_.store(&ender);
    // A thread that set the flag before that store found no run, otherwise it finds this one: one
    // of the two sides sees the other, because both orders are total.
    if ((state_.load() & kCauseMask) == 0) return;
    RunEnder* expected = &ender;
    if (ender_.compare_exchange_strong(expected, nullptr)) ender.end_run();
  }
  // The run has ended: on return its ender is not used any more.
  void leave_run(RunEnder& ender) const {
    RunEnder* expected = &ender;
    if (ender_.compare_exchange_strong(expected, nullptr)) return;
    while (ender_.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
  }

  // Sets the flag and ends the current run. The first cause is kept; false if it is another one.
  bool cancel(EndCause cause) {
    uint64_t state = state_.load();
    do {
      if ((state & kCauseMask) != 0) return false;
    } while (!state_.compare_exchange_weak(state, state | static_cast<uint64_t>(cause)));
    end_current();
    return true;
  }
  // The same, unless the flag was reset since state() returned `seen`.
  bool cancel_if(uint64_t seen, EndCause cause) {
    if ((seen & kCauseMask) != 0) return false;
    if (!state_.compare_exchange_strong(seen, seen | static_cast<uint64_t>(cause))) return false;
    end_current();
    return true;
  }
  // Clears the flag for its next use; returns the cause it had. No run is in progress, and only
  // cancel_if() may be about to set it.
  EndCause reset() {
    const uint64_t state = state_.load(std::memory_order_relaxed);
    const uint64_t before = state_.exchange((state & ~kCauseMask) + kUse);
    return static_cast<EndCause>(before & kCauseMask);
  }
  uint64_t state() const { return state_.load(); }
  // The number of resets, from a state.
  static uint64_t uses(uint64_t state) { return state / kUse; }

 private:
  static constexpr uint64_t kUse = 8;
  static constexpr uint64_t kCauseMask = kUse - 1;

  // Replaces the ender while it is being called.
  class Telling final : public RunEnder {
   public:
    void end_run() override {}
  };
  static RunEnder* telling() {
    static Telling one;
    return &one;
  }

  // Only one thread gets here per use: the one that set the flag.
  void end_current() {
    RunEnder* ender = ender_.load();
    if (ender == nullptr || !ender_.compare_exchange_strong(ender, telling())) return;
    ender->end_run();
    ender_.store(nullptr, std::memory_order_release);
  }

  std::atomic<uint64_t> state_{0};                 // number of uses, and cause
  mutable std::atomic<RunEnder*> ender_{nullptr};  // of the current run; not owned
};

}  // namespace serval
