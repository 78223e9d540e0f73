// Orders waiting requests by the shares of their API keys. Hot path (queued requests).
#include "engine/request/fair_waiting.h"

#include <utility>

namespace serval {

// Drops keys that used no more than their share: a new entry would be equal.
FairWaiting::Flow& FairWaiting::flow_of(uint32_t key) {
  const auto found = flows_.find(key);
  if (found != flows_.end()) return found->second;
  if (flows_.size() >= sweep_at_) {
    std::erase_if(flows_, [&](const auto& one) {
      return !one.second.is_listed && order_.is_behind(one.second.turns);
    });
    sweep_at_ = std::max(kKeptKeys, 2 * flows_.size());
  }
  return flows_[key];
}

void FairWaiting::list(Flow& flow) {
  flow.is_listed = true;
  listed_.push_back({order_.start_of(flow.turns), ++number_, &flow});
  std::push_heap(listed_.begin(), listed_.end());
}

void FairWaiting::drop_front() {
  std::pop_heap(listed_.begin(), listed_.end());
  listed_.back().flow->is_listed = false;
  listed_.pop_back();
}

// The key that waited alone is charged for the request of it that runs.
void FairWaiting::begin_sharing() {
  is_shared_ = true;
  Flow& flow = flow_of(sole_key_);
  flow.waiting.swap(sole_);
  flow.turns.set_weight(std::max(1u, flow.waiting.front()->key_weight));
  if (sole_ran_) order_.begin(flow.turns, 1);
  list(flow);
}

// No request waits, so no key has a share that it did not get.
void FairWaiting::end_sharing() {
  if (!is_shared_) return;
  is_shared_ = false;
  listed_.clear();
  order_ = FairOrder();
  if (flows_.size() > kKeptKeys) flows_.clear();
  for (auto& [key, flow] : flows_) {
    flow.turns = FairFlow();
    flow.is_listed = false;
  }
  sweep_at_ = kKeptKeys;
}

void FairWaiting::push(Request* request, uint32_t key) {
  if (size_++ == 0) {
    sole_key_ = key;
    sole_ran_ = false;
  }
  if (!is_shared_) {
    if (key == sole_key_) [[likely]] {
      sole_.push_back(request);
      return;
    }
    begin_sharing();
  }
  Flow& flow = flow_of(key);
  flow.waiting.push_back(request);
  if (!flow.is_listed) list(flow);
}

FairWaiting::Flow& FairWaiting::first() {
  while (listed_.front().flow->waiting.empty()) drop_front();
  return *listed_.front().flow;
}

Request* FairWaiting::front() { return is_shared_ ? first().waiting.front() : sole_.front(); }

Request* FairWaiting::pop() {
  --size_;
  if (!is_shared_) {
    Request* const request = sole_.front();
    sole_.pop_front();
    sole_ran_ |= !request->cancel.cancelled();
    return request;
  }
  Flow& flow = first();
  Request* const request = flow.waiting.front();
  flow.waiting.pop_front();
  if (!request->cancel.cancelled()) {
    flow.turns.set_weight(std::max(1u, request->key_weight));
    order_.begin(flow.turns, 1);
    drop_front();
    if (!flow.waiting.empty()) list(flow);
  }
  if (size_ == 0) end_sharing();
  return request;
}

bool FairWaiting::remove(Request* request) {
  std::deque<Request*>* waiting = &sole_;
  if (is_shared_) {
    const auto found = flows_.find(request->key);
    if (found == flows_.end()) return false;
    waiting = &found->second.waiting;
  }
  const auto at = std::find(waiting->begin(), waiting->end(), request);
  if (at == waiting->end()) return false;
  waiting->erase(at);
  if (--size_ == 0) end_sharing();
  return true;
}

}  // namespace serval
