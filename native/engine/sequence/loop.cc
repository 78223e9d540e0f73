// Takes requests of sequences from their model's queue, and lets the scheduler choose batches. Hot
// path (models with sequences). Thread: instance.
#include "engine/sequence/loop.h"

#include <algorithm>

#include "base/clock.h"
#include "codec/json/echo.h"
#include "engine/cache/cached_outputs.h"
#include "engine/model/queued.h"
#include "engine/model/refusals.h"
#include "engine/request/catch_exceptions.h"
#include "engine/request/completion.h"
#include "engine/request/home.h"

namespace serval {

namespace {

// The most requests taken from the queue at a time.
constexpr size_t kTakenMax = 256;
// How long an ended request may stay among those that wait for their sequence.
constexpr uint64_t kSweepNs = 50 * kNsPerMs;
constexpr size_t kSequenceIdBytesMax = 128;  // Source: Triton.
constexpr size_t kSpareMembers = 16;

bool is_v2_request(const Request& request) {
  return request.step == nullptr &&
         (request.protocol == Protocol::V2Rest || request.protocol == Protocol::V2Grpc ||
          request.protocol == Protocol::V2GrpcStream);
}

std::string id_text(const SequenceId& id) {
  return id.is_text ? "'" + echo_text(id.text) + "'" : std::to_string(id.number);
}

SequenceRules rules_of(const Model& model) {
  const ModelSpec& spec = model.spec();
  const SequenceSpec& sequence = *spec.sequence;
  SequenceRules rules;
  rules.strategy = sequence.strategy;
  rules.batch = spec.batch;
  rules.batch.rows_max = spec.batch_dim ? std::max(1u, spec.batch.rows_max) : 1;
  rules.idle_ns = std::min(sequence.idle_us, kTimeoutUsMax) * 1000;
  rules.rows_min = sequence.rows_min;
  const auto instances = static_cast<uint32_t>(
      std::max<size_t>(model.replica_count(), static_cast<size_t>(std::max(1, spec.instances))));
  if (sequence.strategy == SequenceStrategy::Direct) {
    rules.groups = instances;
    rules.slots = rules.batch.rows_max;
  } else {
    rules.slots = std::max(1u, sequence.slots) * instances;
  }
  return rules;
}

}  // namespace

Status add_sequences(const ModelSpec& spec, std::vector<std::shared_ptr<BackendModel>>& replicas) {
  if (!spec.sequence) return {};
  for (std::shared_ptr<BackendModel>& replica : replicas) {
    Result<std::shared_ptr<SequenceModel>> made = SequenceModel::make(spec, std::move(replica));
    if (!made.ok()) return std::move(made.error());
    replica = std::move(made.value());
  }
  return {};
}

void set_sequence_loop(Model& model) {
  if (!model.spec().sequence) return;
  model.queue().keep_order();
  model.set_loop(std::make_unique<SequenceLoop>(model, rules_of(model)));
}

SequenceLoop::SequenceLoop(Model& model, SequenceRules rules)
    : model_(model),
      shape_(model_of(model.replica(0))),
      is_direct_(rules.strategy == SequenceStrategy::Direct),
      is_iterative_(shape_.done_output() != SequenceModel::kNoOutput),
      scheduler_(std::move(rules)),
      delivery_(model.spec().batch.preserve_ordering) {}

SequenceLoop::Member* SequenceLoop::take_member() {
  {
    std::lock_guard lock(pool_mutex_);
    if (!spare_.empty()) {
      Member* const member = spare_.back().release();
      spare_.pop_back();
      return member;
    }
  }
  auto member = std::make_unique<Member>();
  member->arena.charge_to(model_.services().budget);
  return member.release();
}

// Frees it after a burst: each keeps memory for decoded requests.
void SequenceLoop::give_member(Member* member) {
  std::unique_ptr<Member> owned(member);
  member->request = nullptr;
  member->sequence = nullptr;
  member->arena.reset();
  member->decoded.clear();
  member->outputs.clear();
  std::lock_guard lock(pool_mutex_);
  if (spare_.size() < kSpareMembers) spare_.push_back(std::move(owned));
}

void SequenceLoop::retire() {
  retiring_.store(true, std::memory_order_release);
  model_.queue().nudge();
  model_.attend();
}

// Caller holds mutex_.
void SequenceLoop::publish_counts() {
  active_.store(scheduler_.active(), std::memory_order_relaxed);
  backlog_.store(scheduler_.backlog(), std::memory_order_relaxed);
  requests_.store(scheduler_.waiting_requests(), std::memory_order_relaxed);
}

// Stores the outcome for the listener's thread. Does not hand the request back yet.
void SequenceLoop::finish(Member& member, Status status, std::vector<Request*>& finished) {
  const Progress progress{member.decoded.id, member.queue_ns, member.times};
  end_request(model_, *member.request, std::move(status), &progress);
  finished.push_back(member.request);
}

std::span<const TensorView> SequenceLoop::states_of(const Member& member) const {
  const CachedOutputs* const state = member.sequence->state.get();
  return member.start || state == nullptr ? shape_.initial_states() : state->outputs();
}

// Reads the parameters of the request's sequence; an iterative one has none of them.
Status SequenceLoop::read_sequence(Member& member, SequenceId& id) const {
  using Id = SequenceParameters::Id;
  const std::string of_model = "inference request to model '" + model_.spec().name + "' ";
  if (is_iterative_) {
    member.start = member.end = true;
    return check_row(member, of_model);
  }
  const SequenceParameters& from = member.decoded.sequence;
  if (from.id == Id::Wrong) {
    return invalid_argument(
        "parameter 'sequence_id': expected an integer of 0 or more, or a string");
  }
  if (from.wrong_start || from.wrong_end) {
    return invalid_argument(std::string("parameter '") +
                            (from.wrong_start ? "sequence_start" : "sequence_end") +
                            "': expected true or false");
  }
  if (from.id == Id::None) {
    return invalid_argument(of_model +
                            "must specify a non-zero or non-empty correlation ID: the model has "
                            "sequences, and the parameter 'sequence_id' is missing, 0 or empty");
  }
  if (from.text.size() > kSequenceIdBytesMax) {
    return invalid_argument("parameter 'sequence_id': expected at most " +
                            std::to_string(kSequenceIdBytesMax) + " bytes, got " +
                            std::to_string(from.text.size()));
  }
  id.is_text = from.id == Id::Text;
  id.number = id.is_text ? 0 : from.number;
  id.text = from.text;
  if (Status fits = shape_.check_id(id); !fits.ok()) return fits;
  if (Status fits = check_row(member, of_model); !fits.ok()) return fits;
  member.start = from.start;
  member.end = from.end;
  return {};
}

// Whether the request has one row.
Status SequenceLoop::check_row(const Member& member, const std::string& of_model) const {
  const uint32_t rows = model_.rows_of(member.decoded.inputs);
  const bool same = std::ranges::all_of(member.decoded.inputs, [&](const TensorView& input) {
    return !shape_.has_rows() || input.dtype == DType::Invalid ||
           (input.shape.rank() != 0 && input.shape[0] == 1);
  });
  if (rows != 1 || !same) {
    return invalid_argument(of_model +
                            "must specify batch-size 1, because it has sequences; got a batch "
                            "of " +
                            std::to_string(rows));
  }
  return {};
}

// Decodes one request and hands it to the scheduler.
Status SequenceLoop::accept(Member& member) {
  const Stopwatch watch;
  Request& request = *member.request;
  if (!is_v2_request(request)) {
    return make_error(ErrorCode::Unimplemented,
                      "model '" + model_.spec().name + "' has sequences: its requests need " +
                          (is_iterative_ ? "" : "the parameter sequence_id of ") +
                          "the V2 protocol (REST, gRPC)");
  }
  const ServeInput input = input_of(request, &request.cancel);
  Status decoded =
      decode_request(input, model_, request.home->settings(), member.arena, member.decoded);
  if (!decoded.ok()) return decoded;
  member.times = {};
  member.steps = 0;
  member.repeats = false;
  SequenceId id;
  if (Status read = read_sequence(member, id); !read.ok()) return read;
  member.output_indices.clear();
  for (const RequestedOutput& output : member.decoded.outputs) {
    member.output_indices.push_back(output.index);
  }
  member.times.input_ns = watch.elapsed_ns();
  member.arrived_ns = now_ns();
  std::lock_guard lock(mutex_);
  if (is_iterative_) {
    id.number = ++last_id_;
    id.text = std::to_string(id.number);
  }
  if (scheduler_.waiting_requests() >= model_.queue().limit_of(0)) {
    scheduler_.skip(id, member.arrived_ns);
    return not_taken(model_, request, false);
  }
  if (scheduler_.add(id, member)) {
    const uint64_t deadline_ns = request.deadline_ns == 0 ? kNever : request.deadline_ns;
    sweep_ns_ = std::min({sweep_ns_, deadline_ns, member.arrived_ns + kSweepNs});
    return {};
  }
  return invalid_argument(
      "inference request for sequence " + id_text(id) + " to model '" + model_.spec().name +
      "' must specify the START flag on the first request of the sequence: there is no such "
      "sequence. It ends with sequence_end, when a request of it fails or is cancelled, after " +
      std::to_string(model_.spec().sequence->idle_us) +
      " microseconds without a request, and when the model is loaded again");
}

// Ends the sequence of a request that is answered without having joined it, because its client left
// or it is late: later requests would continue without it.
void SequenceLoop::skip(Member& member) {
  const Request& request = *member.request;
  SequenceId id;
  if (!is_v2_request(request) || is_iterative_) return;
  const ServeInput input = input_of(request, nullptr);
  if (!decode_request(input, model_, request.home->settings(), member.arena, member.decoded).ok() ||
      !read_sequence(member, id).ok()) {
    return;
  }
  std::lock_guard lock(mutex_);
  scheduler_.skip(id, now_ns());
}

// Hot path: queue (sequences). A bad request is answered at once; its sequence does not notice it.
void SequenceLoop::admit(Request* request, std::vector<Request*>& finished) {
  Member* member = take_member();
  member->request = request;
  member->times = ServeTimes();
  member->queue_ns = request->queued.elapsed_ns();  // until it is decoded; grows until it is run
  member->ok = false;
  if (request->late == Request::Late::No) request->late = lateness(*request, now_ns());
  Status accepted;
  if (request->late != Request::Late::No || request->cancel.cancelled()) {
    (void)catch_exceptions([&] {
      skip(*member);
      return Status();
    });
    accepted = request->late == Request::Late::No ? Status(client_left())
                                                  : Status(late_error(model_, *request));
  } else {
    accepted = catch_exceptions([&] { return accept(*member); });
  }
  if (accepted.ok()) return;
  finish(*member, std::move(accepted), finished);
  give_member(member);
}

// Answers requests that cannot run because their sequence has ended, or with the error of the
// model. Caller holds mutex_.
void SequenceLoop::drop(std::vector<SequenceEntry*>& dropped, bool closing,
                        std::vector<Request*>& finished) {
  for (SequenceEntry* entry : dropped) {
    auto* const member = static_cast<Member*>(entry);
    end_waiting(*member,
                closing
                    ? unloaded_waiting(model_)
                    : invalid_argument("the sequence of the request has ended, because an earlier "
                                       "request of it failed or was cancelled: start it again"),
                finished);
  }
  dropped.clear();
}

// Answers a request that waits for its sequence. Its member stays until give_ended(): a sweep may
// still refer to it. Caller holds mutex_.
void SequenceLoop::end_waiting(Member& member, Status status, std::vector<Request*>& finished) {
  finish(member, std::move(status), finished);
  member.request = nullptr;
  ended_.push_back(&member);
}

// Caller holds mutex_.
void SequenceLoop::give_ended() {
  for (Member* member : ended_) give_member(member);
  ended_.clear();
}

// Removes waiting requests whose client left, whose deadline passed or whose model is unloaded.
// Caller holds mutex_.
void SequenceLoop::sweep(uint64_t now, bool closing, std::vector<Request*>& finished) {
  if (!scheduler_.has_waiting()) {
    sweep_ns_ = kNever;
    return;
  }
  if (now < sweep_ns_ && !closing) return;
  sweep_ns_ = now + kSweepNs;
  all_.clear();
  scheduler_.waiting(all_);
  for (SequenceEntry* entry : all_) {
    auto* const member = static_cast<Member*>(entry);
    if (member->request == nullptr) continue;  // dropped since
    Request& request = *member->request;
    const bool late = request.deadline_ns != 0 && now >= request.deadline_ns;
    if (!closing && !late && !request.cancel.cancelled()) {
      if (request.deadline_ns != 0) sweep_ns_ = std::min(sweep_ns_, request.deadline_ns);
      continue;
    }
    scheduler_.remove(*member, now, dropped_);
    if (late) request.late = Request::Late::Deadline;
    EndCause cause = EndCause::ClientLeft;
    if (closing || late) cause = closing ? EndCause::Unloaded : EndCause::Deadline;
    Error error = client_left();
    if (member->has_run) error = ended_error(model_, cause);  // between two steps
    else if (closing) error = unloaded_waiting(model_);
    else if (late) error = late_error(model_, request);
    end_waiting(*member, std::move(error), finished);
    drop(dropped_, closing, finished);
  }
  give_ended();
}

// Waits for the next batch. Returns false if the queue is closed, or the instance was idle for
// long, and there are no sequences. Blocks; one instance at a time.
bool SequenceLoop::next_batch(Batch& batch) {
  std::lock_guard lead(leader_mutex_);
  RequestQueue& queue = model_.queue();
  uint64_t until_ns = 0;
  for (;;) {
    const bool was_idle = until_ns == kNever;
    taken_.resize(kTakenMax);
    late_.clear();
    const size_t count = queue.take(taken_, until_ns, late_);
    for (Request* request : late_) admit(request, batch.finished);
    for (size_t i = 0; i < count; ++i) admit(taken_[i], batch.finished);
    const bool closing = queue.closed();
    bool found = false, more = false, empty = false;
    {
      std::lock_guard lock(mutex_);
      const uint64_t now = now_ns();
      if (retiring_.load(std::memory_order_acquire)) scheduler_.retire();
      sweep(now, closing, batch.finished);
      found = scheduler_.next(
          now, closing,
          [this](const SequenceEntry& head, const SequenceEntry& other) {
            const auto& a = static_cast<const Member&>(head);
            const auto& b = static_cast<const Member&>(other);
            if (!same_batch(a.decoded.inputs, b.decoded.inputs, false)) return false;
            return same_batch(states_of(a), states_of(b), false);
          },
          batch.chosen);
      more = found && scheduler_.has_ready();
      empty = scheduler_.empty();
      until_ns = std::min(scheduler_.next_ns(), sweep_ns_);
      publish_counts();
    }
    complete_all(batch.finished);
    batch.finished.clear();
    if (found) {
      batch.number = number_++;
      if (!more) return true;
      queue.nudge();
      model_.attend();
      return true;
    }
    if (closing) return false;
    if (was_idle && empty && count == 0 && late_.empty() && queue.retire()) return false;
  }
}

// Tells the scheduler that the batch has run, after its requests were handed back: the next ones of
// their sequences must not be answered first.
void SequenceLoop::settle(Batch& batch) {
  {
    std::lock_guard lock(mutex_);
    const uint64_t now = now_ns();
    for (Member*& member : batch.members) {
      if (member == nullptr) continue;
      if (!member->repeats) {
        scheduler_.done(*member, member->ok, now, batch.dropped);
        continue;
      }
      const uint64_t deadline_ns = member->request->deadline_ns;
      sweep_ns_ = std::min({sweep_ns_, deadline_ns == 0 ? kNever : deadline_ns, now + kSweepNs});
      scheduler_.repeat(*member);
      member = nullptr;  // another instance may run it from here on
    }
    drop(batch.dropped, false, batch.finished);
    give_ended();
    publish_counts();
  }
  for (Member* member : batch.members) {
    if (member != nullptr) give_member(member);
  }
  complete_all(batch.finished);  // those that could not continue
  batch.finished.clear();
  model_.queue().nudge();  // the instance that waits does not know of the change
}

void SequenceLoop::run_instance(size_t replica) {
  Batch batch;
  batch.memory.budget = model_.services().budget;
  while (next_batch(batch)) {
    model_.busy().fetch_add(1, std::memory_order_relaxed);
    run(batch, is_direct_ ? batch.chosen.group : replica);
    delivery_.deliver(batch.number, batch.finished);
    settle(batch);
    model_.busy().fetch_sub(1, std::memory_order_relaxed);
    for (ByteBuffer& bytes : batch.memory.bytes) bytes.shrink(kGatherKeepBytes);
  }
}

}  // namespace serval
