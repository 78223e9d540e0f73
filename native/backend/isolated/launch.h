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
  // A descriptor that is readable once the process has ended, although processes that it started
  // may still hold its socket; none where the kernel has no such descriptors (before Linux 5.3).
  virtual Descriptor end_event(int64_t) { return {}; }
  // Blocks until it has ended; then kills the processes that it has left behind.
  virtual End wait(int64_t pid) = 0;
  // Kills it and the processes that it started, except those that left its process group; wait()
  // has not been called for it yet.
  virtual void kill(int64_t pid) = 0;
};

// Starts processes of `command`, with the two descriptors as 3 and 4. They receive no terminal
// signals, and none outlives the thread that started it.
std::unique_ptr<Launcher> make_process_launcher(std::vector<std::string> command);

// A library that a model's process opens, as it was when the model was first loaded: a restart must
// not run another one unnoticed.
struct LibraryFile {
  std::string path;
  uint64_t device = 0, inode = 0;  // 0: there is no such file
  int64_t bytes = 0, modified_s = 0, modified_ns = 0;
  bool operator==(const LibraryFile&) const = default;
};
LibraryFile library_file(const std::string& path);

// "SIGKILL"; "signal 33" if it has no name.
std::string signal_name(int number);

}  // namespace serval::isolated
