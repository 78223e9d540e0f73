// How a run that nobody waits for any more is ended: the flag that belongs to whoever waits, and
// the hook that a run hangs into it. Hot path (one exchange at the begin of a run and one at its
// end); any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace serval {

// Why a run is not wanted any more. Displaced: it took too long for the thread that it is on, and
// is to be run again elsewhere.
enum class EndCause : uint8_t { None, ClientLeft, Deadline, Unloaded, Displaced };

// What ends one run that is under way.
class RunEnder {
 public:
  // Any thread; at most once in each run; must not block. The run may end by itself meanwhile.
  virtual void end_run() = 0;

 protected:
  ~RunEnder() = default;
};

// Lets a long run be given up. The side of who waits is non-const, the side of the run const.
class CancelFlag {
 public:
  bool cancelled() const { return cause() != EndCause::None; }
  EndCause cause() const {
    return static_cast<EndCause>(state_.load(std::memory_order_relaxed) & kCauseMask);
  }

  // The run of `ender` is under way; it is told at once where the flag is up already. One run at a
  // time; leave_run() follows.
  void begin_run(RunEnder& ender) const {
    ender_.store(&ender);
    // Whoever put the flag up before that store found no run, or finds this one: one of the two
    // sides sees the other, as both orders are total.
    if ((state_.load() & kCauseMask) == 0) return;
    RunEnder* expected = &ender;
    if (ender_.compare_exchange_strong(expected, nullptr)) ender.end_run();
  }
  // The run is over: when this returns its ender is not used any more.
  void leave_run(RunEnder& ender) const {
    RunEnder* expected = &ender;
    if (ender_.compare_exchange_strong(expected, nullptr)) return;
    while (ender_.load(std::memory_order_acquire) != nullptr) std::this_thread::yield();
  }

  // Puts the flag up and ends the run under way. The first cause stands; false when this is not it.
  bool cancel(EndCause cause) {
    uint64_t state = state_.load();
    do {
      if ((state & kCauseMask) != 0) return false;
    } while (!state_.compare_exchange_weak(state, state | static_cast<uint64_t>(cause)));
    end_current();
    return true;
  }
  // The same, unless the flag was reset since state() answered `seen`.
  bool cancel_if(uint64_t seen, EndCause cause) {
    if ((seen & kCauseMask) != 0) return false;
    if (!state_.compare_exchange_strong(seen, seen | static_cast<uint64_t>(cause))) return false;
    end_current();
    return true;
  }
  // Takes the flag down for its next use; answers the cause that it was up for. No run is under
  // way, and nobody but cancel_if() may be about to put it up.
  EndCause reset() {
    const uint64_t state = state_.load(std::memory_order_relaxed);
    const uint64_t before = state_.exchange((state & ~kCauseMask) + kUse);
    return static_cast<EndCause>(before & kCauseMask);
  }
  uint64_t state() const { return state_.load(); }
  // How often it was reset, of a state.
  static uint64_t uses(uint64_t state) { return state / kUse; }

 private:
  static constexpr uint64_t kUse = 8;
  static constexpr uint64_t kCauseMask = kUse - 1;

  // Stands for the ender while it is being told.
  class Telling final : public RunEnder {
   public:
    void end_run() override {}
  };
  static RunEnder* telling() {
    static Telling one;
    return &one;
  }

  // Only one thread comes here in each use: the one that put the flag up.
  void end_current() {
    RunEnder* ender = ender_.load();
    if (ender == nullptr || !ender_.compare_exchange_strong(ender, telling())) return;
    ender->end_run();
    ender_.store(nullptr, std::memory_order_release);
  }

  std::atomic<uint64_t> state_{0};                 // uses and cause
  mutable std::atomic<RunEnder*> ender_{nullptr};  // of the run under way; not owned
};

}  // namespace serval
