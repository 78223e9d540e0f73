// The order in which flows use a resource, by their weights: start-time fair queueing. A use starts
// at a virtual time, the flow whose next use starts first is next, and a use moves its flow's next
// start by its cost over the flow's weight. A flow that was idle starts at the present virtual
// time: it saves up nothing. Hot path; pure, the caller locks. Source: Goyal, Vin, Cheng,
// "Start-time Fair Queueing", SIGCOMM 1996.
#pragma once

#include <algorithm>
#include <cstdint>

namespace serval {

inline constexpr uint32_t kTurnWeightDefault = 100;

// Names a flow and the part of it that a request belongs to: a model, and the API key of its
// caller. Flows share a resource by their weights, and the parts of a flow share what the flow
// gets.
struct FlowShare {
  uint32_t flow = 0;  // 0: the request belongs to none
  uint32_t weight = kTurnWeightDefault;
  uint32_t part = 0;
  uint32_t part_weight = kTurnWeightDefault;
};

class FairFlow {
 public:
  explicit FairFlow(double weight = kTurnWeightDefault) : weight_(weight > 0 ? weight : 1) {}
  void set_weight(double weight) { weight_ = weight > 0 ? weight : 1; }

 private:
  friend class FairOrder;
  double weight_;
  double next_ = 0;  // the earliest start of its next use
};

class FairOrder {
 public:
  // The virtual time at which the flow's next use starts.
  double start_of(const FairFlow& flow) const { return std::max(flow.next_, now_); }
  // Whether the flow used less than its share, or was idle.
  bool is_behind(const FairFlow& flow) const { return flow.next_ < now_; }
  // Starts a use of the flow. `cost`: as expected, in any unit that all flows share.
  void begin(FairFlow& flow, double cost) {
    now_ = start_of(flow);
    flow.next_ = now_ + cost / flow.weight_;
  }
  // Corrects the cost of a use by the difference to the expected one.
  void correct(FairFlow& flow, double difference) { flow.next_ += difference / flow.weight_; }

 private:
  double now_ = 0;
};

}  // namespace serval
