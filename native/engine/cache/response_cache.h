// The response cache: outputs of runs by the key of their request, shared by all models; the least
// recently used ones leave first. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/cache/cached_outputs.h"
#include "engine/cache/keyed_hash.h"

namespace serval {

class ResponseCache {
 public:
  using Outputs = std::shared_ptr<const CachedOutputs>;
  // Hit: the outputs are known. Lead: they are not, and the caller runs the request, stores them
  // and calls end_run(). Wait: another caller leads. Miss: they are not known, and the caller
  // did not want to lead.
  enum class Found : uint8_t { Hit, Lead, Wait, Miss };
  struct Reading {
    uint64_t limit = 0, bytes = 0, entries = 0, evicted = 0;
  };

  // Holds at most `limit` bytes, which count in `budget` too. Borrows the budget.
  ResponseCache(uint64_t limit, MemoryBudget& budget) : limit_(limit), budget_(budget) {}
  ResponseCache(const ResponseCache&) = delete;
  ResponseCache& operator=(const ResponseCache&) = delete;

  const KeyedHash& hash() const { return hash_; }
  // Returns a number that no other owner has.
  uint64_t new_owner() { return next_owner_.fetch_add(1, std::memory_order_relaxed); }
  // Looks a key up; a hit is then the most recently used entry. `leads`: whether the caller runs
  // the request if nobody does.
  Found find(const CacheKey& key, bool leads, Outputs& found);
  bool has_leader(const CacheKey& key);
  void end_run(const CacheKey& key);
  // Stores a copy of the outputs, unless they are larger than the cache or memory is out.
  void store(const CacheKey& key, uint64_t owner, std::span<const TensorView> outputs);
  // Removes all entries of an owner. Control plane.
  void forget(uint64_t owner);
  Reading read();

 private:
  using Keys = std::list<const CacheKey*>;  // the most recently used first
  struct Entry {
    Outputs outputs;
    uint64_t owner = 0;
    Keys::iterator used, owned;
  };
  using Entries = std::unordered_map<CacheKey, Entry, CacheKeyHash>;

  void remove(Entries::iterator entry, std::vector<Outputs>& removed);
  void make_space(uint64_t bytes, std::vector<Outputs>& removed);
  Outputs copy(std::span<const TensorView> outputs, uint64_t bytes);

  const uint64_t limit_;
  MemoryBudget& budget_;
  const KeyedHash hash_;
  std::atomic<uint64_t> next_owner_{1};
  std::mutex mutex_;
  Entries entries_;                                     // guarded by mutex_
  Keys used_;                                           // guarded by mutex_
  std::unordered_map<uint64_t, Keys> owned_;            // guarded by mutex_: by owner
  std::unordered_set<CacheKey, CacheKeyHash> running_;  // guarded by mutex_
  uint64_t bytes_ = 0, evicted_ = 0;                    // guarded by mutex_
};

}  // namespace serval
