// Forwards the output of a model's process. Control plane; the keeper.
#include "backend/isolated/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace serval::isolated {

Result<Pipe> make_pipe() {
  int fds[2] = {-1, -1};
  if (pipe2(fds, O_CLOEXEC) != 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) != 0) {
    return make_error(ErrorCode::Internal, "cannot create a pipe for a process's output");
  }
  return Pipe{Descriptor(fds[0]), Descriptor(fds[1])};
}

void take_lines(std::string_view names, std::string& pending, std::string_view more,
                std::string& lines) {
  while (!more.empty()) {
    const size_t room = kOutputLineMax - pending.size();
    const size_t end = more.find('\n');
    const bool whole = end != std::string_view::npos && end <= room;
    const size_t count = whole ? end : std::min(more.size(), room);
    pending.append(more.substr(0, count));
    more.remove_prefix(whole ? count + 1 : count);
    if (!whole && pending.size() < kOutputLineMax) return;
    lines.append("model '").append(names).append("': ").append(pending).append("\n");
    pending.clear();
  }
}

Output::~Output() {
  std::string lines;
  if (!pending_.empty()) take_lines(names_, pending_, "\n", lines);
  write_out(lines);
}

// Bounded, so that a process that writes without end does not occupy its keeper.
void Output::pass_on(const std::string& names) {
  names_ = names;
  char bytes[16 * 1024];
  std::string lines;
  for (int i = 0; i < 8; ++i) {
    const ssize_t count = read(from_, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0 || (count < 0 && errno != EAGAIN)) ended_ = true;
    if (count <= 0) break;
    take_lines(names_, pending_, {bytes, static_cast<size_t>(count)}, lines);
  }
  write_out(lines);
}

void Output::write_out(std::string_view text) const {
  while (!text.empty()) {
    const ssize_t count = write(to_, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // the reader of the log is gone
    text.remove_prefix(static_cast<size_t>(count));
  }
}

}  // namespace serval::isolated
