// Waiting requests of several API keys, by the shares of the keys and within a key in order of
// arrival: start-time fair queueing (base/cpu/fair_order.h). Requests without a key are those of
// one more key, 0. While the requests of one key wait, nothing is counted. Hot path (queued
// requests); the caller locks.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "base/cpu/fair_order.h"
#include "engine/request/request.h"

namespace serval {

class FairWaiting {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Does not own the request. It waits as one of `key`.
  void push(Request* request, uint32_t key);
  // The next request; not empty.
  Request* front();
  // Removes front(). Its key is charged for a run by its weight, unless the request was cancelled:
  // a key whose clients leave early keeps its share.
  Request* pop();
  // Removes a request that was pushed with its own key, uncharged. Returns false if it is not here.
  bool remove(Request* request);
  // Removes those for which `sift` returns true, uncharged.
  template <typename Sift>
  void remove_if(const Sift& sift) {
    const auto from = [&](std::deque<Request*>& waiting) {
      const size_t before = waiting.size();
      std::erase_if(waiting, sift);
      size_ -= before - waiting.size();
    };
    from(sole_);
    for (auto& [key, flow] : flows_) from(flow.waiting);
    if (size_ == 0) end_sharing();
  }
  // Calls `visit` with each request, in no order.
  template <typename Visit>
  void for_each(const Visit& visit) const {
    for (Request* request : sole_) visit(request);
    for (const auto& [key, flow] : flows_) {
      for (Request* request : flow.waiting) visit(request);
    }
  }
  // Keys that it remembers.
  size_t keys() const { return flows_.size(); }

 private:
  // Idle keys up to this number are remembered, which saves their allocations.
  static constexpr size_t kKeptKeys = 64;
  struct Flow {
    FairFlow turns;
    std::deque<Request*> waiting;
    bool is_listed = false;
  };
  // A key in the order of keys. It stays when its requests were removed, until it is first.
  struct Listed {
    double start;
    uint64_t number;  // among equal starts the earlier one goes first
    Flow* flow;
    bool operator<(const Listed& other) const {
      return start != other.start ? start > other.start : number > other.number;
    }
  };
  Flow& flow_of(uint32_t key);
  void list(Flow& flow);
  void drop_front();
  void begin_sharing();
  void end_sharing();
  Flow& first();

  size_t size_ = 0;
  // While one key's requests wait, they are here and `flows_` has none.
  std::deque<Request*> sole_;
  uint32_t sole_key_ = 0;
  bool sole_ran_ = false;  // a request of that key was removed to run while others waited
  bool is_shared_ = false;
  FairOrder order_;
  std::unordered_map<uint32_t, Flow> flows_;
  size_t sweep_at_ = kKeptKeys;
  std::vector<Listed> listed_;  // a heap
  uint64_t number_ = 0;
};

}  // namespace serval
