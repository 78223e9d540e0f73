// What the addon does for a lane. Hot path; each call says whose thread it is on.
#pragma once

namespace serval {

class LaneHooks {
 public:
  virtual ~LaneHooks() = default;
  virtual void wake() = 0;            // any thread; must not block
  virtual void* pin() = 0;            // listener's thread: keeps the current message's bytes
  virtual void unpin(void* pin) = 0;  // listener's thread
  // Whether flush() is called at the end of every turn of the thread's event loop.
  virtual bool ends_turns() { return false; }
};

}  // namespace serval
