// Serves one request: decoding, the response cache, the run, encoding. Hot path. Thread: the
// listener's (inline) or an instance's.
#include "engine/model/serve.h"

#include "base/memory/tensor_copy.h"
#include "engine/model/queued.h"
#include "engine/model/refusals.h"
#include "engine/model/step_call.h"
#include "engine/request/catch_exceptions.h"
#include "engine/request/outcome.h"
#include "engine/shm/tensors.h"

namespace serval {

namespace {

// Hot path: run. Runs the model; the outputs live in the scratch until it is released.
Status run(const ServeInput& input, Replica& replica, const Limits& limits, ServeMemory& memory,
           BackendScratch& scratch) {
  const DecodedRequest& decoded = memory.decoded;
  memory.output_indices.clear();
  for (const RequestedOutput& output : decoded.outputs) {
    memory.output_indices.push_back(output.index);
  }
  RunOptions options = run_options(decoded, input.cancel, limits);
  options.takes_turns = input.takes_turns;
  Status ran = replica.backend().run(decoded.signature_index, decoded.inputs, memory.output_indices,
                                     scratch, options);
  if (!ran.ok()) return ran;
  const std::span<const TensorView> outputs = scratch.outputs();
  memory.outputs.assign(outputs.begin(), outputs.end());
  return {};
}

bool was_ended(const ServeInput& input) {
  return input.cancel != nullptr && input.cancel->cancelled();
}

bool was_displaced(const ServeInput& input) {
  return input.cancel != nullptr && input.cancel->cause() == EndCause::Displaced;
}

// Whether a request is not answered here: it waits for an equal one, or may only be answered from
// the cache, which does not have its outputs or has large ones.
bool is_left(const ServeInput& input, const CacheTurn& cache) {
  const CacheTurn::State state = cache.state();
  if (state == CacheTurn::State::Wait) return true;
  if (input.cache != CacheUse::HitsOnly) return false;
  return state != CacheTurn::State::Hit || cache.shared_outputs()->bytes() > kCachedInlineBodyMax;
}

// Copies the inputs of an ensemble that are in shared memory: its steps may use the response cache,
// and must not see changes of the client between the key and the run.
Status copy_shared_inputs(const Model& model, Arena& arena, DecodedRequest& decoded) {
  if (decoded.shared.empty() || model.spec().ensemble.empty() ||
      model.services().response_cache == nullptr) {
    return {};
  }
  for (TensorView& input : decoded.inputs) {
    if (input.dtype == DType::Invalid || input.device != nullptr) continue;
    auto* place = arena.allocate_array<uint8_t>(copy_bytes(input));
    if (place == nullptr)
      return make_error(ErrorCode::MemoryFull,
                        "no memory for a copy of '" + model.spec().name + "'s inputs");
    copy_tensor(input, place);
  }
  return {};
}

// Hands a request back that is not run here. On an instance's thread it waits for an equal one.
Error leave(const ServeInput& input, const Model& model, const CacheTurn& cache, Request& out) {
  if (input.displace != nullptr) {
    input.displace->cancel(EndCause::Displaced);
  } else {
    out.equal_key = cache.key();
    out.waits_for_equal = true;
  }
  return ended_error(model, EndCause::Displaced);
}

// Returns the memory of a run; nullptr: a run on this listener's thread would have to make it,
// which takes long on a device.
std::unique_ptr<BackendScratch> scratch_for(const ServeInput& input, Model& model,
                                            Replica& replica) {
  const bool spare_only = input.displace != nullptr && model.policy().on_device();
  return spare_only ? replica.take_spare() : replica.take_scratch();
}

// Answers a request from the response cache.
Status encode_cached(const ServeInput& input, const Model& model, const ServeSettings& settings,
                     ServeMemory& memory, Request& out) {
  const Stopwatch watch;
  memory.output_indices.clear();
  for (const RequestedOutput& output : memory.decoded.outputs) {
    memory.output_indices.push_back(output.index);
  }
  const std::span<const TensorView> outputs = memory.cache.outputs();
  memory.outputs.assign(outputs.begin(), outputs.end());
  Status done = encode_answer(input.protocol, model, memory.decoded, memory.output_indices,
                              memory.outputs, settings, memory.arena, out);
  memory.times.output_ns = watch.elapsed_ns();
  if (out.step != nullptr && out.step->borrows) out.step->keep(memory.cache.shared_outputs());
  return done;
}

// Runs the four steps.
Status serve_steps(const ServeInput& input, Model& model, size_t replica_index,
                   const ServeSettings& settings, ServeMemory& memory, Request& out) {
  const Stopwatch watch;
  ServeTimes& times = memory.times;
  Status done = decode_request(input, model, settings, memory.arena, memory.decoded);
  times.input_ns = watch.elapsed_ns();
  if (!done.ok()) return done;
  done = copy_shared_inputs(model, memory.arena, memory.decoded);
  if (!done.ok()) return done;
  times.rows = model.rows_of(memory.decoded.inputs);
  out.admission.charge_rows(times.rows);
  if (model.cache() != nullptr) {
    memory.cache.begin(model.cache(), memory.decoded, input.cache);
    if (is_left(input, memory.cache)) return leave(input, model, memory.cache, out);
    if (memory.cache.state() == CacheTurn::State::Hit) {
      return encode_cached(input, model, settings, memory, out);
    }
  }
  const Stopwatch run_watch;
  Replica& replica = model.replica(replica_index);
  std::unique_ptr<BackendScratch> scratch = scratch_for(input, model, replica);
  if (scratch == nullptr) {
    input.displace->cancel(EndCause::Displaced);
    return ended_error(model, EndCause::Displaced);
  }
  {
    const RetryTurn turn(replica.backend(), out.died, input.cancel);
    done = run(input, replica, settings, memory, *scratch);
  }
  times.infer_ns = run_watch.elapsed_ns();
  if (!done.ok()) {
    memory.loss = scratch->loss();
    done = was_ended(input) ? Status(ended_error(model, input.cancel->cause()))
                            : blame_shared(memory.decoded, std::move(done));
  }
  model.count_run(times.infer_ns);
  if (done.ok()) {
    memory.cache.store(memory.outputs);
    const Stopwatch encode_watch;
    done = encode_answer(input.protocol, model, memory.decoded, memory.output_indices,
                         memory.outputs, settings, memory.arena, out);
    times.output_ns = encode_watch.elapsed_ns();
    if (model.services().records) {
      model.stats().record(
          BatchRecord{times.rows, 0, times.input_ns, times.infer_ns, times.output_ns});
    }
  }
  if (done.ok() && out.step != nullptr && out.step->borrows) {
    out.step->keep(replica, std::move(scratch));
    return done;
  }
  scratch->release_outputs();
  replica.give_scratch(std::move(scratch));
  return done;
}

CacheResult result_of(CacheTurn::State state) {
  switch (state) {
    case CacheTurn::State::Hit: return CacheResult::Hit;
    case CacheTurn::State::Lead:
    case CacheTurn::State::Miss: return CacheResult::Miss;
    default: return CacheResult::None;
  }
}

}  // namespace

void note_cache(const CacheTurn& cache, ServeTimes& times) {
  times.cached = result_of(cache.state());
  times.cache_ns = cache.spent_ns();
}

bool serve(const ServeInput& input, Model& model, size_t replica, uint64_t queue_ns,
           const ServeSettings& settings, ServeMemory& memory, Request& out) {
  memory.arena.reset();
  memory.decoded.clear();
  memory.times = ServeTimes();
  memory.loss = Loss::None;
  out.waits_for_equal = false;
  out.code = ErrorCode::Ok;
  out.response.clear();
  out.json_bytes_out = 0;
  const Stopwatch watch;
  Status done =
      catch_exceptions([&] { return serve_steps(input, model, replica, settings, memory, out); });
  const uint64_t service_ns = watch.elapsed_ns();
  const bool is_run =
      memory.cache.state() != CacheTurn::State::Hit && !is_left(input, memory.cache);
  note_cache(memory.cache, memory.times);
  memory.cache.end();
  bool displaced = !done.ok() && was_displaced(input);
  if (displaced && memory.loss == Loss::Died) {
    // It was to continue in the queue, but its process ended first: it was in flight.
    displaced = false;
    done = model.outage();
  }
  const CancelFlag* const cancel = was_displaced(input) ? nullptr : input.cancel;
  if (out.waits_for_equal || (!displaced && returns_to_queue(model, out, memory.loss, cancel))) {
    memory.arena.reset();
    memory.decoded.shared.clear();
    return false;
  }
  if (is_run && model.policy().measures()) {
    model.policy().record(input.protocol, input.body.size(), service_ns);
  }
  if (!displaced) {
    const ErrorCode code = done.ok() ? ErrorCode::Ok : done.error().code;
    if (!done.ok()) store_error(input.protocol, input.body, done.error(), out);
    const ServedRequest served{input.protocol,
                               code,
                               input.body.size(),
                               out.response.size(),
                               queue_ns + service_ns,
                               {memory.decoded.id, queue_ns, memory.times},
                               done.ok() ? std::string_view() : done.error().message,
                               out.trace.get(),
                               input.step == nullptr};
    record_request(model, served);
    if (input.task == nullptr && served.logged)
      log_request(model, served, input.body, input.json_bytes, out);
  }
  if (input.step == nullptr || !input.step->borrows) memory.arena.reset();
  memory.decoded.shared.clear();  // regions that were unregistered meanwhile are released now
  return !displaced;
}

}  // namespace serval
