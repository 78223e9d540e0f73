// Implements the report of the machine's load.
#include "engine/observe/load_report.h"

#include <mutex>
#include <utility>

#include "base/clock.h"
#include "stats/metrics_writer.h"

namespace serval {

namespace {

constexpr uint64_t kLoadEveryNs = 100'000'000;

bool is_word(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char one = text[i];
    if ((one >= 'A' && one <= 'Z' ? static_cast<char>(one | 0x20) : one) != lower[i]) return false;
  }
  return true;
}

// The last reading, shared by all threads.
struct LastLoad {
  std::mutex mutex;
  CpuTicks ticks;      // guarded by mutex, like the rest
  uint64_t at_ns = 0;  // 0 = never
  MachineLoad load;
};
constinit LastLoad last_load;

}  // namespace

LoadFormat load_format(std::string_view name) {
  if (is_word(name, "text")) return LoadFormat::Text;
  return is_word(name, "json") ? LoadFormat::Json : LoadFormat::None;
}

std::string load_text(LoadFormat format, const MachineLoad& load) {
  const bool json = format == LoadFormat::Json;
  std::string text;
  const auto add = [&](std::string_view name, const std::optional<double>& value) {
    if (!value) return;
    if (!text.empty()) text += json ? "," : ", ";
    if (json) text.append("\"").append(name).append("\":");
    else text.append(name).append("=");
    text += metric_number(*value);
  };
  add("cpu_utilization", load.cpu);
  add("mem_utilization", load.memory);
  return json ? "JSON {" + text + "}" : "TEXT " + text;
}

std::string load_report(LoadFormat format) {
  if (format == LoadFormat::None) return {};
  const std::lock_guard lock(last_load.mutex);
  const uint64_t now = now_ns();
  if (last_load.at_ns == 0 || now - last_load.at_ns >= kLoadEveryNs) {
    const MachineLoad next = read_load(last_load.ticks);
    if (next.cpu) last_load.load.cpu = next.cpu;
    last_load.load.memory = next.memory;
    last_load.at_ns = now;
  }
  return load_text(format, last_load.load);
}

}  // namespace serval
