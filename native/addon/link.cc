// Hot path: reply. Thread: JavaScript's, but wake().
#include "addon/link.h"

#include <cstring>

#include "engine/request/outcome.h"

namespace serval {

namespace {

napi_value make_text(napi_env env, const char* text) {
  napi_value value = nullptr;
  napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value);
  return value;
}

}  // namespace

Status Link::attach(const EngineOptions& options, const ServeSettings& settings,
                    napi_value on_completions, napi_value* block) {
  if (attached()) return invalid_argument("attach: this thread is attached already");
  const Result<std::vector<RateCount>> counts = read_rate_counts(options.rate_limit_resources);
  if (!counts.ok()) return counts.error();
  void* words = nullptr;
  napi_create_arraybuffer(env_, kLinkWords * sizeof(uint32_t), &words, block);
  block_ = static_cast<uint32_t*>(words);
  napi_create_reference(env_, *block, 1, &block_ref_);
  // Two calls may be pending: one that is about to drain and one requested meanwhile.
  if (napi_create_threadsafe_function(env_, on_completions, nullptr,
                                      make_text(env_, "serval completions"), 2, 1, nullptr, nullptr,
                                      this, on_wake, &wake_) != napi_ok) {
    return make_error(ErrorCode::Internal, "attach: no thread-safe function");
  }
  napi_create_reference(env_, on_completions, 1, &callback_ref_);
  napi_async_init(env_, nullptr, make_text(env_, "serval turn"), &turn_context_);
  turn_.start(env_, on_turn_end, this);
  std::shared_ptr<Engine> engine = Engine::acquire(options);
  lane_ = std::make_shared<Lane>(engine, settings, this);
  engine->add_lane(lane_->home());
  return {};
}

void Link::detach() {
  if (!attached()) return;
  // The environment's clean-up calls this too, without an open scope.
  const Napi::HandleScope scope(env_);
  for (std::unique_ptr<ListenerService>& listener : listeners_) listener.reset();
  const std::shared_ptr<Engine> engine = lane_->shared_engine();
  engine->remove_lane(*lane_->home());
  turn_.stop();
  lane_->close();
  napi_async_destroy(env_, turn_context_);
  napi_delete_reference(env_, callback_ref_);
  turn_context_ = nullptr;
  callback_ref_ = nullptr;
  napi_release_threadsafe_function(wake_, napi_tsfn_abort);
  wake_ = nullptr;
  for (napi_ref ref : slot_refs_) {
    napi_value mapped = nullptr;
    if (ref == nullptr) continue;
    if (napi_get_reference_value(env_, ref, &mapped) == napi_ok && mapped != nullptr) {
      napi_detach_arraybuffer(env_, mapped);
    }
    napi_delete_reference(env_, ref);
  }
  slot_refs_.clear();
  napi_delete_reference(env_, block_ref_);
  block_ref_ = nullptr;
  block_ = nullptr;
  lane_.reset();
}

void Link::let_process_end() { napi_unref_threadsafe_function(env_, wake_); }

uint32_t Link::generation_of(Request& request) {
  ByteBuffer& memory = request.response;
  if (memory.base() != request.response_mapped ||
      memory.base_bytes() != request.response_mapped_bytes) {
    request.response_mapped = memory.base();
    request.response_mapped_bytes = memory.base_bytes();
    ++request.response_generation;
  }
  return request.response_generation;
}

// Reports the trace ids of the request that was just handed over, if it is traced.
void Link::report_trace() {
  TraceId trace_id;
  SpanId span_id;
  block_[kWordTraced] = 0;
  if (!lane_->traces().take(trace_id, span_id)) return;
  block_[kWordTraced] = 1;
  std::memcpy(block_ + kWordTraceId, trace_id.data(), trace_id.size());
  std::memcpy(block_ + kWordSpanId, span_id.data(), span_id.size());
}

// Hot path: reply. What JavaScript needs to know of an answer, as words.
uint32_t Link::report(const Answer& answer) {
  report_trace();
  if (answer.pending) {
    block_[kWordTicket] = answer.ticket;
    return kPending;
  }
  Request& slot0 = *lane_->slots().at(0);
  block_[kWordBytes] = static_cast<uint32_t>(slot0.response.size());
  block_[kWordJsonBytes] = static_cast<uint32_t>(slot0.json_bytes_out);
  block_[kWordGeneration] = generation_of(slot0);
  return static_cast<uint32_t>(answer.code);
}

ByteBuffer& Link::clear_answer() {
  Request& slot0 = *lane_->slots().at(0);
  slot0.json_bytes_out = 0;
  slot0.response.clear();
  return slot0.response;
}

uint32_t Link::report_error(const Error& error) {
  put_error(error, *lane_->slots().at(0));
  return report({error.code, false, 0});
}

napi_value Link::map_slot(uint32_t slot) {
  Request* request = lane_->slots().at(slot);
  if (request == nullptr) {
    napi_throw_range_error(env_, nullptr, "mapSlot: no such slot");
    return nullptr;
  }
  if (slot_refs_.size() <= slot) slot_refs_.resize(slot + 1, nullptr);
  if (slot_refs_[slot] != nullptr) {
    napi_value old = nullptr;
    napi_get_reference_value(env_, slot_refs_[slot], &old);
    if (old != nullptr) napi_detach_arraybuffer(env_, old);
    napi_delete_reference(env_, slot_refs_[slot]);
    slot_refs_[slot] = nullptr;
  }
  napi_value mapped = nullptr;
  ByteBuffer& memory = request->response;
  if (memory.base() == nullptr) {
    void* nothing = nullptr;
    napi_create_arraybuffer(env_, 0, &nothing, &mapped);
    return mapped;
  }
  const napi_finalize keep = [](napi_env, void*, void*) {};
  if (napi_create_external_arraybuffer(env_, memory.base(), memory.base_bytes(), keep, nullptr,
                                       &mapped) != napi_ok) {
    napi_throw_error(env_, nullptr, "mapSlot: this Node does not allow external array buffers");
    return nullptr;
  }
  napi_create_reference(env_, mapped, 1, &slot_refs_[slot]);
  return mapped;
}

void Link::wake() { napi_call_threadsafe_function(wake_, nullptr, napi_tsfn_nonblocking); }

void* Link::pin() {
  napi_ref ref = nullptr;
  napi_create_reference(env_, message_, 1, &ref);
  return ref;
}

void Link::unpin(void* pin) { napi_delete_reference(env_, static_cast<napi_ref>(pin)); }

void Link::on_wake(napi_env env, napi_value callback, void* context, void*) {
  if (env == nullptr || callback == nullptr) return;
  auto* link = static_cast<Link*>(context);
  if (link->attached()) link->drain(callback, nullptr);
}

// Ends an event-loop iteration: notifies the instances of its queued requests and answers those
// that finished at once.
void Link::on_turn_end(void* context) {
  auto* link = static_cast<Link*>(context);
  if (!link->attached()) return;
  Lane& lane = link->lane();
  if (!lane.has_unflushed()) return;
  lane.flush();
  if (!lane.has_completed()) return;
  const Napi::HandleScope scope(link->env_);
  napi_value callback = nullptr;
  napi_get_reference_value(link->env_, link->callback_ref_, &callback);
  if (callback != nullptr) link->drain(callback, link->turn_context_);
}

// Hot path: reply (queued). One JavaScript call for up to kCompletionsPerWake answers.
void Link::drain(napi_value callback, napi_async_context context) {
  std::array<Request*, kCompletionsPerWake> done;
  std::array<uint32_t, kCompletionsPerWake> tickets;
  const std::shared_ptr<Lane> lane = lane_;  // the callback may detach
  const size_t count = lane->take_completed(done);
  if (count == 0) return;
  uint32_t* words = block_ + kWordRing;
  for (size_t i = 0; i < count; ++i, words += kRingWords) {
    Request& request = *done[i];
    words[kRingTicket] = tickets[i] = lane->slots().ticket_of(request);
    words[kRingCode] = static_cast<uint32_t>(request.code);
    words[kRingSlot] = request.slot;
    words[kRingBytes] = static_cast<uint32_t>(request.response.size());
    words[kRingJsonBytes] = static_cast<uint32_t>(request.json_bytes_out);
    words[kRingGeneration] = generation_of(request);
    words[kRingLoadWaitMs] = static_cast<uint32_t>(request.load_wait_ms());
  }
  napi_value receiver = nullptr;
  napi_value argument = nullptr;
  napi_get_undefined(env_, &receiver);
  napi_create_uint32(env_, static_cast<uint32_t>(count), &argument);
  if (context == nullptr) {
    napi_call_function(env_, receiver, callback, 1, &argument, nullptr);
  } else {
    // A call from outside JavaScript: microtasks and the like run after it.
    napi_get_global(env_, &receiver);
    if (napi_make_callback(env_, context, receiver, callback, 1, &argument, nullptr) ==
        napi_pending_exception) {
      napi_value problem = nullptr;
      napi_get_and_clear_last_exception(env_, &problem);
      napi_fatal_exception(env_, problem);
    }
  }
  if (!attached()) return;
  for (size_t i = 0; i < count; ++i) lane->release_taken(tickets[i]);
  if (lane->has_completed()) wake();
}

}  // namespace serval
