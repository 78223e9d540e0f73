// Reads Linux's /proc.
#include "stats/process_metrics.h"

#include <unistd.h>
#include <ctime>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <type_traits>

namespace serval {

namespace {

// Removes and returns the next decimal number, after blanks, from `text`.
std::optional<uint64_t> take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

std::string file_text(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::optional<double> cpu_seconds() {
  timespec used{};
  if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return std::nullopt;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

std::optional<uint64_t> resident_bytes() {
  const std::string text = file_text("/proc/self/statm");
  std::string_view rest = text;
  if (!take_number(rest)) return std::nullopt;
  const std::optional<uint64_t> pages = take_number(rest);
  if (!pages) return std::nullopt;
  return *pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::optional<double> start_seconds(std::string_view proc_stat) {
  const std::optional<uint64_t> boot = parse_keyed(proc_stat, "btime");
  const std::optional<uint64_t> ticks = parse_start_ticks(file_text("/proc/self/stat"));
  const long ticks_per_second = sysconf(_SC_CLK_TCK);
  if (!boot || !ticks || ticks_per_second <= 0) return std::nullopt;
  return static_cast<double>(*boot) +
         static_cast<double>(*ticks) / static_cast<double>(ticks_per_second);
}

// Does not count the descriptor that reads the folder.
std::optional<uint64_t> open_fds() {
  std::error_code error;
  std::filesystem::directory_iterator at("/proc/self/fd", error);
  uint64_t count = 0;
  while (!error && at != std::filesystem::directory_iterator()) {
    ++count;
    at.increment(error);
  }
  if (error || count == 0) return std::nullopt;
  return count - 1;
}

constinit CpuShare machine_share;

// Bytes of the machine's memory.
struct MachineMemory {
  std::optional<uint64_t> total, used;
};

MachineMemory machine_memory() {
  const std::string text = file_text("/proc/meminfo");
  const std::optional<uint64_t> total_kib = parse_keyed(text, "MemTotal:");
  const std::optional<uint64_t> free_kib = parse_keyed(text, "MemAvailable:");
  MachineMemory memory;
  if (total_kib) memory.total = *total_kib * 1024;
  if (total_kib && free_kib && *free_kib <= *total_kib) {
    memory.used = (*total_kib - *free_kib) * 1024;
  }
  return memory;
}

template <typename T>
void write_one(std::string_view name, std::string_view type, std::string_view help,
               const std::optional<T>& value, MetricsWriter& writer) {
  if (!value) return;
  writer.family(name, type, help);
  if constexpr (std::is_same_v<T, double>) {
    writer.plain_sample(name, metric_number(*value));
  } else {
    writer.plain_sample(name, std::to_string(*value));
  }
}

}  // namespace

std::optional<CpuTicks> parse_cpu_ticks(std::string_view proc_stat) {
  if (!proc_stat.starts_with("cpu ")) return std::nullopt;
  proc_stat = proc_stat.substr(4, proc_stat.find('\n') - 4);
  // user nice system idle iowait irq softirq steal; guest time is part of user.
  std::array<uint64_t, 8> ticks{};
  for (size_t i = 0; i < ticks.size(); ++i) {
    const std::optional<uint64_t> value = take_number(proc_stat);
    if (!value && i < 4) return std::nullopt;
    ticks[i] = value.value_or(0);
  }
  CpuTicks out;
  for (const uint64_t each : ticks) out.total += each;
  out.busy = out.total - ticks[3] - ticks[4];
  return out;
}

std::optional<uint64_t> parse_start_ticks(std::string_view self_stat) {
  const size_t name_end = self_stat.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  self_stat.remove_prefix(name_end + 1);
  for (int field = 2; field < 21; ++field) {  // fields 3 to 21, some of them letters or negative
    self_stat.remove_prefix(std::min(self_stat.find_first_not_of(' '), self_stat.size()));
    self_stat.remove_prefix(std::min(self_stat.find(' '), self_stat.size()));
  }
  return take_number(self_stat);
}

std::optional<uint64_t> parse_keyed(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    if (line.starts_with(' ') || line.starts_with('\t')) return take_number(line);
  }
  return std::nullopt;
}

double CpuShare::next(CpuTicks now) {
  const std::lock_guard lock(mutex_);
  // Two calls within a tick return the previous share. Counters that decreased start again.
  if (started_ && now.total == last_.total) return share_;
  if (started_ && now.total > last_.total && now.busy >= last_.busy) {
    share_ =
        static_cast<double>(now.busy - last_.busy) / static_cast<double>(now.total - last_.total);
    share_ = std::min(share_, 1.0);
  }
  started_ = true;
  last_ = now;
  return share_;
}

ProcessReading read_process() {
  ProcessReading out;
  const std::string proc_stat = file_text("/proc/stat");
  out.cpu_seconds = cpu_seconds();
  out.resident_bytes = resident_bytes();
  out.start_seconds = start_seconds(proc_stat);
  out.open_fds = open_fds();
  const std::optional<CpuTicks> ticks = parse_cpu_ticks(proc_stat);
  if (ticks && ticks->total != 0) out.machine_busy = machine_share.next(*ticks);
  const MachineMemory memory = machine_memory();
  out.machine_memory_bytes = memory.total;
  out.machine_memory_used_bytes = memory.used;
  return out;
}

MachineLoad read_load(CpuTicks& last) {
  MachineLoad load;
  const std::optional<CpuTicks> now = parse_cpu_ticks(file_text("/proc/stat"));
  if (now && now->total > last.total && now->busy >= last.busy) {
    load.cpu =
        static_cast<double>(now->busy - last.busy) / static_cast<double>(now->total - last.total);
  }
  if (now) last = *now;
  const MachineMemory memory = machine_memory();
  if (memory.used && *memory.total > 0) {
    load.memory = static_cast<double>(*memory.used) / static_cast<double>(*memory.total);
  }
  return load;
}

void write_process_metrics(const ProcessReading& reading, MetricsWriter& writer) {
  write_one("process_cpu_seconds_total", "counter", "Processor time of this process, seconds",
            reading.cpu_seconds, writer);
  write_one("process_resident_memory_bytes", "gauge", "Resident memory of this process",
            reading.resident_bytes, writer);
  write_one("process_start_time_seconds", "gauge", "Start of this process, seconds since 1970",
            reading.start_seconds, writer);
  write_one("process_open_fds", "gauge", "Open file descriptors", reading.open_fds, writer);
  write_one("nv_cpu_utilization", "gauge", "Busy share of all processors since the last scrape",
            reading.machine_busy, writer);
  write_one("nv_cpu_memory_total_bytes", "gauge", "Memory of the machine",
            reading.machine_memory_bytes, writer);
  write_one("nv_cpu_memory_used_bytes", "gauge", "Memory of the machine in use",
            reading.machine_memory_used_bytes, writer);
}

}  // namespace serval
