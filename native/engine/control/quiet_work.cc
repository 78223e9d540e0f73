// Work at idle priority. Control plane; any thread but a listener's.
#include "engine/control/quiet_work.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"

namespace serval {

namespace {

// An idle thread gets 0.3 % of a core that is always busy: its work would take minutes. Starved: it
// ran for less than a tenth of the time since the last check, and waited for a core for more than
// half of it.
constexpr std::chrono::milliseconds kFirstCheck(50);
constexpr std::chrono::milliseconds kCheckEvery(250);
constexpr uint64_t kStarvedRuns = 10;
constexpr uint64_t kStarvedWaits = 2;
// Then work begins at normal priority for this time: a thousand small loads on a busy machine must
// not each wait for a check.
constexpr uint64_t kBusyNs = 10'000'000'000;

bool starved(const CoreTimes& before, const CoreTimes& now, uint64_t ns) {
  return (now.ran_ns - before.ran_ns) * kStarvedRuns < ns &&
         (now.waited_ns - before.waited_ns) * kStarvedWaits > ns;
}

}  // namespace

bool read_core_times(int thread, CoreTimes& out) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/schedstat";
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, 128> text{};
  const ssize_t size = read(file, text.data(), text.size());
  close(file);
  if (size <= 0) return false;
  const char* const end = text.data() + size;
  const auto ran = std::from_chars(text.data(), end, out.ran_ns);
  if (ran.ec != std::errc() || ran.ptr == end) return false;
  return std::from_chars(ran.ptr + 1, end, out.waited_ns).ec == std::errc();
}

bool set_idle_priority(int thread) {
  const sched_param none{};
  return sched_setscheduler(thread, SCHED_IDLE, &none) == 0;
}

bool restore_priority(int thread) {
  const sched_param none{};
  return sched_setscheduler(thread, SCHED_OTHER, &none) == 0;
}

struct QuietWork::Turn {
  std::mutex mutex;
  std::condition_variable ended;
  bool done = false;       // guarded by mutex
  bool abandoned = false;  // guarded by mutex
  int thread = 0;          // guarded by mutex; 0 = it has not begun
  CoreTimes begun;         // guarded by mutex; the thread's times before the work
};

bool QuietWork::run(std::function<void()> work) {
  const uint64_t last = starved_ns_.load(std::memory_order_relaxed);
  if (last != 0 && now_ns() - last < kBusyNs) return false;
  auto turn = std::make_shared<Turn>();
  const bool started = threads_.start([this, turn, work = std::move(work)] {
    {
      std::lock_guard lock(turn->mutex);
      if (turn->abandoned) return;
      turn->thread = static_cast<int>(syscall(SYS_gettid));
      (void)read_core_times(turn->thread, turn->begun);
    }
    (void)set_idle_priority(turn->thread);  // or it runs at normal priority
    running_.fetch_add(1, std::memory_order_relaxed);
    work();
    running_.fetch_sub(1, std::memory_order_relaxed);
    std::lock_guard lock(turn->mutex);
    turn->done = true;
    turn->ended.notify_all();
  });
  return started && wait(*turn);
}

bool QuietWork::wait(Turn& turn) {
  std::optional<CoreTimes> before;
  uint64_t before_ns = now_ns();
  std::chrono::milliseconds pause = kFirstCheck;
  bool restored = false;
  std::unique_lock lock(turn.mutex);
  for (;;) {
    const auto done = [&turn] { return turn.done; };
    if (restored) turn.ended.wait(lock, done);
    if (turn.ended.wait_for(lock, pause, done)) return true;
    CoreTimes now;
    const uint64_t checked_ns = now_ns();
    const bool begun = turn.thread != 0;
    // a thread that the system tells nothing about may wait for ever
    const bool told = begun && read_core_times(turn.thread, now);
    if (!told || starved(before.value_or(turn.begun), now, checked_ns - before_ns)) {
      // a free thread that does not begin finds no time either
      const bool busy = begun || running_.load(std::memory_order_relaxed) < threads_max_;
      if (busy) starved_ns_.store(checked_ns, std::memory_order_relaxed);
      restored = begun && restore_(turn.thread);
      if (!restored) {
        turn.abandoned = true;
        return false;
      }
    }
    pause = kCheckEvery;
    before = now;
    before_ns = checked_ns;
  }
}

}  // namespace serval
