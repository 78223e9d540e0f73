// The end of each iteration of a JavaScript thread's event loop: after socket events were handled,
// before the thread waits again. Thread: JavaScript's.
#pragma once

#include "addon/napi_api.h"

namespace serval {

// Calls `at_end(context)` after every poll phase and before every wait, from start() to stop().
// Does not keep the loop alive. The handles it owns outlive it until the loop has closed them.
class Turn {
 public:
  using Callback = void (*)(void* context);
  Turn() = default;
  ~Turn() { stop(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  // Returns false if the loop is not available.
  bool start(napi_env env, Callback at_end, void* context);
  void stop();
  bool started() const { return handles_ != nullptr; }
  // Called when the environment closed the handles by itself. For turn.cc only.
  void forget() { handles_ = nullptr; }

  struct Handles;

 private:
  Handles* handles_ = nullptr;
};

}  // namespace serval
