// Forms batches. Hot path (queued requests). Thread: instance.
#include "engine/model/batcher.h"

#include <algorithm>

#include "base/clock.h"
#include "engine/model/queued.h"
#include "engine/model/refusals.h"
#include "engine/ragged/ragged_model.h"
#include "engine/request/catch_exceptions.h"
#include "engine/request/completion.h"
#include "engine/request/home.h"
#include "engine/shm/tensors.h"

namespace serval {

namespace {

// Decoded requests of other shapes that may wait while a batch is formed, per row of the batch.
constexpr size_t kFormedPerRow = 4;
// The most requests taken from the queue at a time.
constexpr size_t kTakeMax = 256;

bool same_outputs(std::span<const RequestedOutput> a, std::span<const RequestedOutput> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const RequestedOutput& one, const RequestedOutput& other) {
                      return one.index == other.index;
                    });
}

}  // namespace

Batcher::Batcher(Model& model) : model_(model), delivery_(model.spec().batch.preserve_ordering) {}

Batcher::Member* Batcher::take_member() {
  std::lock_guard lock(pool_mutex_);
  if (free_members_.empty()) {
    members_.push_back(std::make_unique<Member>());
    members_.back()->arena.charge_to(model_.services().budget);
    return members_.back().get();
  }
  Member* member = free_members_.back();
  free_members_.pop_back();
  return member;
}

void Batcher::give_member(Member* member) {
  member->request = nullptr;
  member->cache.end();
  member->arena.reset();
  member->decoded.clear();
  member->outputs.clear();
  std::lock_guard lock(pool_mutex_);
  free_members_.push_back(member);
}

// Hot path: queue. Decodes one request and appends it to formed_; a bad one is answered at once and
// harms nobody.
void Batcher::admit(Request* request) {
  Member* member = take_member();
  const Stopwatch watch;
  member->request = request;
  member->times = ServeTimes();
  member->loss = Loss::None;
  member->joinable = true;
  member->queue_ns = request->queued.elapsed_ns();  // until it is decoded; grows until it is run
  std::vector<Request*> finished;
  if (request->cancel.cancelled()) {
    finish(*member, client_left(), finished);
  } else {
    const ServeInput input = input_of(*request, &request->cancel);
    Status decoded = catch_exceptions([&] {
      return decode_request(input, model_, request->home->settings(), member->arena,
                            member->decoded);
    });
    member->times.input_ns = watch.elapsed_ns();
    if (decoded.ok()) {
      member->rows = model_.rows_of(member->decoded.inputs);
      member->times.rows = member->rows;
      const Signature& signature = model_.signatures()[member->decoded.signature_index];
      member->joinable = may_be_joined(*member, signature);
      member->joinable &= !request->died;
      member->output_indices.clear();
      for (const RequestedOutput& output : member->decoded.outputs) {
        member->output_indices.push_back(output.index);
      }
      if (model_.cache() == nullptr || !leave_to_cache(*member, input, finished)) {
        formed_.push_back(member);
        return;
      }
    } else {
      finish(*member, std::move(decoded), finished);
    }
  }
  give_member(member);
  complete_all(finished);
}

// Answers a decoded request from the response cache, or makes it wait for an equal one. False: it
// is run.
bool Batcher::leave_to_cache(Member& member, const ServeInput& input,
                             std::vector<Request*>& finished) {
  Request& request = *member.request;
  const Status looked = catch_exceptions([&]() -> Status {
    member.cache.begin(model_.cache(), member.decoded, input.cache);
    return {};
  });
  if (!looked.ok()) return false;
  const CacheTurn::State state = member.cache.state();
  note_cache(member.cache, member.times);
  if (state == CacheTurn::State::Wait) {
    request.equal_key = member.cache.key();
    model_.wait_for_equal(request);
    return true;
  }
  if (state != CacheTurn::State::Hit) return false;
  const Stopwatch watch;
  const std::span<const TensorView> outputs = member.cache.outputs();
  member.outputs.assign(outputs.begin(), outputs.end());
  Status done = catch_exceptions([&] {
    return encode_answer(request.protocol, model_, member.decoded, member.output_indices,
                         member.outputs, request.home->settings(), member.arena, request);
  });
  member.times.output_ns = watch.elapsed_ns();
  finish(member, std::move(done), finished);
  return true;
}

// Whether a decoded request's inputs have rows that can run in a batch. All its present inputs need
// them: the requests of a batch omit the same inputs (same_batch).
bool Batcher::may_be_joined(const Member& member, const Signature& signature) const {
  const DecodedRequest& decoded = member.decoded;
  if (!decoded.shared.empty() && is_on_device(decoded)) return false;
  const bool table = model_.table() != nullptr;
  const bool by_proof = model_.batch_mode() == BatchMode::Auto && !table;
  bool any = false;
  for (size_t i = 0; i < decoded.inputs.size(); ++i) {
    const TensorView& view = decoded.inputs[i];
    if (view.dtype == DType::Invalid) continue;
    any = true;
    if (view.shape.rank() == 0 || member.rows == 0 || view.shape[0] != int64_t{member.rows}) {
      return false;
    }
    if (table || i >= signature.inputs.size()) continue;
    const TensorSpec& spec = signature.inputs[i];
    // An optional input has rows only by the configuration, and the proof does not cover them.
    if (spec.may_be_absent && !spec.in_config) return false;
    if (by_proof && (spec.may_be_absent || spec.in_config)) return false;
    // The proof holds for the declared shape; TensorFlow does not enforce the shapes of its
    // signatures.
    if (by_proof && spec.unchecked && !fits_declared(spec, view.shape)) return false;
  }
  return any || table;
}

bool Batcher::may_join(const Member& head, const Member& other) const {
  return other.joinable &&
         head.decoded.table.null_for_invalid == other.decoded.table.null_for_invalid &&
         head.decoded.signature_index == other.decoded.signature_index &&
         same_outputs(head.decoded.outputs, other.decoded.outputs) &&
         (model_.is_ragged() ? static_cast<RaggedModel&>(model_.replica(0).backend())
                                   .may_join(head.decoded.inputs, other.decoded.inputs)
                             : same_batch(head.decoded.inputs, other.decoded.inputs,
                                          model_.spec().batch.pad_inner));
}

// Chooses the oldest request and those that can run with it, or sets until when to wait for more.
bool Batcher::choose(Batch& batch, bool closing, uint64_t& until_ns) {
  Member& head = *formed_.front();
  group_.assign(1, 0);
  group_rows_.assign(1, head.rows);
  const BatchPolicy& policy = model_.spec().batch;
  uint64_t rows = head.rows;
  const bool batches = head.joinable && batches_.load(std::memory_order_relaxed);
  for (size_t i = 1; batches && i < formed_.size() && rows <= policy.rows_max; ++i) {
    if (!may_join(head, *formed_[i])) continue;
    group_.push_back(i);
    group_rows_.push_back(formed_[i]->rows);
    rows += formed_[i]->rows;
  }
  BatchView view;
  view.rows = group_rows_;
  view.oldest_wait_ns = head.request->queued.elapsed_ns();
  view.closing = closing || !batches;
  const BatchChoice choice = choose_batch(policy, view);
  if (choice.requests == 0) {
    until_ns = now_ns() + choice.wait_ns;
    return false;
  }
  batch.members.clear();
  batch.rows = 0;
  for (size_t i = 0; i < choice.requests; ++i) {
    Member* member = formed_[group_[i]];
    batch.members.push_back(member);
    batch.rows += member->rows;
    member->queue_ns = member->request->queued.elapsed_ns() - member->times.input_ns;
    formed_[group_[i]] = nullptr;
  }
  std::erase(formed_, nullptr);
  batch.sequence = sequence_++;
  return true;
}

// Answers requests whose time limit passes while they wait to be batched; returns when the next
// limit passes. (A request that its policy would delay is about to run anyway.)
uint64_t Batcher::drop_late() {
  uint64_t next = kNever;
  std::vector<Request*> finished;
  for (Member*& member : formed_) {
    Request& request = *member->request;
    const bool rejects =
        request.policy_timeout_ns != 0 &&
        model_.queue().action_of(request.schedule.priority) == TimeoutAction::Reject;
    const uint64_t timeout_ns = rejects ? request.policy_timeout_ns : kNever;
    const uint64_t deadline_ns = request.deadline_ns != 0 ? request.deadline_ns : kNever;
    const uint64_t limit = std::min(timeout_ns, deadline_ns);
    if (limit == kNever) continue;
    if (now_ns() < limit) {
      next = std::min(next, limit);
      continue;
    }
    request.late = deadline_ns <= timeout_ns ? Request::Late::Deadline : Request::Late::Timeout;
    member->queue_ns = request.queued.elapsed_ns() - member->times.input_ns;
    finish(*member, late_error(model_, request), finished);
    give_member(member);
    member = nullptr;
  }
  std::erase(formed_, nullptr);
  complete_all(finished);
  return next;
}

// Forms the next batch. Returns false if the queue is closed, or the instance was idle for long,
// and nothing is left. Blocks; one instance at a time.
bool Batcher::next_batch(Batch& batch) {
  std::lock_guard lead(leader_mutex_);
  RequestQueue& queue = model_.queue();
  const size_t rows_max = std::max<uint32_t>(1, model_.spec().batch.rows_max);
  uint64_t until_ns = kNever;
  for (;;) {
    size_t rows = 0;
    for (const Member* member : formed_) rows += std::max<uint32_t>(1, member->rows);
    const bool crowded = rows >= rows_max * kFormedPerRow;
    const size_t room = crowded ? 0 : std::max<size_t>(1, rows_max - std::min(rows, rows_max));
    taken_.resize(std::min(room, kTakeMax));
    late_.clear();
    size_t count = 0;
    const bool idle = formed_.empty();
    if (room != 0) {
      // Reads queued requests without waiting; only then is it worth waiting for
      // more.
      count = queue.take(taken_,
                         formed_.empty()      ? kNever
                         : until_ns == kNever ? 0
                                              : until_ns,
                         late_);
    }
    finish_late(model_, late_);
    for (size_t i = 0; i < count; ++i) admit(taken_[i]);
    const uint64_t limit_ns = drop_late();
    const bool closed = queue.closed();
    if (formed_.empty()) {
      if (closed) return false;
      if (idle && count == 0 && late_.empty() && queue.retire()) return false;
      continue;
    }
    if (choose(batch, closed || crowded, until_ns)) return true;
    until_ns = std::min(until_ns, limit_ns);
  }
}

// Stores the outcome for the listener's thread. Does not hand the request back yet.
void Batcher::finish(Member& member, Status status, std::vector<Request*>& finished) {
  const Progress progress{member.decoded.id, member.queue_ns, member.times};
  end_request(model_, *member.request, std::move(status), &progress);
  finished.push_back(member.request);
}

// Does the same after a run, unless the request returns to the queue.
void Batcher::end(Batch& batch, Member& member, Status status) {
  Request& request = *member.request;
  if (returns_to_queue(model_, request, member.loss, &request.cancel))
    batch.returned.push_back(&request);
  else finish(member, std::move(status), batch.finished);
}

void Batcher::run_instance(size_t replica) {
  Batch batch;
  batch.memory.budget = model_.services().budget;
  while (next_batch(batch)) {
    model_.busy().fetch_add(1, std::memory_order_relaxed);
    run_batch(batch, replica);
    for (Member* member : batch.members) give_member(member);
    put_back(model_, batch.returned);
    batch.returned.clear();
    delivery_.deliver(batch.sequence, batch.finished);
    // Only after the responses are handed over: a request that finds no busy instance may run at
    // once.
    model_.busy().fetch_sub(1, std::memory_order_relaxed);
    trim(batch);
  }
}

}  // namespace serval
