// Implements the request log. Bytes are copied before locking; the lock covers one move.
// Any thread.
#include "engine/observe/request_log.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <utility>

namespace serval {

namespace {

constexpr double kWhole = 4294967296.0;  // a rate of 1 in RequestTap's steps
// Approximate size of an entry without its bytes: it bounds the number of empty entries that wait.
constexpr size_t kEntryBytes = 512;

uint64_t step_of(double rate) {
  if (!(rate > 0)) return 0;
  // Rounded down: with 0.3, exactly 30 of 100 requests are logged.
  return std::max<uint64_t>(1, static_cast<uint64_t>(std::min(rate, 1.0) * kWhole));
}

uint64_t unix_ms() {
  using namespace std::chrono;
  const auto now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  return static_cast<uint64_t>(std::max<int64_t>(now, 0));
}

}  // namespace

void RequestTap::set(LogRate rate) {
  tensorflow_.store(rate.tensorflow, std::memory_order_relaxed);
  const uint64_t step = step_of(rate.rate);
  if (step == step_.load(std::memory_order_relaxed)) return;
  // Just below the next whole number, so that the first request is logged.
  passed_.store((UINT64_C(1) << 32) - 1, std::memory_order_relaxed);
  step_.store(step, std::memory_order_relaxed);
}

RequestLog::RequestLog(MemoryBudget& budget)
    : budget_(budget),
      bytes_max_(static_cast<size_t>(std::min<uint64_t>(kRequestLogBytesMax, budget.limit() / 8))) {
}

LogRate RequestLog::rate_of(const std::string& model) const {
  auto found = rates_.find(model);
  if (found == rates_.end()) found = rates_.find("");
  return found == rates_.end() ? LogRate() : found->second;
}

std::shared_ptr<RequestTap> RequestLog::tap(const std::string& model) {
  const std::lock_guard lock(taps_mutex_);
  if (taps_.size() >= taps_max_) {
    std::erase_if(taps_, [](const auto& one) { return one.second.expired(); });
    taps_max_ = std::max<size_t>(64, taps_.size() * 2);
  }
  std::weak_ptr<RequestTap>& known = taps_[model];
  std::shared_ptr<RequestTap> tap = known.lock();
  if (tap == nullptr) {
    tap = std::make_shared<RequestTap>(rate_of(model));
    known = tap;
  }
  return tap;
}

void RequestLog::set_rates(std::map<std::string, LogRate> rates) {
  const std::lock_guard lock(taps_mutex_);
  rates_ = std::move(rates);
  for (const auto& [model, known] : taps_) {
    if (const std::shared_ptr<RequestTap> tap = known.lock()) tap->set(rate_of(model));
  }
}

void RequestLog::record(uint32_t handle, const std::string& model, const std::string& version,
                        bool tensorflow, const LoggedBytes& bytes) {
  const size_t total = bytes.request.size() + bytes.response.size();
  bool copied = false;
  try {
    {
      const std::lock_guard lock(mutex_);
      if (total > bytes_max_ || bytes_ > bytes_max_ - total) {
        drop(1);
        return;
      }
    }
    LoggedEntry entry{bytes.protocol,
                      bytes.code,
                      tensorflow,
                      handle,
                      model,
                      version,
                      std::string(bytes.id),
                      unix_ms(),
                      bytes.total_ns / 1000,
                      bytes.json_bytes,
                      bytes.response_json_bytes,
                      bytes.response.size(),
                      {}};
    entry.bytes.charge_to(&budget_);
    copied = entry.bytes.reserve(total) &&
             entry.bytes.append(bytes.response.data(), bytes.response.size()) &&
             entry.bytes.append(bytes.request.data(), bytes.request.size());
    if (copied) {
      const size_t held = entry.bytes.base_bytes() + kEntryBytes;
      const std::lock_guard lock(mutex_);
      entries_.push_back(std::move(entry));
      bytes_ += held;
    }
  } catch (const std::bad_alloc&) {
    copied = false;
  }
  if (!copied) drop(1);
}

void RequestLog::drop(uint64_t entries) {
  dropped_.fetch_add(entries, std::memory_order_relaxed);
  dropped_total_.fetch_add(entries, std::memory_order_relaxed);
}

void RequestLog::count(const LogCounts& counts) {
  written_.fetch_add(counts.written, std::memory_order_relaxed);
  unwritten_.fetch_add(counts.unwritten, std::memory_order_relaxed);
  formless_.fetch_add(counts.formless, std::memory_order_relaxed);
  stopped_.store(counts.stopped, std::memory_order_relaxed);
}

LogTotals RequestLog::totals() const {
  return {{written_.load(std::memory_order_relaxed), unwritten_.load(std::memory_order_relaxed),
           formless_.load(std::memory_order_relaxed), stopped_.load(std::memory_order_relaxed)},
          dropped_total_.load(std::memory_order_relaxed)};
}

RequestLog::Taken RequestLog::take(size_t bytes_max) {
  Taken taken;
  taken.dropped = dropped_.exchange(0, std::memory_order_relaxed);
  size_t bytes = 0;
  const std::lock_guard lock(mutex_);
  while (!entries_.empty()) {
    const size_t held = entries_.front().bytes.base_bytes() + kEntryBytes;
    if (!taken.entries.empty() && bytes + held > bytes_max) break;
    taken.entries.push_back(std::move(entries_.front()));
    entries_.pop_front();
    bytes += held;
    bytes_ -= held;
  }
  taken.more = !entries_.empty();
  return taken;
}

}  // namespace serval
