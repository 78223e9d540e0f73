// Runs batches of sequences: gathers inputs, controls and states, runs, keeps the new states. Hot
// path (models with sequences). Thread: instance.
#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "engine/cache/cached_outputs.h"
#include "engine/model/coding.h"
#include "engine/model/refusals.h"
#include "engine/model/running_scope.h"
#include "engine/request/catch_exceptions.h"
#include "engine/request/home.h"
#include "engine/sequence/loop.h"
#include "engine/shm/tensors.h"

namespace serval {

namespace {

InputPlaces* places_for(Replica& replica, BackendScratch& scratch) {
  return replica.backend().info().on_gpu ? &scratch : nullptr;
}

}  // namespace

// Sets the inputs of a member.
void SequenceLoop::begin_member(Member& member) const {
  // Which step is the last one is known after it.
  const bool ends = member.end && !is_iterative_;
  shape_.set_controls({true, member.start, ends, &member.sequence->id}, member.row);
  shape_.set_states(states_of(member), member.row);
  shape_.arrange(member.decoded.inputs, member.row.views, member.inputs);
}

// The outputs that any of the members wants, and the states.
void SequenceLoop::want_outputs(Batch& batch, std::span<Member* const> members) const {
  const std::span<const uint32_t> states = shape_.state_outputs();
  batch.wanted.assign(states.begin(), states.end());
  if (is_iterative_ && std::ranges::find(states, shape_.done_output()) == states.end()) {
    batch.wanted.push_back(shape_.done_output());
  }
  for (const Member* member : members) {
    if (member == nullptr) continue;
    for (const uint32_t visible : member->output_indices) {
      const uint32_t index = shape_.output_of(visible);
      if (std::ranges::find(batch.wanted, index) == batch.wanted.end()) {
        batch.wanted.push_back(index);
      }
    }
  }
}

Status SequenceLoop::run_backend(Batch& batch, Member& like, std::span<const TensorView> inputs,
                                 Replica& replica, BackendScratch& scratch,
                                 const CancelFlag* cancel, uint64_t& ran_ns) {
  const Stopwatch watch;
  const RunOptions options = run_options(like.decoded, cancel, like.request->home->settings());
  Status ran = catch_exceptions(
      [&] { return model_of(replica).run_whole(inputs, batch.wanted, scratch, options); });
  ran_ns = watch.elapsed_ns();
  model_.count_run(ran_ns);
  if (ran.ok() || !cancel->cancelled()) return ran;
  return ended_error(model_, cancel->cause());
}

// Counts a step of an iterative request, which repeats unless `done` is true. Errors:
// backend_failed: it was the last step that is allowed.
Status SequenceLoop::count_step(Member& member, const TensorView& done) const {
  const Result<bool> is_done = shape_.is_done(done);
  if (!is_done.ok()) return is_done.error();
  member.repeats = !is_done.value();
  ++member.steps;
  const SequenceSpec& spec = *model_.spec().sequence;
  const uint32_t most = std::max(1u, spec.steps_max);
  if (!member.repeats || member.steps < most) return {};
  return make_error(ErrorCode::BackendFailed,
                    "model '" + model_.spec().name + "': the request is not done after " +
                        std::to_string(most) + " steps, the most that serval.steps_max allows: '" +
                        spec.done_output + "' is false");
}

// Ends a step; answers the request unless it repeats.
void SequenceLoop::end_step(Member& member, Status status, std::vector<Request*>& finished) {
  member.ok = status.ok();
  member.repeats = member.repeats && member.ok;
  if (!member.repeats) finish(member, std::move(status), finished);
}

// Keeps the new states of a row and encodes its outputs unless its request repeats. `sliced`: the
// outputs have several rows.
Status SequenceLoop::take_outputs(Batch& batch, Member& member, std::span<const TensorView> outputs,
                                  uint32_t row, bool sliced) {
  const auto row_of = [&](size_t at) {
    return sliced ? slice_rows(outputs[at], row, 1) : outputs[at];
  };
  const size_t states = shape_.state_outputs().size();
  if (is_iterative_) {
    const auto done = std::ranges::find(batch.wanted, shape_.done_output());
    Status counted = count_step(member, row_of(static_cast<size_t>(done - batch.wanted.begin())));
    if (!counted.ok()) return counted;
  }
  std::shared_ptr<const CachedOutputs> kept;
  if (states != 0 && (!member.end || member.repeats)) {
    batch.states.clear();
    for (size_t i = 0; i < states; ++i) batch.states.push_back(row_of(i));
    kept = CachedOutputs::copy(batch.states, *model_.services().budget);
    if (kept == nullptr) {
      return make_error(ErrorCode::MemoryFull, "model '" + model_.spec().name +
                                                   "': no memory for the state of the sequence");
    }
  }
  if (member.repeats) {
    member.sequence->state = std::move(kept);
    return {};
  }
  member.outputs.clear();
  for (const uint32_t visible : member.output_indices) {
    const auto found = std::ranges::find(batch.wanted, shape_.output_of(visible));
    member.outputs.push_back(row_of(static_cast<size_t>(found - batch.wanted.begin())));
  }
  Request& request = *member.request;
  Status encoded = encode_answer(request.protocol, model_, member.decoded, member.output_indices,
                                 member.outputs, request.home->settings(), member.arena, request);
  if (encoded.ok()) member.sequence->state = std::move(kept);
  return encoded;
}

// Hot path: run (sequences). False: the batch failed as a whole and nobody was answered.
bool SequenceLoop::run_together(Batch& batch, Replica& replica) {
  const Stopwatch watch;
  const auto head = std::ranges::find_if(batch.members, [](const Member* one) { return one; });
  Member& like = **head;
  shape_.set_controls({}, batch.empty_row);
  shape_.set_states({}, batch.empty_row);
  const size_t states = shape_.state_outputs().size();
  // A row without a request has the tensors of another one, and its own controls.
  const std::span<const TensorView> like_hidden = like.row.views;
  std::ranges::copy(like_hidden.last(states),
                    batch.empty_row.views.end() - static_cast<std::ptrdiff_t>(states));
  shape_.arrange(like.decoded.inputs, batch.empty_row.views, batch.empty_inputs);
  batch.parts.clear();
  for (const Member* member : batch.members) {
    const std::span<const TensorView> inputs =
        member == nullptr ? batch.empty_inputs : member->inputs;
    batch.parts.push_back({inputs, 0, 1});
  }
  const auto rows = static_cast<uint32_t>(batch.members.size());
  std::unique_ptr<BackendScratch> scratch = replica.take_scratch();
  batch.memory.places = places_for(replica, *scratch);
  Status ran = gather(batch.parts, rows, false, batch.memory, batch.inputs);
  const uint64_t input_ns = watch.elapsed_ns();
  uint64_t infer_ns = 0;
  if (ran.ok()) {
    want_outputs(batch, batch.members);
    const BatchRun run(batch.requests);
    ran = run_backend(batch, like, batch.inputs, replica, *scratch, run.flag(), infer_ns);
  }
  const bool has_rows = ran.ok() && outputs_have_rows(scratch->outputs(), rows);
  for (uint32_t row = 0; has_rows && row < rows; ++row) {
    Member* const member = batch.members[row];
    if (member == nullptr) continue;
    const Stopwatch encoding;
    Status done = catch_exceptions([&]() -> Status {
      const CancelFlag& cancel = member->request->cancel;
      if (cancel.cancelled()) return ended_error(model_, cancel.cause());
      return take_outputs(batch, *member, scratch->outputs(), row, true);
    });
    member->times.input_ns += input_ns;
    member->times.infer_ns += infer_ns;
    member->times.output_ns += encoding.elapsed_ns();
    end_step(*member, std::move(done), batch.finished);
  }
  if (has_rows && model_.services().records) {
    const auto members = static_cast<uint32_t>(batch.requests.size());
    model_.stats().record(BatchRecord{members, rows - members, input_ns, infer_ns,
                                      watch.elapsed_ns() - input_ns - infer_ns});
  }
  // A request that may have ended the model's process does not run again.
  const bool lost = !ran.ok() && scratch->loss() != Loss::None;
  scratch->release_outputs();
  replica.give_scratch(std::move(scratch));
  if (lost) fail(batch, ran.error());
  return has_rows || lost;
}

void SequenceLoop::fail(Batch& batch, const Error& error) {
  for (Member* member : batch.members) {
    if (member == nullptr) continue;
    const CancelFlag& cancel = member->request->cancel;
    finish(*member, cancel.cancelled() ? ended_error(model_, cancel.cause()) : Error(error),
           batch.finished);
  }
}

// Runs one request: the only one of its batch, or one separated from others that failed with it.
void SequenceLoop::run_alone(Batch& batch, Member& member, Replica& replica) {
  Request& request = *member.request;
  std::unique_ptr<BackendScratch> scratch = replica.take_scratch();
  Member* const one = &member;
  want_outputs(batch, {&one, 1});
  uint64_t infer_ns = 0, output_ns = 0;
  Status done =
      run_backend(batch, member, member.inputs, replica, *scratch, &request.cancel, infer_ns);
  if (!done.ok() && member.sequence->state != nullptr) {
    done = shape_.blame_states(states_of(member), std::move(done));
  }
  if (!done.ok()) done = blame_shared(member.decoded, std::move(done));
  if (done.ok()) {
    const Stopwatch watch;
    done =
        catch_exceptions([&] { return take_outputs(batch, member, scratch->outputs(), 0, false); });
    output_ns = watch.elapsed_ns();
    if (model_.services().records) {
      model_.stats().record(BatchRecord{1, 0, member.times.input_ns, infer_ns, output_ns});
    }
  }
  member.times.infer_ns += infer_ns;
  member.times.output_ns += output_ns;
  scratch->release_outputs();
  replica.give_scratch(std::move(scratch));
  end_step(member, std::move(done), batch.finished);
}

void SequenceLoop::run(Batch& batch, size_t replica_index) {
  batch.members.clear();
  batch.requests.clear();
  for (SequenceEntry* entry : batch.chosen.rows) {
    auto* const member = static_cast<Member*>(entry);
    batch.members.push_back(member);
    if (member == nullptr) continue;
    batch.requests.push_back(member->request);
    member->ok = member->repeats = false;
    if (member->steps == 0) {
      member->queue_ns = member->request->queued.elapsed_ns() - member->times.input_ns;
    }
    begin_member(*member);
  }
  const ReplicaUse use(model_, replica_index);
  Replica& replica = model_.replica(use.index());
  const RunningScope running(model_, batch.requests);
  RunTurn turn(model_.turns());
  if (turn.needed()) {
    const BatchRun waits(batch.requests);
    const uint64_t waited_ns = turn.wait(waits.flag(), use.index());
    for (Member* member : batch.members) {
      if (member != nullptr) member->queue_ns += waited_ns;
    }
  }
  if (batch.members.size() > 1 && run_together(batch, replica)) return;
  for (Member* member : batch.members) {
    if (member == nullptr) continue;
    if (member->request->cancel.cancelled()) {
      finish(*member, ended_error(model_, member->request->cancel.cause()), batch.finished);
    } else {
      run_alone(batch, *member, replica);
    }
  }
}

}  // namespace serval
