// Generations of what learned rules depend on. Any thread; lock-free.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace serval {

// A rule depends on the whole (part 0: keys, certificates) and on one other part: a model, by a
// hash of its name, or everything that describes several models. It carries the generations of both
// in which it was made, counted from 0.
class RouteGenerations {
 public:
  static constexpr uint32_t kParts = 1024;

  // Invalidates the rules that depend on a part; on return no thread uses one of them for a request
  // that begins.
  void advance(uint32_t part) { parts_[part % kParts].fetch_add(1, std::memory_order_acq_rel); }
  uint32_t of(uint32_t part) const { return parts_[part % kParts].load(std::memory_order_acquire); }
  uint32_t whole() const { return of(0); }

 private:
  std::array<std::atomic<uint32_t>, kParts> parts_{};
};

}  // namespace serval
