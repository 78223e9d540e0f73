// Implements a request's use of the response cache. Hot path (models with a response cache).
#include "engine/cache/model_cache.h"

#include "base/clock.h"

namespace serval {

CacheTurn::State CacheTurn::begin(ModelCache* model, const DecodedRequest& decoded, CacheUse use) {
  end();
  if (model == nullptr || use == CacheUse::Off || !is_cacheable(decoded)) return state_;
  const Stopwatch watch;
  ResponseCache& cache = model->cache_;
  key_ = keys_(cache.hash(), model->owner_, decoded);
  const bool leads = use != CacheUse::HitsOnly;
  switch (cache.find(key_, leads, found_)) {
    case ResponseCache::Found::Hit: state_ = State::Hit; break;
    case ResponseCache::Found::Lead: state_ = State::Lead; break;
    case ResponseCache::Found::Wait:
      state_ = use == CacheUse::Waits ? State::Wait : State::Miss;
      break;
    case ResponseCache::Found::Miss: state_ = State::Miss; break;
  }
  model_ = model;
  spent_ns_ = watch.elapsed_ns();
  return state_;
}

void CacheTurn::store(std::span<const TensorView> outputs) {
  if (model_ == nullptr || (state_ != State::Lead && state_ != State::Miss)) return;
  const Stopwatch watch;
  model_->cache_.store(key_, model_->owner_, outputs);
  spent_ns_ += watch.elapsed_ns();
}

void CacheTurn::end() {
  found_.reset();
  ModelCache* const model = model_;
  model_ = nullptr;
  const bool leads = state_ == State::Lead;
  state_ = State::Off;
  spent_ns_ = 0;
  if (model == nullptr || !leads) return;
  model->cache_.end_run(key_);
  model->waiting_.run_ended(key_);
}

}  // namespace serval
