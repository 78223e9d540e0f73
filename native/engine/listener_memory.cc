// What a listener counts and keeps of memory: open bodies, bytes that its JavaScript holds, and
// what free slots keep for later requests. Control plane. Thread: the listener's, but poke().
#include <algorithm>

#include "engine/listener.h"

namespace serval {

uint64_t Listener::bodies_open() const {
  return static_cast<uint64_t>(
      std::count_if(slots_.begin(), slots_.end(), [](const std::unique_ptr<Request>& request) {
        return request->stage == Request::Stage::Body;
      }));
}

bool Listener::count_bytes(int64_t change, bool refusable) {
  bool room = true;
  if (change >= 0) {
    const auto bytes = static_cast<uint64_t>(change);
    if (!refusable) room = budget_->add(bytes);
    else if (!budget_->take(bytes)) return false;
  } else {
    change = std::max(change, -counted_bytes_);
    budget_->give(static_cast<uint64_t>(-change));
    // Many small steps end something large too.
    constexpr auto kLarge = static_cast<int64_t>(MemoryBudget::kLargeBytes);
    if (counted_bytes_ / kLarge != (counted_bytes_ + change) / kLarge) engine_->trimmer().note();
  }
  counted_bytes_ += change;
  return room;
}

void Listener::unpin(Request& request) {
  if (request.pin == nullptr) return;
  hooks_->unpin(request.pin);
  budget_->give(request.pinned.size());
  request.pin = nullptr;
  request.pinned = {};
}

// Slot 0 too: its answers are taken before the listener's thread comes here.
void Listener::drop_kept() {
  retained_bytes_ = 0;
  for (const std::unique_ptr<Request>& request : slots_) {
    if (request->stage != Request::Stage::Free) continue;
    request->body.shrink(kSlotKeepBytes);
    request->response.shrink(kSlotKeepBytes);
    if (request->slot != 0) retained_bytes_ += request->held_bytes();
  }
}

void Listener::poke(bool drop_kept) {
  std::lock_guard lock(mutex_);
  if (drop_kept) drop_due_.store(true);
  if (!closed_) hooks_->wake();
}

}  // namespace serval
