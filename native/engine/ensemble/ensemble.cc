// Runs ensembles. Load: control plane; run: hot path, any thread, each with its own scratch.
#include "engine/ensemble/ensemble.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/clock.h"
#include "engine/ensemble/plan.h"
#include "engine/ensemble/step_runs.h"

namespace serval {

namespace {

// A step whose mean run is longer than this goes to its model's queue if another one is ready too.
constexpr float kLongRunNs = 300e3f;
constexpr float kMeanWeight = 0.125f;

class EnsembleScratch final : public BackendScratch {
 public:
  EnsembleScratch(const EnsemblePlan& plan, MemoryBudget* budget)
      : runs(plan, budget), wanted(plan.steps.size()) {}

  std::span<const TensorView> outputs() const override { return results; }
  void release_outputs() override {
    results.clear();
    runs.release();
  }

  StepRuns runs;
  std::vector<TensorView> tensors;  // the ensemble's, as far as they exist
  std::vector<uint8_t> exists;      // one per tensor: 1 if it exists
  std::vector<uint8_t> needed;      // one per tensor: 1 if a later step or the request needs it
  std::vector<std::vector<uint32_t>> wanted;  // per step: its outputs that are needed
  std::vector<size_t> waiting;                // steps that have not begun, in the plan's order
  std::vector<TensorView> results;
};

class EnsembleModel final : public BackendModel {
 public:
  EnsembleModel(const ModelSpec& spec, EnsemblePlan plan, MemoryBudget* budget)
      : plan_(std::move(plan)), means_(plan_.steps.size()), budget_(budget) {
    info_.signatures.push_back(spec.ensemble_signature);
    if (info_.signatures[0].name.empty()) info_.signatures[0].name = "serving_default";
    info_.model_version = spec.version;
    info_.providers = {"ensemble"};
    for (const PlannedStep& step : plan_.steps) {
      info_.stateful |= step.model->stateful();
      info_.waits |= step.is_queued || step.model->info().waits;
    }
  }

  const BackendModelInfo& info() const override { return info_; }
  std::unique_ptr<BackendScratch> make_scratch() override {
    return std::make_unique<EnsembleScratch>(plan_, budget_);
  }

  // Hot path: run (ensembles).
  Status run(uint32_t, std::span<const TensorView> inputs, std::span<const uint32_t> output_indices,
             BackendScratch& scratch, const RunOptions& options) override {
    auto& work = static_cast<EnsembleScratch&>(scratch);
    work.release_outputs();
    begin(inputs, output_indices, work);
    Status done = run_steps(work, options);
    if (!done.ok()) {
      work.runs.abandon();
      return done;
    }
    for (const uint32_t index : output_indices) {
      const TensorView& tensor = work.tensors[plan_.outputs[index]];
      if (tensor.dtype == DType::Invalid) return absent_output(index);
      work.results.push_back(tensor);
    }
    return {};
  }

 private:
  Error absent_output(uint32_t index) const {
    return invalid_argument("output '" + info_.signatures[0].outputs[index].name +
                            "' is an optional input, which the request omits");
  }

  // Determines which steps run: those that the wanted outputs need, and those with state.
  void begin(std::span<const TensorView> inputs, std::span<const uint32_t> output_indices,
             EnsembleScratch& work) const {
    work.tensors.assign(plan_.tensors, {});
    work.exists.assign(plan_.tensors, 0);
    work.needed.assign(plan_.tensors, 0);
    work.waiting.clear();
    std::copy(inputs.begin(), inputs.end(), work.tensors.begin());
    // Trailing inputs that may be absent can be omitted.
    std::fill_n(work.exists.begin(), info_.signatures[0].inputs.size(), uint8_t{1});
    for (const uint32_t index : output_indices) work.needed[plan_.outputs[index]] = 1;
    for (size_t i = plan_.steps.size(); i-- > 0;) {
      const PlannedStep& step = plan_.steps[i];
      std::vector<uint32_t>& wanted = work.wanted[i];
      wanted.clear();
      for (uint32_t k = 0; k < step.made.size(); ++k) {
        if (work.needed[step.made[k]] != 0) wanted.push_back(k);
      }
      if (wanted.empty() && step.model->stateful()) wanted.push_back(0);
      if (wanted.empty()) continue;
      work.waiting.push_back(i);
      for (const size_t tensor : step.inputs) {
        if (tensor != kNoEnsembleTensor) work.needed[tensor] = 1;
      }
    }
    std::reverse(work.waiting.begin(), work.waiting.end());
  }

  bool is_ready(size_t step, const EnsembleScratch& work) const {
    return std::ranges::all_of(plan_.steps[step].inputs, [&](size_t tensor) {
      return tensor == kNoEnsembleTensor || work.exists[tensor] != 0;
    });
  }

  // Starts what can be started, runs the first of the others here, and again, until all have ended.
  Status run_steps(EnsembleScratch& work, const RunOptions& options) {
    while (!work.waiting.empty() || work.runs.outstanding() != 0) {
      size_t here = plan_.steps.size();
      Status begun = start_ready(work, here);
      if (!begun.ok()) return begun;
      const bool is_here = here != plan_.steps.size();
      if (is_here) {
        uint64_t ran_ns = 0;
        if (Status ran = work.runs.run_here(here, options, ran_ns); !ran.ok()) return ran;
        note_run(here, ran_ns);
        take_results(here, work);
      }
      for (const size_t step : is_here ? work.runs.take_ended() : work.runs.wait(options.cancel)) {
        if (Status ended = work.runs.outcome(step); !ended.ok()) return ended;
        take_results(step, work);
      }
    }
    return {};
  }

  // Starts the ready steps, but leaves one for this thread: `here`.
  Status start_ready(EnsembleScratch& work, size_t& here) const {
    std::vector<size_t>& waiting = work.waiting;
    for (size_t at = 0; at < waiting.size();) {
      const size_t step = waiting[at];
      if (!is_ready(step, work)) {
        ++at;
        continue;
      }
      const bool is_long = means_[step].load(std::memory_order_relaxed) > kLongRunNs;
      const bool has_other = here != plan_.steps.size();
      if (!plan_.steps[step].is_queued && has_other && !is_long) {
        ++at;  // its turn comes
        continue;
      }
      work.runs.prepare(step, work.tensors, work.wanted[step]);
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
      if (!plan_.steps[step].is_queued && !has_other) {
        here = step;
        continue;
      }
      if (Status started = work.runs.start(step); !started.ok()) return started;
    }
    return {};
  }

  void note_run(size_t step, uint64_t ns) {
    const float mean = means_[step].load(std::memory_order_relaxed);
    const auto sample = static_cast<float>(ns);
    means_[step].store(mean == 0 ? sample : mean + (sample - mean) * kMeanWeight,
                       std::memory_order_relaxed);
  }

  void take_results(size_t step, EnsembleScratch& work) const {
    const std::span<const TensorView> results = work.runs.results(step);
    for (size_t i = 0; i < results.size(); ++i) {
      const size_t tensor = plan_.steps[step].made[work.wanted[step][i]];
      work.tensors[tensor] = results[i];
      work.exists[tensor] = 1;
    }
  }

  BackendModelInfo info_;
  const EnsemblePlan plan_;
  std::vector<std::atomic<float>> means_;  // of each step's runs here, in ns
  MemoryBudget* const budget_;
};

}  // namespace

Result<std::shared_ptr<BackendModel>> make_ensemble(
    const ModelSpec& spec, const std::vector<std::shared_ptr<Model>>& models,
    MemoryBudget* budget) {
  Result<EnsemblePlan> plan = plan_ensemble(spec, models);
  if (!plan.ok()) return std::move(plan.error());
  return std::shared_ptr<BackendModel>(
      std::make_shared<EnsembleModel>(spec, std::move(plan.value()), budget));
}

}  // namespace serval
