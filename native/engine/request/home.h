// A request's lane, as seen by threads that work on the request: the settings that apply to it, and
// the queue that returns it when it is finished. A queued request keeps its home alive; the lane,
// which owns the request's memory, waits in close() until no request is queued. Hot path; each call
// names its thread.
#pragma once

#include <atomic>

#include "engine/request/completion.h"
#include "engine/request/hooks.h"
#include "engine/request/settings.h"

namespace serval {

class Home {
 public:
  // Borrows the hooks until completions().close().
  Home(const ServeSettings& settings, LaneHooks& hooks)
      : settings_(settings), completions_(hooks) {}
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  const ServeSettings& settings() const { return settings_; }  // any thread
  CompletionQueue& completions() { return completions_; }

  // Makes the lane's thread pick up what was published and, with `drop_kept`, release the memory
  // that free slots, and the thread's own hooks, keep for later requests. Any thread.
  void poke(bool drop_kept = false) {
    if (drop_kept) drop_due_.store(true);
    completions_.wake();
  }
  // Returns whether to release kept memory; true once per poke. Lane's thread.
  bool take_drop_due() {
    return drop_due_.load(std::memory_order_relaxed) && drop_due_.exchange(false);
  }

 private:
  const ServeSettings settings_;
  CompletionQueue completions_;
  std::atomic<bool> drop_due_{false};
};

}  // namespace serval
