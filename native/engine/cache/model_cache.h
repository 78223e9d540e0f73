// One loaded model's part of the response cache, and one request's use of it. Hot path (models with
// a response cache).
#pragma once

#include <cstdint>
#include <span>

#include "base/tensor.h"
#include "codec/request.h"
#include "engine/cache/cache_key.h"
#include "engine/cache/response_cache.h"

namespace serval {

// How a request may use its model's response cache. Off: not at all. HitsOnly: it is not run here
// if its outputs are not known. Waits: it can wait for an equal request. Runs: it cannot.
enum class CacheUse : uint8_t { Off, HitsOnly, Waits, Runs };

// The model that requests wait in. Any thread.
class EqualRequests {
 public:
  virtual ~EqualRequests() = default;
  // The request with this key has ended: those that waited for it continue.
  virtual void run_ended(const CacheKey& key) = 0;
};

class ModelCache {
 public:
  // Borrows both.
  ModelCache(ResponseCache& cache, EqualRequests& waiting)
      : cache_(cache), waiting_(waiting), owner_(cache.new_owner()) {}
  ~ModelCache() { cache_.forget(owner_); }
  ModelCache(const ModelCache&) = delete;
  ModelCache& operator=(const ModelCache&) = delete;

  bool has_leader(const CacheKey& key) { return cache_.has_leader(key); }

 private:
  friend class CacheTurn;

  ResponseCache& cache_;
  EqualRequests& waiting_;
  const uint64_t owner_;
};

// The use that one request makes of the cache; reused for the next one after end(). One thread at a
// time.
class CacheTurn {
 public:
  // Off: the request does not use the cache.
  enum class State : uint8_t { Off, Hit, Lead, Wait, Miss };

  CacheTurn() = default;
  ~CacheTurn() { end(); }
  CacheTurn(const CacheTurn&) = delete;
  CacheTurn& operator=(const CacheTurn&) = delete;

  // Looks the outputs of a decoded request up. `model` may be null: the state is then Off.
  State begin(ModelCache* model, const DecodedRequest& decoded, CacheUse use);
  State state() const { return state_; }
  const CacheKey& key() const { return key_; }
  // The outputs of a hit. Valid until end().
  std::span<const TensorView> outputs() const { return found_->outputs(); }
  // Stores the outputs of the run, if the request leads or could not wait.
  void store(std::span<const TensorView> outputs);
  // Nanoseconds that the look-up and the store took.
  uint64_t spent_ns() const { return spent_ns_; }
  // The same, for a caller that keeps them longer.
  const ResponseCache::Outputs& shared_outputs() const { return found_; }
  // Drops the outputs of a hit; lets requests that wait for this one continue. The state is then
  // Off.
  void end();

 private:
  ModelCache* model_ = nullptr;
  State state_ = State::Off;
  CacheKey key_;
  ResponseCache::Outputs found_;
  KeyMaker keys_;
  uint64_t spent_ns_ = 0;
};

}  // namespace serval
