// Assigns thread indexes. The free indexes are a bitmap with constant initialisation and no
// destructor, because threads may end after the process began to destroy its statics.
#include "stats/thread_index.h"

#include <array>
#include <atomic>
#include <bit>

namespace serval::thread_index_detail {

constinit thread_local uint32_t held_plus_one = 0;

namespace {

// A set bit is an index in use; the shared one is never assigned.
constinit std::array<std::atomic<uint64_t>, 4> taken{{{0}, {0}, {0}, {uint64_t{1} << 63}}};

// Takes the lowest free index; kSharedThreadIndex if there is none. Acquire pairs with give_back's
// release: the shard's counters pass from thread to thread.
uint32_t take_lowest() {
  for (uint32_t word = 0; word < taken.size(); ++word) {
    uint64_t bits = taken[word].load(std::memory_order_relaxed);
    while (bits != UINT64_MAX) {
      const auto bit = static_cast<uint32_t>(std::countr_one(bits));
      if (taken[word].compare_exchange_weak(bits, bits | (uint64_t{1} << bit),
                                            std::memory_order_acquire, std::memory_order_relaxed)) {
        return word * 64 + bit;
      }
    }
  }
  return kSharedThreadIndex;
}

void give_back(uint32_t index) {
  taken[index / 64].fetch_and(~(uint64_t{1} << (index % 64)), std::memory_order_release);
}

struct Lease {
  ~Lease() {
    // Destructors of other thread locals that still record use the shared shard.
    held_plus_one = kSharedThreadIndex + 1;
    if (index != kSharedThreadIndex) give_back(index);
  }
  uint32_t index = kSharedThreadIndex;
};

}  // namespace

uint32_t take() {
  thread_local Lease lease;
  lease.index = take_lowest();
  held_plus_one = lease.index + 1;
  return lease.index;
}

}  // namespace serval::thread_index_detail
