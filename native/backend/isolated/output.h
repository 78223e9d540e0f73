// The standard output and error of a model's process: read from a pipe and forwarded to the
// server's standard error line by line, each prefixed with the models' names. Control plane; the
// keeper of the process.
#pragma once

#include <string>
#include <string_view>

#include "backend/isolated/channel.h"
#include "base/error.h"

namespace serval::isolated {

// A longer line is forwarded in pieces.
inline constexpr size_t kOutputLineMax = 4096;

struct Pipe {
  Descriptor reads;   // non-blocking
  Descriptor writes;  // blocking
};
// Makes a pipe that no other process inherits. Errors: internal.
Result<Pipe> make_pipe();

// Appends to `lines` the whole lines in `pending` followed by `more`, each after "model 'NAMES': ",
// and leaves the rest in `pending`.
void take_lines(std::string_view names, std::string& pending, std::string_view more,
                std::string& lines);

class Output {
 public:
  // Borrows the descriptor it reads; forwards to `to`.
  explicit Output(int from, int to = 2) : from_(from), to_(to) {}
  // Writes the unfinished last line, with a line end.
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Forwards everything that is available. `names`: the models, separated by commas.
  void pass_on(const std::string& names);
  // Whether the write end was closed.
  bool ended() const { return ended_; }

 private:
  void write_out(std::string_view text) const;

  const int from_, to_;
  std::string names_, pending_;
  bool ended_ = false;
};

}  // namespace serval::isolated
