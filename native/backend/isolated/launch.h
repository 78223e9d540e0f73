// Starts and ends the process of isolated models. Control plane; thread: its keeper's.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"

namespace serval::isolated {

// How a process ended.
struct End {
  std::string signal;  // "SIGKILL"; "exit" if it ended by itself
  std::string text;    // "its process ended by signal 9 (SIGKILL)"
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  // Starts a process that serves `socket` and `cancel_event` and writes its lines to `output`;
  // borrows all three. Errors: internal.
  virtual Result<int64_t> start(int socket, int cancel_event, int output) = 0;
  // Blocks until it has ended.
  virtual End wait(int64_t pid) = 0;
  // Kills it; wait() has not been called for it yet.
  virtual void kill(int64_t pid) = 0;
};

// Starts processes of `command`, with the two descriptors as 3 and 4. They receive no terminal
// signals, and none outlives the thread that started it.
std::unique_ptr<Launcher> make_process_launcher(std::vector<std::string> command);

// "SIGKILL"; "signal 33" if it has no name.
std::string signal_name(int number);

}  // namespace serval::isolated
