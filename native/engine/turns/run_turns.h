// Turns of queued runs on this process's cores, when several models have runs: as many at a time as
// there are cores, in the order of the models' weights. A model that used less than its share
// starts one run at once, beside those of the others: a run in progress is not interrupted, but the
// kernel divides the cores. Hot path (queued requests), any thread; a lock at each end of a run,
// and none while a single model has instances.
//
// With Triton's rate limiter (--rate-limit=execution_count) the cores are not counted. A run needs
// the resources that its model's configuration lists, and models run in the order of their runs
// times their priority. If the first one's resources are not free, the others wait too. Source:
// Triton's rate_limiter.md, rate_limiter.cc.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/cancel.h"
#include "base/clock.h"
#include "base/cpu/fair_order.h"
#include "base/error.h"
#include "base/generated/engine_structs.h"
#include "engine/turns/rate_resources.h"

namespace serval {

class RunTurns;

// The model that a flow belongs to.
struct FlowOwner {
  std::string model;      // its name
  bool by_steps = false;  // an ensemble: its steps take turns, its own runs take none
};

// The runs of one model.
class RunFlow {
 public:
  // `turns`: null for a model whose runs need none; outlives this. `needs`: resources that a run on
  // one of `devices` needs; for the rate limiter.
  RunFlow(RunTurns* turns, double weight, std::vector<RateResource> needs = {},
          std::vector<int> devices = {0}, FlowOwner owner = {});
  ~RunFlow();
  RunFlow(const RunFlow&) = delete;
  RunFlow& operator=(const RunFlow&) = delete;

  // One of the model's instance threads begins and ends. Any thread.
  void instance_began();
  void instance_ended();

 private:
  friend class RunTurns;
  friend class RunTurn;
  struct Waiter;

  RunTurns* const turns_;
  const std::vector<RateResource> needs_;
  const std::vector<int> devices_;
  const FlowOwner owner_;
  // The rest is guarded by the mutex of turns_.
  FairFlow fair_;
  double expected_ns_ = 0;  // of a run
  uint32_t instances_ = 0;
  uint32_t running_ = 0;
  std::vector<Waiter*> waiting_;  // the first is next; at most one per instance
};

class RunTurns {
 public:
  // `cores`: the runs at a time, at least 1. `clock`: nanoseconds, for the length of runs.
  explicit RunTurns(uint32_t cores, uint64_t (*clock)() = now_ns) : cores_(cores), clock_(clock) {}
  // The rate limiter, with the counts that are set.
  explicit RunTurns(std::vector<RateCount> counts);
  RunTurns(const RunTurns&) = delete;
  RunTurns& operator=(const RunTurns&) = delete;

  // Whether several models have instances, so that their runs need turns.
  bool is_shared() const { return flows_.load(std::memory_order_relaxed) > 1; }
  // Whether this is the rate limiter.
  bool limits_rates() const { return resources_.has_value(); }
  // Whether runs of the model with these needs can ever begin. Errors: model_invalid. Any thread.
  Status check(const std::string& model, std::span<const RateResource> needs,
               std::span<const int> devices);
  // Runs that have a turn, and those that wait for one. Any thread.
  size_t running();
  size_t waiting();

 private:
  friend class RunFlow;
  friend class RunTurn;

  // Waits for a turn. Returns false if `cancel`, which may be null, was set meanwhile. `charged`:
  // the expected nanoseconds.
  bool begin(RunFlow& flow, int device, const CancelFlag* cancel, double& charged);
  void end(RunFlow& flow, int device, double charged, uint64_t ns);
  void start_waiting();
  RunFlow* next_flow(bool beside) const;
  void start_one(RunFlow& flow);

  const uint32_t cores_;
  uint64_t (*const clock_)();
  std::atomic<uint32_t> flows_{0};  // with instances; changed under mutex_
  std::mutex mutex_;
  FairOrder order_;                // guarded by mutex_
  std::vector<RunFlow*> waiting_;  // guarded by mutex_: flows with waiting runs
  uint64_t arrivals_ = 0;          // guarded by mutex_
  uint32_t running_ = 0;           // guarded by mutex_
  // The resources are guarded by mutex_; none: this is not the rate limiter.
  std::optional<RateResources> resources_;
};

// The turn of one run, until it is destroyed.
class RunTurn {
 public:
  explicit RunTurn(RunFlow& flow) : flow_(flow) {}
  ~RunTurn() {
    if (!has_turn_) return;
    flow_.turns_->end(flow_, device_, charged_, flow_.turns_->clock_() - began_ns_);
  }
  RunTurn(const RunTurn&) = delete;
  RunTurn& operator=(const RunTurn&) = delete;

  // Whether wait() may have to wait.
  bool needed() const {
    return flow_.turns_ != nullptr && flow_.turns_->is_shared() && !flow_.owner_.by_steps;
  }
  // Hot path: queue. Waits for the turn, or until `cancel` is set: then the run goes on without
  // one, as it ends at once. `replica`: the index of the session that runs. Returns the nanoseconds
  // that it waited. Call once, if needed.
  uint64_t wait(const CancelFlag* cancel, size_t replica = 0) {
    const uint64_t asked_ns = flow_.turns_->clock_();
    device_ = flow_.devices_[replica % flow_.devices_.size()];
    has_turn_ = flow_.turns_->begin(flow_, device_, cancel, charged_);
    began_ns_ = flow_.turns_->clock_();
    return began_ns_ - asked_ns;
  }

 private:
  RunFlow& flow_;
  bool has_turn_ = false;
  int device_ = 0;
  double charged_ = 0;
  uint64_t began_ns_ = 0;
};

}  // namespace serval
