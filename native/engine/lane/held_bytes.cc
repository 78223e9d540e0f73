// Memory that JavaScript holds. Control plane; the listener's thread.
#include "engine/lane/held_bytes.h"

#include <algorithm>
#include <utility>

namespace serval {

bool HeldBytes::count(int64_t change, bool refusable) {
  bool fits = true;
  if (change >= 0) {
    const auto bytes = static_cast<uint64_t>(change);
    if (!refusable) fits = state_.budget->add(bytes);
    else if (!state_.budget->take(bytes)) return false;
  } else {
    change = std::max(change, -bytes_);
    state_.budget->give(static_cast<uint64_t>(-change));
    // Many small releases together may end a large burst.
    constexpr auto kLarge = static_cast<int64_t>(MemoryBudget::kLargeBytes);
    if (bytes_ / kLarge != (bytes_ + change) / kLarge) state_.engine->trimmer().note();
  }
  bytes_ += change;
  return fits;
}

void HeldBytes::release_all() {
  state_.budget->give(static_cast<uint64_t>(std::exchange(bytes_, 0)));
}

}  // namespace serval
