// The runs of an ensemble's steps for one request: on the calling thread, or through the queues of
// their models. Hot path; one thread at a time, except where a call says otherwise.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/cancel.h"
#include "engine/ensemble/plan.h"
#include "engine/model/serve.h"
#include "engine/model/step_call.h"
#include "engine/request/home.h"
#include "engine/request/request.h"

namespace serval {

class StepRuns final : private LaneHooks, private RunEnder {
 public:
  // Borrows the plan.
  StepRuns(const EnsemblePlan& plan, MemoryBudget* budget);
  ~StepRuns();
  StepRuns(const StepRuns&) = delete;
  StepRuns& operator=(const StepRuns&) = delete;

  // Sets what a step reads and which of its outputs (numbers within PlannedStep::outputs) are
  // wanted. `tensors`: those of the ensemble, of which the step's inputs exist.
  void prepare(size_t step, std::span<const TensorView> tensors, std::span<const uint32_t> wanted);
  // Runs a step on this thread, after it waited for a turn if the options say so. `ran_ns`: how
  // long it ran. Errors: the step's own, with its name.
  Status run_here(size_t step, const RunOptions& options, uint64_t& ran_ns);
  // Puts a step into its model's queue. Errors: queue_full, model_not_ready.
  Status start(size_t step);
  // Waits until steps that were started have ended, and returns them; while `cancel` is set, also
  // ends those that still run. Blocks.
  std::span<const size_t> wait(const CancelFlag* cancel);
  // Does not block: returns those that have ended.
  std::span<const size_t> take_ended();
  // The number of started steps that have not been returned.
  size_t outstanding() const { return outstanding_; }
  // Ends all started steps and waits until they have ended.
  void abandon();

  // The outcome of a step that has ended. Errors: the step's own, with its name.
  Status outcome(size_t step) const;
  std::span<const TensorView> results(size_t step) const { return runs_[step]->call.results; }
  // Ends all results.
  void release();

 private:
  struct Run {
    Request request;
    StepCall call;
    ServeMemory memory;
    std::vector<TensorView> inputs;
    std::vector<std::string_view> names;
    std::vector<uint32_t> outputs;
    bool is_started = false;

    explicit Run(MemoryBudget* budget) : memory(budget) { call.arena().charge_to(budget); }
  };

  void wake() override;     // any thread
  void end_run() override;  // any thread
  void* pin() override { return nullptr; }
  void unpin(void*) override {}
  void end_started(EndCause cause);
  void reset(Run& run, size_t step);

  const EnsemblePlan& plan_;
  const ServeSettings settings_;
  const std::shared_ptr<Home> home_;
  std::vector<std::unique_ptr<Run>> runs_;  // one per step
  std::vector<size_t> ended_;
  size_t outstanding_ = 0;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool is_woken_ = false;  // guarded by mutex_
};

}  // namespace serval
