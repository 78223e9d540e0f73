// Decides whether a request is traced: one in `one_in`, at most `count` more. One sampler for all
// models, and one for each model that has its own rule; never freed before the engine, so that a
// thread may still use one that was replaced. Hot path while tracing is on; any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace serval {

// A tracing rule's settings.
struct TraceRate {
  bool on = false;
  uint32_t one_in = 0;   // 0 = only requests whose caller traces them
  int64_t count = -1;    // how many more requests; -1 = no limit
  bool tensors = false;  // traces have inputs and outputs
};

class TraceSampler {
 public:
  // Sets the rate and restarts the counts. Control plane.
  void set(const TraceRate& rate) {
    on_.store(false, std::memory_order_relaxed);
    seen_.store(0, std::memory_order_relaxed);
    one_in_.store(rate.one_in, std::memory_order_relaxed);
    left_.store(rate.count, std::memory_order_relaxed);
    tensors_.store(rate.tensors, std::memory_order_relaxed);
    on_.store(rate.on, std::memory_order_relaxed);
  }
  TraceRate get() const {
    return {on_.load(std::memory_order_relaxed), one_in_.load(std::memory_order_relaxed),
            left_.load(std::memory_order_relaxed), tensors()};
  }
  bool on() const { return on_.load(std::memory_order_relaxed); }
  bool tensors() const { return tensors_.load(std::memory_order_relaxed); }

  // Counts a request, and returns whether to trace it. Hot path.
  bool sample() {
    const uint32_t one_in = one_in_.load(std::memory_order_relaxed);
    int64_t left = left_.load(std::memory_order_relaxed);
    if (one_in == 0 || left == 0) return false;
    if ((seen_.fetch_add(1, std::memory_order_relaxed) + 1) % one_in != 0) return false;
    while (left > 0) {
      if (left_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) return true;
    }
    return left < 0;
  }

 private:
  std::atomic<bool> on_{false};
  std::atomic<bool> tensors_{false};
  std::atomic<uint32_t> one_in_{0};
  std::atomic<int64_t> left_{-1};
  std::atomic<uint64_t> seen_{0};
};

}  // namespace serval
