// A limit of tokens per second, without a lock. Hot path (limited requests); any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace serval {

// A bucket that holds one second's worth of tokens, at least one, and begins full. It is kept as
// the time at which it will be full again (GCRA), so that one atomic word is its whole state. Times
// are now_ns().
class RateLimit {
 public:
  // `per_second`: 0 = no limit. A changed limit begins with a full bucket. Control plane.
  void set(double per_second);
  bool is_set() const { return interval_.load(std::memory_order_relaxed) != 0; }

  // Takes one token. Returns 0, or, if there is none, the nanoseconds until there is.
  uint64_t take(uint64_t now_ns);
  // Takes tokens that may be missing: the bucket is in debt then, for at most kDebtNsMax.
  void charge(uint64_t now_ns, uint64_t tokens);
  // Returns one token that was taken.
  void give_back();

  static constexpr uint64_t kDebtNsMax = 3600ull * 1'000'000'000;

 private:
  std::atomic<uint64_t> interval_{0};  // time of one token; 0 = no limit
  std::atomic<uint64_t> window_{0};    // time in which an empty bucket fills up
  std::atomic<uint64_t> full_at_{0};   // when the bucket is full
};

}  // namespace serval
