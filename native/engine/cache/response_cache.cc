// Implements the response cache. Hot path (models with a response cache). Memory of removed entries
// is freed without the lock.
#include "engine/cache/response_cache.h"

#include <algorithm>
#include <utility>

namespace serval {

namespace {

// Entries of an unloaded model that are removed at a time, so that requests do not wait.
constexpr size_t kForgetAtOnce = 256;

}  // namespace

ResponseCache::Found ResponseCache::find(const CacheKey& key, bool leads, Outputs& found) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(key);
  if (entry != entries_.end()) {
    used_.splice(used_.begin(), used_, entry->second.used);
    found = entry->second.outputs;
    return Found::Hit;
  }
  if (!leads) return Found::Miss;
  return running_.insert(key).second ? Found::Lead : Found::Wait;
}

bool ResponseCache::has_leader(const CacheKey& key) {
  const std::lock_guard lock(mutex_);
  return running_.contains(key);
}

void ResponseCache::end_run(const CacheKey& key) {
  const std::lock_guard lock(mutex_);
  running_.erase(key);
}

// Caller holds mutex_.
void ResponseCache::remove(Entries::iterator entry, std::vector<Outputs>& removed) {
  Entry& one = entry->second;
  used_.erase(one.used);
  const auto owned = owned_.find(one.owner);
  owned->second.erase(one.owned);
  if (owned->second.empty()) owned_.erase(owned);
  bytes_ -= one.outputs->bytes();
  removed.push_back(std::move(one.outputs));
  entries_.erase(entry);
}

// Caller holds mutex_. Removes the least recently used entries until there is space for `bytes`.
void ResponseCache::make_space(uint64_t bytes, std::vector<Outputs>& removed) {
  while (!used_.empty() && bytes_ + bytes > limit_) {
    ++evicted_;
    remove(entries_.find(*used_.back()), removed);
  }
}

// Copies the outputs; if the budget is used up, in the place of the least recently used entries.
ResponseCache::Outputs ResponseCache::copy(std::span<const TensorView> outputs, uint64_t bytes) {
  Outputs made = CachedOutputs::copy(outputs, budget_);
  if (made != nullptr) return made;
  std::vector<Outputs> removed;
  {
    const std::lock_guard lock(mutex_);
    const uint64_t goal = bytes_ - std::min(bytes_, bytes);
    while (!used_.empty() && bytes_ > goal) {
      ++evicted_;
      remove(entries_.find(*used_.back()), removed);
    }
  }
  if (removed.empty()) return nullptr;
  removed.clear();
  return CachedOutputs::copy(outputs, budget_);
}

void ResponseCache::store(const CacheKey& key, uint64_t owner,
                          std::span<const TensorView> outputs) {
  const uint64_t bytes = cached_bytes(outputs);
  if (bytes > limit_) return;
  for (const TensorView& output : outputs) {
    if (output.device != nullptr) return;
  }
  Outputs made = copy(outputs, bytes);
  if (made == nullptr) return;
  std::vector<Outputs> removed;
  Keys used(1), owned(1);  // allocated before anything is changed
  const std::lock_guard lock(mutex_);
  const auto old = entries_.find(key);
  if (old != entries_.end()) remove(old, removed);
  make_space(bytes, removed);
  Keys& all_owned = owned_[owner];
  const auto entry = entries_.try_emplace(key).first;
  used.front() = owned.front() = &entry->first;
  entry->second = {std::move(made), owner, used.begin(), owned.begin()};
  used_.splice(used_.begin(), used);
  all_owned.splice(all_owned.begin(), owned);
  bytes_ += bytes;
}

void ResponseCache::forget(uint64_t owner) {
  for (;;) {
    std::vector<Outputs> removed;
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < kForgetAtOnce; ++i) {
      const auto owned = owned_.find(owner);
      if (owned == owned_.end()) return;
      if (owned->second.empty()) {
        owned_.erase(owned);
        return;
      }
      remove(entries_.find(*owned->second.front()), removed);
    }
  }
}

ResponseCache::Reading ResponseCache::read() {
  const std::lock_guard lock(mutex_);
  return {limit_, bytes_, entries_.size(), evicted_};
}

}  // namespace serval
