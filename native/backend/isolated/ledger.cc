// Collects deaths and states of processes for the log and the metrics: see isolated.h. Control
// plane, any thread.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <optional>

#include "backend/isolated/isolated.h"
#include "backend/isolated/process.h"

namespace serval {

namespace {

constexpr size_t kDeathsKept = 256;    // that were not read yet
constexpr size_t kCountsMax = 10'000;  // limit on distinct models and signals

struct Ledger {
  std::mutex mutex;
  std::vector<std::weak_ptr<isolated::ModelProcess>> processes;  // guarded by mutex, like the rest
  std::map<std::pair<std::string, std::string>, uint64_t> counts;
  std::vector<IsolatedDeath> deaths;
  std::vector<IsolatedWait> waits;
  uint64_t fallbacks = 0;

  // The caller holds mutex.
  void keep(IsolatedDeath death) {
    if (deaths.size() >= kDeathsKept) deaths.erase(deaths.begin());
    deaths.push_back(std::move(death));
  }
};

// Never destroyed: keepers of an engine that outlives main() may still write to it.
Ledger& ledger() {
  static auto* const one = new Ledger();  // NOLINT: see above
  return *one;
}

// Returns 0 if /proc has no answer.
uint64_t resident_bytes(int64_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/statm";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             std::fclose);
  unsigned long long total = 0, resident = 0;
  if (file == nullptr || std::fscanf(file.get(), "%llu %llu", &total, &resident) != 2) return 0;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::vector<std::shared_ptr<isolated::ModelProcess>> processes_now() {
  std::vector<std::shared_ptr<isolated::ModelProcess>> processes;
  Ledger& all = ledger();
  std::lock_guard lock(all.mutex);
  for (const auto& one : all.processes) {
    if (auto held = one.lock()) processes.push_back(std::move(held));
  }
  return processes;
}

}  // namespace

namespace isolated {

void note_death(const std::vector<std::string>& models, const End& end, int64_t pid,
                uint64_t pause_ms) {
  Ledger& all = ledger();
  std::lock_guard lock(all.mutex);
  for (const std::string& one : models) {
    const std::pair key{one, end.signal};
    if (all.counts.size() < kCountsMax || all.counts.contains(key)) ++all.counts[key];
  }
  all.keep({joined(models), end.text, pid, pause_ms, true});
}

void note_reload(const std::string& model, const std::string& problem, int64_t pid,
                 uint64_t pause_ms) {
  Ledger& all = ledger();
  std::lock_guard lock(all.mutex);
  all.keep({model, problem, pid, pause_ms, false});
}

void note_fallbacks(uint64_t count) {
  Ledger& all = ledger();
  std::lock_guard lock(all.mutex);
  all.fallbacks += count;
}

void note_process(const std::shared_ptr<ModelProcess>& process) {
  Ledger& all = ledger();
  std::lock_guard lock(all.mutex);
  std::erase_if(all.processes, [](const auto& one) { return one.expired(); });
  all.processes.push_back(process);
}

void forget_memory(uint64_t id) {
  for (const auto& one : processes_now()) one->forget_memory(id);
}

}  // namespace isolated

std::vector<IsolatedReading> isolated_readings() {
  std::vector<IsolatedReading> readings;
  for (const auto& one : processes_now()) {
    const int64_t pid = one->pid();
    const uint64_t bytes = pid == 0 ? 0 : resident_bytes(pid);
    readings.push_back({one->models(), one->device(), one->up(), pid, bytes, one->pinned()});
  }
  return readings;
}

// A model that is loaded several times (once per device) can be run if any of them is up.
std::string isolated_outage(const std::string& model, int64_t version) {
  std::string outage;
  for (const auto& one : processes_now()) {
    std::optional<std::string> says = one->outage(model, version);
    if (says && says->empty()) return {};
    if (says) outage = std::move(*says);
  }
  return outage;
}

std::map<std::pair<std::string, std::string>, uint64_t> isolated_deaths() {
  Ledger& all = ledger();
  std::lock_guard lock(all.mutex);
  return all.counts;
}

uint64_t isolated_fallbacks() {
  Ledger& all = ledger();
  std::lock_guard lock(all.mutex);
  return all.fallbacks;
}

void note_isolated_wait(IsolatedWait wait) {
  Ledger& all = ledger();
  std::lock_guard lock(all.mutex);
  if (all.waits.size() < kDeathsKept) all.waits.push_back(std::move(wait));
}

std::vector<IsolatedWait> take_isolated_waits() {
  Ledger& all = ledger();
  std::lock_guard lock(all.mutex);
  return std::exchange(all.waits, {});
}

std::vector<IsolatedDeath> take_isolated_deaths() {
  Ledger& all = ledger();
  std::lock_guard lock(all.mutex);
  return std::exchange(all.deaths, {});
}

}  // namespace serval
