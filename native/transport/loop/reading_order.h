// The order in which a listener's thread reads its ready connections while requests of several
// flows (models) arrive: by the flows' shares of the thread's time. With one flow nothing is
// counted and connections are read in the kernel's order. Hot path; the listener's thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "base/clock.h"
#include "base/cpu/fair_order.h"

namespace serval {

class ReadingOrder {
 public:
  // How long connections are read before other events are looked for, and how many.
  static constexpr uint64_t kTurnNs = 50'000;
  static constexpr size_t kTurnConnections = 128;
  // A turn with many ready connections is longer, as it costs some time for each of them.
  static uint64_t turn_ns(size_t ready) {
    return kTurnNs * std::clamp<uint64_t>(ready / kTurnConnections, 1, 8);
  }
  // How long flows count as sharing the thread after the latest change of the flow.
  static constexpr uint64_t kSharedNs = 10'000 * kNsPerMs;
  static constexpr size_t kBytesMin = 256;

  // A request of `flow` arrived on the connection that is being read.
  void note(uint32_t flow, uint32_t weight, uint64_t now_ns) {
    if (flow == noted_) [[likely]]
      return;
    noted_ = flow;
    if (flow == latest_) return;
    if (latest_ != 0) shared_until_ns_ = now_ns + kSharedNs;
    latest_ = flow;
    if (flows_.size() >= kFlowsMax) flows_.clear();
    flows_[flow].set_weight(weight);
  }
  // The flow that was noted since begin_reading(); 0 = none.
  uint32_t noted() const { return noted_; }
  void begin_reading() { noted_ = 0; }
  bool is_shared(uint64_t now_ns) const { return now_ns < shared_until_ns_; }

  // The virtual time at which the flow is read next.
  double start_of(uint32_t flow) const {
    const auto found = flows_.find(flow);
    return order_.start_of(found == flows_.end() ? idle_ : found->second);
  }
  // The flow's connection was read for this long.
  void charge(uint32_t flow, uint64_t ns) { order_.begin(flows_[flow], static_cast<double>(ns)); }

  // The bytes that a connection may read at a time, if each takes this long (0 = unknown).
  static size_t bytes_for(float byte_ns) {
    if (byte_ns <= 0) return SIZE_MAX;
    const float bytes = static_cast<float>(kTurnNs) / byte_ns;
    return std::max(kBytesMin, static_cast<size_t>(std::min(bytes, 1e9f)));
  }

 private:
  static constexpr size_t kFlowsMax = 4096;

  FairOrder order_;
  std::unordered_map<uint32_t, FairFlow> flows_;
  const FairFlow idle_;
  uint64_t shared_until_ns_ = 0;
  uint32_t noted_ = 0;
  uint32_t latest_ = 0;
};

}  // namespace serval
