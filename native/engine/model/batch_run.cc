// Runs batches: gather, run, scatter, and recovery from failures. Hot path (queued requests).
// Thread: instance.
#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "engine/model/batcher.h"
#include "engine/model/queued.h"
#include "engine/model/refusals.h"
#include "engine/model/running_scope.h"
#include "engine/ragged/ragged_model.h"
#include "engine/request/catch_exceptions.h"
#include "engine/request/home.h"
#include "engine/shm/tensors.h"

namespace serval {

namespace {

// Returns the memory in which a batch for a GPU is gathered; null: the batch's own memory.
InputPlaces* places_of(Replica& replica, BackendScratch& scratch) {
  return replica.backend().info().on_gpu ? &scratch : nullptr;
}

}  // namespace

Status Batcher::run_backend(Member& like, std::span<const TensorView> inputs, Replica& replica,
                            BackendScratch& scratch, const CancelFlag* cancel, uint64_t bytes_held,
                            RaggedModel* joined) {
  RunOptions options = run_options(like.decoded, cancel, like.request->home->settings());
  options.takes_turns = true;
  options.output_bytes_max -= std::min(options.output_bytes_max, bytes_held);
  Status ran = catch_exceptions([&] {
    if (joined != nullptr) {
      return joined->run_joined(inputs, like.output_indices, scratch, options);
    }
    return replica.backend().run(like.decoded.signature_index, inputs, like.output_indices, scratch,
                                 options);
  });
  like.loss = ran.ok() ? Loss::None : scratch.loss();
  if (ran.ok() || cancel == nullptr || !cancel->cancelled()) return ran;
  return ended_error(model_, cancel->cause());
}

// Runs a request that is larger than a batch piece by piece and concatenates the outputs.
Status Batcher::run_pieces(Batch& batch, Member& member, Replica& replica) {
  const BatchPolicy& policy = model_.spec().batch;
  if (member.rows / policy.rows_max >= kPiecesMax) {
    return invalid_argument("the request has " + std::to_string(member.rows) +
                            " rows, which is over the limit of " + std::to_string(kPiecesMax) +
                            " batches of " + std::to_string(policy.rows_max));
  }
  member.pieces.begin(member.rows, model_.table() != nullptr);
  uint64_t bytes_held = 0;
  for (uint64_t at = 0; at < member.rows; at += policy.rows_max) {
    const auto first = static_cast<uint32_t>(at);
    const uint32_t rows = std::min(policy.rows_max, member.rows - first);
    const uint32_t padded = padded_rows(policy, rows);
    const BatchPart part{member.decoded.inputs, first, rows};
    std::unique_ptr<BackendScratch> scratch = replica.take_scratch();
    batch.memory.places = places_of(replica, *scratch);
    Status done = gather({&part, 1}, padded, policy.pad_inner, batch.memory, batch.inputs);
    if (!done.ok()) {
      replica.give_scratch(std::move(scratch));
      return done;
    }
    const Stopwatch watch;
    done =
        run_backend(member, batch.inputs, replica, *scratch, &member.request->cancel, bytes_held);
    member.times.infer_ns += watch.elapsed_ns();
    if (done.ok() && !outputs_have_rows(scratch->outputs(), padded)) {
      done = make_error(ErrorCode::BackendFailed,
                        "the request was run in pieces, and an output's first dimension is not "
                        "the piece's number of rows");
    }
    if (done.ok()) {
      batch.slices.clear();
      for (const TensorView& output : scratch->outputs()) {
        batch.slices.push_back(slice_rows(output, 0, rows));
        bytes_held += batch.slices.back().bytes;
      }
      done = member.pieces.append(batch.slices, rows);
      if (model_.services().records) {
        model_.stats().record(BatchRecord{rows, padded - rows, 0, watch.elapsed_ns(), 0});
      }
    }
    scratch->release_outputs();
    replica.give_scratch(std::move(scratch));
    if (!done.ok()) return done;
  }
  const std::span<const TensorView> outputs = member.pieces.finish();
  member.outputs.assign(outputs.begin(), outputs.end());
  return {};
}

// Runs one request unchanged: the only one of its batch, one larger than any batch, or one
// separated from neighbours that failed with it.
void Batcher::run_alone(Batch& batch, Member& member, Replica& replica) {
  const BatchPolicy& policy = model_.spec().batch;
  Request& request = *member.request;
  std::unique_ptr<BackendScratch> scratch;
  std::optional<BatchRecord> ran;
  Status done;
  const RetryTurn turn(replica.backend(), request.died, &request.cancel);
  if (policy.split && member.joinable && member.rows > policy.rows_max) {
    done = run_pieces(batch, member, replica);
  } else {
    const uint32_t padded = member.joinable ? padded_rows(policy, member.rows) : member.rows;
    std::span<const TensorView> inputs = member.decoded.inputs;
    scratch = replica.take_scratch();
    if (padded != member.rows) {
      const BatchPart part{member.decoded.inputs, 0, member.rows};
      batch.memory.places = places_of(replica, *scratch);
      done = gather({&part, 1}, padded, policy.pad_inner, batch.memory, batch.inputs);
      inputs = batch.inputs;
    }
    const Stopwatch watch;
    if (done.ok()) done = run_backend(member, inputs, replica, *scratch, &request.cancel);
    uint32_t padding = padded - member.rows;
    if (done.ok() && padding != 0 && !outputs_have_rows(scratch->outputs(), padded)) {
      // The padding cannot be removed from the outputs: run the request unpadded.
      padding = 0;
      scratch->release_outputs();
      done = run_backend(member, member.decoded.inputs, replica, *scratch, &request.cancel);
    }
    member.times.infer_ns = watch.elapsed_ns();
    if (done.ok()) {
      const std::span<const TensorView> outputs = scratch->outputs();
      member.outputs.assign(outputs.begin(), outputs.end());
      if (padding != 0) {
        for (TensorView& output : member.outputs) output = slice_rows(output, 0, member.rows);
      }
      ran = BatchRecord{member.rows, padding, member.times.input_ns, member.times.infer_ns, 0};
    }
  }
  model_.count_run(member.times.infer_ns);
  if (!done.ok()) done = blame_shared(member.decoded, std::move(done));
  if (done.ok()) {
    const Stopwatch watch;
    done = catch_exceptions([&] {
      store_outputs(member);
      return encode_answer(request.protocol, model_, member.decoded, member.output_indices,
                           member.outputs, request.home->settings(), member.arena, request);
    });
    member.times.output_ns = watch.elapsed_ns();
  }
  if (ran.has_value() && model_.services().records) {
    ran->output_ns = member.times.output_ns;
    model_.stats().record(*ran);
  }
  if (model_.policy().measures()) {
    model_.policy().record(request.protocol, request.bytes().size(),
                           member.times.input_ns + member.times.infer_ns + member.times.output_ns);
  }
  if (scratch != nullptr) {
    scratch->release_outputs();
    replica.give_scratch(std::move(scratch));
  }
  end(batch, member, std::move(done));
}

// Hot path: encode. Each request's rows of the outputs, as views, into its answer.
void Batcher::scatter(Batch& batch, const BackendScratch& scratch, const ServeTimes& shared,
                      const RaggedModel* ragged) {
  batch.begins.clear();
  uint32_t first = 0;
  for (Member* member : batch.members) {
    const Stopwatch watch;
    Request& request = *member->request;
    member->outputs.clear();
    if (ragged != nullptr) {
      ragged->split({member->decoded.inputs, 0, member->rows}, member->output_indices,
                    scratch.outputs(), batch.begins, member->outputs);
    } else {
      for (const TensorView& output : scratch.outputs()) {
        member->outputs.push_back(slice_rows(output, first, member->rows));
      }
    }
    first += member->rows;
    Status done;
    if (request.cancel.cancelled()) {
      done = ended_error(model_, request.cancel.cause());
    } else {
      done = catch_exceptions([&] {
        store_outputs(*member);
        return encode_answer(request.protocol, model_, member->decoded, member->output_indices,
                             member->outputs, request.home->settings(), member->arena, request);
      });
    }
    member->times.input_ns += shared.input_ns;
    member->times.infer_ns = shared.infer_ns;
    member->times.output_ns = watch.elapsed_ns();
    finish(*member, std::move(done), batch.finished);
  }
}

// Stores the outputs of a run in the response cache, if the model has one.
void Batcher::store_outputs(Member& member) {
  member.cache.store(member.outputs);
  member.times.cache_ns = member.cache.spent_ns();
}

// Records the batch in its traced requests, so that their spans are linked.
void Batcher::tag_traces(const Batch& batch) {
  TraceBatch tag;
  for (const Member* member : batch.members) {
    Trace* trace = member->request->trace.get();
    if (trace == nullptr) continue;
    if (tag.requests == 0) {
      make_trace_id(tag.trace_id);
      make_span_id(tag.span_id);
      tag.requests = static_cast<uint32_t>(batch.members.size());
      tag.rows = batch.rows;
    }
    trace->batch = tag;
  }
}

// Hot path: run. False when the batch as a whole failed and nobody was answered: each is then run
// by itself.
bool Batcher::run_batched(Batch& batch, Replica& replica) {
  const BatchPolicy& policy = model_.spec().batch;
  const Stopwatch watch;
  batch.parts.clear();
  for (const Member* member : batch.members) {
    batch.parts.push_back({member->decoded.inputs, 0, member->rows});
  }
  const uint32_t padded = padded_rows(policy, batch.rows);
  std::unique_ptr<BackendScratch> scratch = replica.take_scratch();
  batch.memory.places = places_of(replica, *scratch);
  RaggedModel* const ragged =
      model_.is_ragged() ? &static_cast<RaggedModel&>(replica.backend()) : nullptr;
  const Status gathered =
      ragged == nullptr ? gather(batch.parts, padded, policy.pad_inner, batch.memory, batch.inputs)
                        : ragged->join(batch.parts, *scratch, batch.inputs);
  if (!gathered.ok()) {
    replica.give_scratch(std::move(scratch));
    return false;
  }
  ServeTimes shared;
  shared.input_ns = watch.elapsed_ns();
  Status ran;
  {
    const BatchRun run(batch.requests);
    ran = run_backend(*batch.members[0], batch.inputs, replica, *scratch, run.flag(), 0, ragged);
  }
  const uint64_t ran_ns = watch.elapsed_ns();
  shared.infer_ns = ran_ns - shared.input_ns;
  model_.count_run(shared.infer_ns);
  const std::span<const uint32_t> wanted = batch.members[0]->output_indices;
  const bool has_rows =
      ran.ok() && (ragged == nullptr ? outputs_have_rows(scratch->outputs(), padded)
                                     : ragged->can_split(batch.parts, wanted, scratch->outputs()));
  // A model whose outputs have no rows runs requests one by one from now on. (Outputs of a ragged
  // batch may be wrong for one of its requests only.)
  if (ran.ok() && !has_rows && ragged == nullptr) batches_.store(false, std::memory_order_relaxed);
  if (has_rows) {
    tag_traces(batch);
    scatter(batch, *scratch, shared, ragged);
    if (model_.services().records) {
      model_.stats().record(BatchRecord{batch.rows, padded - batch.rows, shared.input_ns,
                                        shared.infer_ns, watch.elapsed_ns() - ran_ns});
    }
  }
  scratch->release_outputs();
  replica.give_scratch(std::move(scratch));
  const Loss loss = batch.members[0]->loss;
  if (!ran.ok() && loss != Loss::None) {
    for (Member* member : batch.members) {
      member->loss = loss;
      const CancelFlag& cancel = member->request->cancel;
      end(batch, *member,
          cancel.cancelled() ? ended_error(model_, cancel.cause()) : Error(ran.error()));
    }
    return true;
  }
  return has_rows;
}

// Runs a batch. Hands no request back before it returns, so that the requests exist while they
// count as running.
void Batcher::run_batch(Batch& batch, size_t replica_index) {
  const ReplicaUse use(model_, replica_index);
  Replica& replica = model_.replica(use.index());
  batch.finished.clear();
  // Requests whose client left while the batch was formed are not run; the others do not wait for
  // them.
  std::vector<Member*> gone;
  std::erase_if(batch.members, [&](Member* member) {
    if (!member->request->cancel.cancelled()) return false;
    batch.rows -= member->rows;
    finish(*member, client_left(), batch.finished);
    gone.push_back(member);
    return true;
  });
  for (Member* member : gone) give_member(member);
  batch.requests.clear();
  for (const Member* member : batch.members) batch.requests.push_back(member->request);
  const RunningScope running(model_, batch.requests);
  RunTurn turn(model_.turns());
  if (turn.needed()) {
    const BatchRun waits(batch.requests);
    const uint64_t waited_ns = turn.wait(waits.flag(), use.index());
    for (Member* member : batch.members) member->queue_ns += waited_ns;
  }
  if (batch.members.size() > 1 && run_batched(batch, replica)) return;
  for (Member* member : batch.members) run_alone(batch, *member, replica);
}

// Releases memory that one large batch needed.
void Batcher::trim(Batch& batch) {
  for (ByteBuffer& bytes : batch.memory.bytes) bytes.shrink(kGatherKeepBytes);
  for (ByteBuffer& bytes : batch.memory.states) bytes.shrink(kGatherKeepBytes);
  for (ByteBuffer& bytes : batch.memory.lengths) bytes.shrink(kGatherKeepBytes);
}

}  // namespace serval
