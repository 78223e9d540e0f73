// Services that a lane's owner provides to the lane. Hot path; each call names its thread.
#pragma once

namespace serval {

class LaneHooks {
 public:
  virtual ~LaneHooks() = default;
  virtual void wake() = 0;  // any thread; must not block
  // Keeps the current message's bytes; nullptr if it cannot. Listener's thread.
  virtual void* pin() = 0;
  virtual void unpin(void* pin) = 0;  // listener's thread
  // Releases memory kept for later requests: no large request is in progress. Listener's thread.
  virtual void drop_kept() {}
  // Whether flush() is called at the end of every iteration of the thread's event loop.
  virtual bool ends_turns() { return false; }
};

}  // namespace serval
