// What the addon does for a lane. Hot path; each call says whose thread it is on.
#pragma once

namespace serval {

class LaneHooks {
 public:
  virtual ~LaneHooks() = default;
  virtual void wake() = 0;  // any thread; must not block
  // Listener's thread: keeps the current message's bytes; nullptr where it cannot.
  virtual void* pin() = 0;
  virtual void unpin(void* pin) = 0;  // listener's thread
  // Listener's thread: nothing large is under way; what is kept for later requests may go.
  virtual void drop_kept() {}
  // Whether flush() is called at the end of every turn of the thread's event loop.
  virtual bool ends_turns() { return false; }
};

}  // namespace serval
