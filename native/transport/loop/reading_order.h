// The order in which a listener's thread reads its ready connections while requests of several
// flows (models) or of several parts of one (API keys) arrive: by the flows' shares of the thread's
// time, and within a flow by those of its parts. With one flow and one part nothing is counted and
// connections are read in the kernel's order. Hot path; the listener's thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include "base/clock.h"
#include "base/cpu/fair_order.h"

namespace serval {

// The flow that a connection is read as, and its part.
struct ReadFlow {
  uint32_t flow = 0;  // 0: no request has arrived
  uint32_t part = 0;
  bool operator==(const ReadFlow&) const = default;
};

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
  // The flow of requests that belong to none. They do not make the thread shared.
  static constexpr ReadFlow kOther{UINT32_MAX, 0};

  // The virtual times at which a flow and its part are read next; less is earlier.
  using Start = std::pair<double, double>;

  // A request arrived on the connection that is being read.
  void note(const FlowShare& share, uint64_t now_ns) {
    const ReadFlow flow = share.flow == 0 ? kOther : ReadFlow{share.flow, share.part};
    if (flow == noted_) [[likely]]
      return;
    noted_ = flow;
    if (flow == latest_ || flow == kOther) return;
    if (latest_.flow != 0) shared_until_ns_ = now_ns + kSharedNs;
    latest_ = flow;
    if (flows_.size() >= kFlowsMax) flows_.clear();
    Flow& own = flows_[flow.flow];
    own.turns.set_weight(share.weight);
    if (own.parts.size() >= kFlowsMax) own.parts.clear();
    own.parts[flow.part].set_weight(share.part_weight);
  }
  // The flow that was noted since begin_reading(); its number is 0 if none was.
  ReadFlow noted() const { return noted_; }
  void begin_reading() { noted_ = {}; }
  bool is_shared(uint64_t now_ns) const { return now_ns < shared_until_ns_; }

  Start start_of(ReadFlow flow) const {
    const auto found = flows_.find(flow.flow);
    if (found == flows_.end()) return {order_.start_of(idle_), 0};
    const Flow& own = found->second;
    const auto part = own.parts.find(flow.part);
    return {order_.start_of(own.turns),
            own.order.start_of(part == own.parts.end() ? idle_ : part->second)};
  }
  // The flow's connection was read for this long.
  void charge(ReadFlow flow, uint64_t ns) {
    const auto cost = static_cast<double>(ns);
    Flow& own = flows_[flow.flow];
    order_.begin(own.turns, cost);
    own.order.begin(own.parts[flow.part], cost);
  }

  // The bytes that a connection may read at a time, if each takes this long (0 = unknown).
  static size_t bytes_for(float byte_ns) {
    if (byte_ns <= 0) return SIZE_MAX;
    const float bytes = static_cast<float>(kTurnNs) / byte_ns;
    return std::max(kBytesMin, static_cast<size_t>(std::min(bytes, 1e9f)));
  }

 private:
  static constexpr size_t kFlowsMax = 4096;
  struct Flow {
    FairFlow turns;
    FairOrder order;  // of its parts
    std::unordered_map<uint32_t, FairFlow> parts;
  };

  FairOrder order_;
  std::unordered_map<uint32_t, Flow> flows_;
  const FairFlow idle_;
  uint64_t shared_until_ns_ = 0;
  ReadFlow noted_, latest_;
};

}  // namespace serval
