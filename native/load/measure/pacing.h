// Arrival times of an open loop: evenly spaced, or those of independent callers (Poisson). The same
// seed gives the same times. Pure; one thread.
#pragma once

#include <cmath>
#include <cstdint>

namespace serval::load {

class Pacing {
 public:
  // `rate`: arrivals per second, above 0. The first one is within a gap after `begins_ns`.
  Pacing(double rate, bool poisson, uint64_t seed, uint64_t begins_ns)
      : mean_ns_(1e9 / rate), poisson_(poisson), state_(seed), begins_ns_(begins_ns) {
    at_ns_ = random() * mean_ns_;
  }

  // When the next request is due.
  uint64_t due_ns() const { return begins_ns_ + static_cast<uint64_t>(at_ns_); }
  void advance() { at_ns_ += poisson_ ? -std::log(1 - random()) * mean_ns_ : mean_ns_; }

 private:
  // A number from 0 to below 1. Source: Steele, Lea, Flood, Fast Splittable Pseudorandom Number
  // Generators (SplitMix64).
  double random() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    mixed ^= mixed >> 31;
    return static_cast<double>(mixed >> 11) * 0x1p-53;
  }

  const double mean_ns_;
  const bool poisson_;
  uint64_t state_;
  const uint64_t begins_ns_;
  double at_ns_ = 0;
};

}  // namespace serval::load
