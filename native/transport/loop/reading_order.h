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

// The flow that a connection is read as, and its part, with their weights.
struct ReadFlow {
  uint32_t flow = 0;  // 0: no request has arrived
  uint32_t part = 0;
  uint32_t weight = kTurnWeightDefault;
  uint32_t part_weight = kTurnWeightDefault;
  bool operator==(const ReadFlow& other) const { return flow == other.flow && part == other.part; }
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
  // The parts of all flows together that are remembered.
  static constexpr size_t kPartsMax = 4096;
  // The flow of requests that belong to none. They do not make the thread shared.
  static constexpr ReadFlow kOther{UINT32_MAX, 0};

  // The virtual times at which a flow and its part are read next; less is earlier.
  using Start = std::pair<double, double>;

  // A request arrived on the connection that is being read.
  void note(const FlowShare& share, uint64_t now_ns) {
    const ReadFlow flow = share.flow == 0
                              ? kOther
                              : ReadFlow{share.flow, share.part, share.weight, share.part_weight};
    if (flow == noted_) [[likely]]
      return;
    noted_ = flow;
    if (flow == latest_ || flow == kOther) return;
    if (latest_.flow != 0) shared_until_ns_ = now_ns + kSharedNs;
    latest_ = flow;
    const auto [own, part] = entry_of(flow);
    own->turns.set_weight(flow.weight);
    part->set_weight(flow.part_weight);
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
    const auto [own, part] = entry_of(flow);
    order_.begin(own->turns, cost);
    own->order.begin(*part, cost);
  }
  // Parts of all flows that are remembered.
  size_t parts() const { return parts_; }

  // The bytes that a connection may read at a time, if each takes this long (0 = unknown).
  static size_t bytes_for(float byte_ns) {
    if (byte_ns <= 0) return SIZE_MAX;
    const float bytes = static_cast<float>(kTurnNs) / byte_ns;
    return std::max(kBytesMin, static_cast<size_t>(std::min(bytes, 1e9f)));
  }

 private:
  struct Flow {
    FairFlow turns;
    FairOrder order;  // of its parts
    std::unordered_map<uint32_t, FairFlow> parts;
  };

  // The entries of the flow and its part, which are made. When there would be too many, all others
  // are forgotten: they count as idle.
  std::pair<Flow*, FairFlow*> entry_of(const ReadFlow& flow) {
    Flow* own = &flows_[flow.flow];
    const auto found = own->parts.find(flow.part);
    if (found != own->parts.end()) return {own, &found->second};
    if (parts_ >= kPartsMax) {
      flows_.clear();
      parts_ = 0;
      own = &flows_[flow.flow];
    }
    ++parts_;
    if (own->parts.empty()) own->turns.set_weight(flow.weight);
    FairFlow& part = own->parts[flow.part];
    part.set_weight(flow.part_weight);
    return {own, &part};
  }

  FairOrder order_;
  std::unordered_map<uint32_t, Flow> flows_;
  size_t parts_ = 0;
  const FairFlow idle_;
  uint64_t shared_until_ns_ = 0;
  ReadFlow noted_, latest_;
};

}  // namespace serval
