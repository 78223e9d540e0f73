// Decides when a listener adds a thread, which connections move to another thread, and which thread
// serves a new connection. Pure: the caller passes what it measured. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace serval {

// The load of a thread is the part of an interval that it spent outside of its wait for events, in
// thousandths.
inline constexpr uint32_t kFullLoad = 1000;
// From this load on, a thread is busy.
inline constexpr uint32_t kBusyLoad = 700;
// The number of intervals in a row in which a thread has to be busy before anything changes, and
// that pass after a change before the next one: a short burst changes nothing.
inline constexpr uint32_t kBusyIntervals = 2;

struct BalanceView {
  std::span<const uint32_t> loads;  // of each thread, in its last interval
  uint32_t thread = 0;              // the calling thread
  uint32_t busy_intervals = 0;      // in which it was busy, one after the other
  uint32_t threads_max = 1;
  double free_cores = 0;  // that neither this process nor others used
};

struct BalanceStep {
  enum class Kind : uint8_t { Stay, Move, Add };
  Kind kind = Kind::Stay;
  uint32_t target = 0;  // Move: the thread that receives connections
};

// Prefers to move connections to a thread with little load. Adds a thread if the others are busy
// too and a core is free for it. Never oscillates: threads are not removed, and a move is made only
// between loads that differ by more than moved connections can overshoot.
BalanceStep next_step(const BalanceView& view);

// Returns the indices of the connections that move from a thread with load `here` to one with load
// `there`, so that both get about the same load. `work`: of each connection of the first thread, in
// any unit. Empty if no choice would move a tenth of the work: a single connection cannot be split.
std::vector<size_t> connections_to_move(std::span<const uint64_t> work, uint32_t here,
                                        uint32_t there);

struct ThreadPlace {
  uint32_t load = 0;
  uint32_t connections = 0;
};

// Returns the thread for a new connection: the one with the fewest connections among those that are
// not busy, or among all if all are busy. `threads` is not empty.
size_t thread_for_connection(std::span<const ThreadPlace> threads);

}  // namespace serval
