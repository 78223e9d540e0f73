// Starts and waits for processes. Control plane.
#include "backend/isolated/launch.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "backend/isolated/isolated.h"

extern char** environ;

namespace serval::isolated {

namespace {

constexpr int kSocket = 3;
constexpr int kCancelEvent = 4;
// Source: pidfd_open(2); the same on every architecture. Older C libraries do not name it.
constexpr long kPidfdOpen = 434;

// The processes that have not been reaped: their numbers cannot belong to others.
struct Running {
  std::mutex mutex;
  std::set<pid_t> pids;  // guarded by mutex
};
Running& running() {
  static auto& all = *new Running;  // lives until the process ends, like the keepers
  return all;
}

// Kills the process, which may have left its group, and its group.
void kill_group(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::kill(-pid, SIGKILL);
}

class ProcessLauncher final : public Launcher {
 public:
  explicit ProcessLauncher(std::vector<std::string> command) : command_(std::move(command)) {}

  Result<int64_t> start(int socket, int cancel_event, int output) override {
    // Duplicates above both target numbers, so that neither descriptor is overwritten by the other.
    const int high_socket = fcntl(socket, F_DUPFD_CLOEXEC, 10);
    const int high_event = fcntl(cancel_event, F_DUPFD_CLOEXEC, 10);
    const int high_output = fcntl(output, F_DUPFD_CLOEXEC, 10);
    std::vector<char*> arguments;
    for (std::string& one : command_) arguments.push_back(one.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    for (const int one : {1, 2}) posix_spawn_file_actions_adddup2(&actions, high_output, one);
    posix_spawn_file_actions_adddup2(&actions, high_socket, kSocket);
    posix_spawn_file_actions_adddup2(&actions, high_event, kCancelEvent);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    pid_t pid = 0;
    int failed = high_socket < 0 || high_event < 0 || high_output < 0 ? EMFILE : 0;
    if (failed == 0) {
      failed = posix_spawn(&pid, arguments[0], &actions, &attributes, arguments.data(), environ);
    }
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    for (const int one : {high_socket, high_event, high_output}) {
      if (one >= 0) close(one);
    }
    if (failed == 0) {
      const std::lock_guard lock(running().mutex);
      running().pids.insert(pid);
      return static_cast<int64_t>(pid);
    }
    return make_error(ErrorCode::Internal,
                      "cannot start " + command_[0] + ": " + std::strerror(failed));
  }

  // The descriptor is closed when a program is executed.
  Descriptor end_event(int64_t pid) override {
    return Descriptor(static_cast<int>(syscall(kPidfdOpen, static_cast<pid_t>(pid), 0)));
  }

  End wait(int64_t pid) override {
    int status = 0;
    // The group keeps its number until the process is reaped, so the kill reaches no other one.
    siginfo_t info{};
    int waited = 0;
    do {
      waited = waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
    } while (waited < 0 && errno == EINTR);
    {
      const std::lock_guard lock(running().mutex);
      if (waited == 0) kill_group(static_cast<pid_t>(pid));
      running().pids.erase(static_cast<pid_t>(pid));
    }
    pid_t ended = 0;
    do {
      ended = waitpid(static_cast<pid_t>(pid), &status, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended < 0) return {"exit", "its process ended"};
    if (WIFSIGNALED(status)) {
      const int number = WTERMSIG(status);
      const std::string name = signal_name(number);
      return {name, "its process ended by signal " + std::to_string(number) + " (" + name + ")"};
    }
    return {"exit", "its process ended with code " + std::to_string(WEXITSTATUS(status))};
  }

  void kill(int64_t pid) override { kill_group(static_cast<pid_t>(pid)); }

 private:
  std::vector<std::string> command_;
};

}  // namespace

std::string signal_name(int number) {
  constexpr std::array<std::pair<int, const char*>, 15> kNames = {{{SIGHUP, "SIGHUP"},
                                                                   {SIGINT, "SIGINT"},
                                                                   {SIGQUIT, "SIGQUIT"},
                                                                   {SIGILL, "SIGILL"},
                                                                   {SIGTRAP, "SIGTRAP"},
                                                                   {SIGABRT, "SIGABRT"},
                                                                   {SIGBUS, "SIGBUS"},
                                                                   {SIGFPE, "SIGFPE"},
                                                                   {SIGKILL, "SIGKILL"},
                                                                   {SIGSEGV, "SIGSEGV"},
                                                                   {SIGPIPE, "SIGPIPE"},
                                                                   {SIGTERM, "SIGTERM"},
                                                                   {SIGXCPU, "SIGXCPU"},
                                                                   {SIGXFSZ, "SIGXFSZ"},
                                                                   {SIGSYS, "SIGSYS"}}};
  for (const auto& [one, name] : kNames) {
    if (one == number) return name;
  }
  return "signal " + std::to_string(number);
}

LibraryFile library_file(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return {path};
  return {path,
          file.st_dev,
          file.st_ino,
          static_cast<int64_t>(file.st_size),
          file.st_mtim.tv_sec,
          file.st_mtim.tv_nsec};
}

std::unique_ptr<Launcher> make_process_launcher(std::vector<std::string> command) {
  return std::make_unique<ProcessLauncher>(std::move(command));
}

}  // namespace serval::isolated

namespace serval {

void kill_isolated() {
  isolated::Running& all = isolated::running();
  const std::lock_guard lock(all.mutex);
  for (const pid_t pid : all.pids) isolated::kill_group(pid);
}

}  // namespace serval
