// Runs the steps of an ensemble. Hot path; the thread of the ensemble's request.
#include "engine/ensemble/step_runs.h"

#include <array>
#include <utility>

#include "engine/model/queued.h"
#include "engine/model/refusals.h"

namespace serval {

StepRuns::StepRuns(const EnsemblePlan& plan, MemoryBudget* budget)
    : plan_(plan), home_(std::make_shared<Home>(settings_, static_cast<LaneHooks&>(*this))) {
  for (size_t i = 0; i < plan.steps.size(); ++i) runs_.push_back(std::make_unique<Run>(budget));
}

StepRuns::~StepRuns() {
  abandon();
  release();
  // No thread is within complete() from here on.
  home_->completions().close();
  home_->completions().wait_for_all();
}

void StepRuns::prepare(size_t step, std::span<const TensorView> tensors,
                       std::span<const uint32_t> wanted) {
  const PlannedStep& planned = plan_.steps[step];
  Run& run = *runs_[step];
  run.call.release();
  run.inputs.clear();
  run.names.clear();
  run.outputs.clear();
  for (const size_t tensor : planned.inputs) {
    run.inputs.push_back(tensor == kNoEnsembleTensor ? TensorView() : tensors[tensor]);
  }
  for (const std::string& name : planned.names) run.names.push_back(name);
  for (const uint32_t one : wanted) run.outputs.push_back(planned.outputs[one]);
  run.call.inputs = run.inputs;
  run.call.names = run.names;
  run.call.outputs = run.outputs;
}

void StepRuns::reset(Run& run, size_t step) {
  Request& request = run.request;
  request.protocol = Protocol::V2Grpc;
  request.step = &run.call;
  request.slot = static_cast<uint32_t>(step);
  request.code = ErrorCode::Ok;
  request.response.clear();
  request.json_bytes_out = 0;
  request.late = Request::Late::No;
  request.wait_until_ns = request.deadline_ns = request.policy_timeout_ns = 0;
  request.schedule = {};
  request.again = request.died = request.waited_for_equal = false;
  request.cancel.reset();
}

Status StepRuns::run_here(size_t step, const RunOptions& options, uint64_t& ran_ns) {
  const PlannedStep& planned = plan_.steps[step];
  Run& run = *runs_[step];
  reset(run, step);
  run.call.borrows = true;
  planned.model->counters().requests_inline.fetch_add(1, std::memory_order_relaxed);
  ServeInput input;
  input.protocol = Protocol::V2Grpc;
  input.cancel = options.cancel;
  input.step = &run.call;
  input.cache = CacheUse::Runs;
  input.takes_turns = options.takes_turns;
  bool served = false;
  {
    const ReplicaUse use(*planned.model, 0);
    RunTurn turn(planned.model->turns());
    uint64_t queue_ns = 0;
    if (options.takes_turns && turn.needed()) queue_ns = turn.wait(options.cancel, use.index());
    const Stopwatch watch;
    served =
        serve(input, *planned.model, use.index(), queue_ns, settings_, run.memory, run.request);
    ran_ns = watch.elapsed_ns();
  }
  if (served) return outcome(step);
  // It took too long for a listener's thread: the whole ensemble runs again on another one.
  return make_error(ErrorCode::Cancelled, planned.text + ": ended");
}

Status StepRuns::start(size_t step) {
  const PlannedStep& planned = plan_.steps[step];
  Run& run = *runs_[step];
  reset(run, step);
  run.call.borrows = false;
  Request& request = run.request;
  request.stage = Request::Stage::Queued;
  request.model = planned.model;
  request.home = home_;
  request.queued = Stopwatch();
  home_->completions().add_working(1);
  const RequestQueue::Push pushed = push_request(planned.model, request, Entry::First);
  if (pushed == RequestQueue::Push::Taken) {
    run.is_started = true;
    ++outstanding_;
    return {};
  }
  home_->completions().add_working(-1);
  const bool closed = pushed == RequestQueue::Push::Closed;
  if (!closed) planned.model->counters().queue_full.fetch_add(1, std::memory_order_relaxed);
  Error error = not_taken(*planned.model, request, closed);
  request.home.reset();
  request.model.reset();
  error.message = planned.text + ": " + error.message;
  return error;
}

std::span<const size_t> StepRuns::take_ended() {
  ended_.clear();
  std::array<Request*, 16> some{};
  for (;;) {
    const size_t count = home_->completions().take(some);
    for (size_t i = 0; i < count; ++i) {
      const size_t step = some[i]->slot;
      runs_[step]->request.model.reset();
      runs_[step]->is_started = false;
      --outstanding_;
      ended_.push_back(step);
    }
    if (count == 0) return ended_;
  }
}

std::span<const size_t> StepRuns::wait(const CancelFlag* cancel) {
  if (cancel != nullptr) cancel->begin_run(*this);
  bool is_told = false;
  while (take_ended().empty() && outstanding_ != 0) {
    if (cancel != nullptr && cancel->cancelled() && !is_told) {
      is_told = true;
      end_started(cancel->cause());
      continue;
    }
    std::unique_lock lock(mutex_);
    woken_.wait(lock, [this] { return is_woken_; });
    is_woken_ = false;
  }
  if (cancel != nullptr) cancel->leave_run(*this);
  return ended_;
}

// Those that wait leave their queues; the runs of the others end as soon as they can.
void StepRuns::end_started(EndCause cause) {
  for (const std::unique_ptr<Run>& run : runs_) {
    if (!run->is_started) continue;
    Request& request = run->request;
    request.cancel.cancel(cause == EndCause::None ? EndCause::ClientLeft : cause);
    // The model is the plan's: the request may be completed at any time.
    if (plan_.steps[request.slot].model->queue().remove(&request)) {
      finish_refused(*plan_.steps[request.slot].model, request, client_left());
    }
  }
}

void StepRuns::abandon() {
  if (outstanding_ == 0) return;
  end_started(EndCause::ClientLeft);
  while (outstanding_ != 0) wait(nullptr);
}

Status StepRuns::outcome(size_t step) const {
  const Request& request = runs_[step]->request;
  if (request.code == ErrorCode::Ok) return {};
  const std::span<const uint8_t> text = request.response.bytes().subspan(request.json_bytes_out);
  return make_error(request.code,
                    plan_.steps[step].text + ": " + std::string(text.begin(), text.end()));
}

void StepRuns::release() {
  for (const std::unique_ptr<Run>& run : runs_) {
    run->call.release();
    run->memory.arena.reset();
  }
}

void StepRuns::wake() {
  const std::lock_guard lock(mutex_);
  is_woken_ = true;
  woken_.notify_one();
}

void StepRuns::end_run() { wake(); }

}  // namespace serval
