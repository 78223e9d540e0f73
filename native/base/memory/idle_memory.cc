// Counts and frees the memory of idle owners. Hot path, any thread; memory is freed outside the
// lock.
#include "base/memory/idle_memory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace serval {

bool IdleMemory::keep(const void* key, std::weak_ptr<Owner> owner, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const uint64_t before = kept_bytes();
  if (bytes > bytes_max_ || before > bytes_max_ - bytes) return false;
  kept_[key] = {std::move(owner), bytes, now_ns()};
  kept_bytes_.store(before + bytes, std::memory_order_relaxed);
  if (before == 0 && hook_) hook_();
  return true;
}

void IdleMemory::reuse(const void* key) {
  std::lock_guard lock(mutex_);
  const auto found = kept_.find(key);
  if (found == kept_.end()) return;
  kept_bytes_.fetch_sub(found->second.bytes, std::memory_order_relaxed);
  kept_.erase(found);
}

void IdleMemory::drop(uint64_t ns, uint64_t enough) {
  if (kept_bytes() == 0) return;
  std::vector<std::shared_ptr<Owner>> unused;
  {
    const uint64_t now = now_ns();
    std::lock_guard lock(mutex_);
    std::vector<std::pair<uint64_t, const void*>> oldest;
    for (const auto& [key, one] : kept_) {
      if (ns == 0 || one.since_ns + ns <= now) oldest.emplace_back(one.since_ns, key);
    }
    std::sort(oldest.begin(), oldest.end());
    uint64_t freed = 0;
    for (const auto& [since_ns, key] : oldest) {
      if (freed >= enough) break;
      const auto found = kept_.find(key);
      freed += found->second.bytes;
      if (auto owner = found->second.owner.lock()) unused.push_back(std::move(owner));
      kept_.erase(found);
    }
    kept_bytes_.fetch_sub(freed, std::memory_order_relaxed);
  }
  for (const std::shared_ptr<Owner>& one : unused) one->free_idle();
}

void IdleMemory::on_first(std::function<void()> hook) {
  std::lock_guard lock(mutex_);
  hook_ = std::move(hook);
}

}  // namespace serval
