// Reads the processor time of the process and of the machine. Control plane.
#include "transport/growth/free_cores.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "base/clock.h"

namespace serval {

namespace {

constexpr uint64_t kShortestNs = 100 * kNsPerMs;  // /proc/stat counts in ticks of 10 ms
constexpr uint64_t kOldestNs = 1'000 * kNsPerMs;
constexpr size_t kIdleColumns[] = {3, 4};  // idle, iowait
constexpr size_t kColumns = 8;             // guest time is part of user time

uint64_t number_at(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  uint64_t number = 0;
  const auto done = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  rest.remove_prefix(static_cast<size_t>(done.ptr - rest.data()));
  return number;
}

std::string proc_stat() {
  const int file = ::open("/proc/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::string text;
  char part[16 * 1024];
  for (ssize_t got = 0; (got = ::read(file, part, sizeof part)) > 0;) {
    text.append(part, static_cast<size_t>(got));
    if (text.find("\nintr") != std::string::npos) break;  // follows the cores, and is long
  }
  ::close(file);
  return text;
}

uint64_t process_ns() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

}  // namespace

CoreTicks core_ticks(std::string_view stat, const cpu_set_t& allowed) {
  constexpr std::string_view kCpu = "cpu";
  CoreTicks out;
  while (!stat.empty()) {
    const size_t end = std::min(stat.find('\n'), stat.size());
    std::string_view line = stat.substr(0, end);
    stat.remove_prefix(std::min(end + 1, stat.size()));
    if (!line.starts_with(kCpu)) break;
    line.remove_prefix(kCpu.size());
    if (line.starts_with(' ')) continue;  // the sum of all cores
    const uint64_t core = number_at(line);
    if (core >= CPU_SETSIZE || !CPU_ISSET(core, &allowed)) continue;
    ++out.cores;
    for (size_t column = 0; column < kColumns; ++column) {
      const uint64_t ticks = number_at(line);
      out.all += ticks;
      if (column == kIdleColumns[0] || column == kIdleColumns[1]) out.idle += ticks;
    }
  }
  return out;
}

FreeCores::Reading FreeCores::take(uint64_t now_ns) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Fails on machines with more cores than the set holds: then only the process's time counts.
  (void)::sched_getaffinity(0, sizeof allowed, &allowed);
  return {now_ns, process_ns(), core_ticks(proc_stat(), allowed)};
}

double FreeCores::between(const Reading& before, const Reading& now) const {
  const double wall_ns = static_cast<double>(now.at_ns - before.at_ns);
  const double used = static_cast<double>(now.process_ns - before.process_ns) / wall_ns;
  const double unused = std::max(0.0, static_cast<double>(cores_) - used);
  const uint64_t ticks = now.ticks.all - before.ticks.all;
  // Some sandboxes count no ticks.
  if (now.ticks.cores == 0 || now.ticks.all < before.ticks.all || ticks == 0) return unused;
  // The kernel's count of waits for devices may decrease.
  const uint64_t idle = now.ticks.idle - std::min(before.ticks.idle, now.ticks.idle);
  const double idle_part = static_cast<double>(idle) / static_cast<double>(ticks);
  const double not_bound = std::max(0.0, static_cast<double>(cores_) - now.ticks.cores);
  return std::min(unused, idle_part * now.ticks.cores + not_bound);
}

std::optional<double> FreeCores::read(uint64_t now_ns) {
  if (before_.has_value() && now_ns - before_->at_ns < kShortestNs) return last_;
  const Reading now = take(now_ns);
  const bool is_old = !before_.has_value() || now_ns - before_->at_ns > kOldestNs;
  last_ = is_old ? std::nullopt : std::optional(between(*before_, now));
  before_ = now;
  return last_;
}

}  // namespace serval
