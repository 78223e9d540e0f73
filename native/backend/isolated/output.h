// What a model's process writes to its standard output and error: it comes through a pipe, and is
// passed on to the server's standard error line by line, each with the models' names before it.
// Control plane; the keeper of the process.
#pragma once

#include <string>
#include <string_view>

#include "backend/isolated/slot.h"
#include "base/error.h"

namespace serval::isolated {

// A longer line is passed on in pieces.
inline constexpr size_t kOutputLineMax = 4096;

struct Pipe {
  Descriptor reads;   // does not block
  Descriptor writes;  // does
};
// That no other process inherits. Errors: internal.
Result<Pipe> make_pipe();

// Appends to `lines` what of `pending` and `more` are whole lines, each after "model 'NAMES': ",
// and leaves the rest pending.
void take_lines(std::string_view names, std::string& pending, std::string_view more,
                std::string& lines);

class Output {
 public:
  // Borrows what it reads; passes what it has on to `to`.
  explicit Output(int from, int to = 2) : from_(from), to_(to) {}
  // With the end of the last line, where there was none.
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // All that there is now. `names`: of the models, with commas.
  void pass_on(const std::string& names);
  // Nobody writes there any more.
  bool ended() const { return ended_; }

 private:
  void write_out(std::string_view text) const;

  const int from_, to_;
  std::string names_, pending_;
  bool ended_ = false;
};

}  // namespace serval::isolated
