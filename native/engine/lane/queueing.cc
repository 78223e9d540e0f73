// Gives arrivals slots and puts them into their model's queue. Hot path (queued requests); the
// listener's thread.
#include "engine/lane/queueing.h"

#include <utility>

#include "base/clock.h"
#include "engine/model/queued.h"
#include "engine/model/record.h"
#include "engine/model/refusals.h"

namespace serval {

namespace {

// A short message is copied: that costs less than a reference that JavaScript makes and drops.
constexpr size_t kPinBytesMin = 16 * 1024;
// A short message is copied out of a buffer larger than this, and the listener keeps the buffer.
constexpr size_t kTakeBytesMax = 64 * 1024;
constexpr uint64_t kNsPerUs = 1000;

}  // namespace

Result<Request*> Queueing::accept(const Arrival& arrival) {
  if (arrival.request != nullptr) return arrival.request;
  Request* request = state_.slots.open();
  if (request == nullptr) return no_slot();
  request->body.clear(aligned_at(arrival.json_bytes));
  if (is_message(arrival.protocol)) {
    if (Status accepted = accept_message(arrival, *request); !accepted.ok()) {
      state_.slots.release(*request);
      return std::move(accepted.error());
    }
    return request;
  }
  if (request->body.append(arrival.bytes.data(), arrival.bytes.size())) return request;
  state_.slots.release(*request);
  return no_memory(arrival.bytes.size(), *state_.budget);
}

// Keeps a message's bytes: its buffer, a copy, or a pin. Errors: memory_full.
Status Queueing::accept_message(const Arrival& arrival, Request& request) {
  const std::span<const uint8_t> bytes = arrival.bytes;
  const bool is_short = bytes.size() <= kPinBytesMin;
  if (arrival.owned != nullptr && (!is_short || arrival.owned->base_bytes() <= kTakeBytesMax)) {
    std::swap(request.body, *arrival.owned);
    return {};
  }
  if (is_short && request.body.append(bytes.data(), bytes.size())) return {};
  if (state_.slots.pin(request, bytes)) return {};
  if (!is_short && request.body.append(bytes.data(), bytes.size())) return {};
  return no_memory(bytes.size(), *state_.budget);
}

void Queueing::begin(Request& request, const std::shared_ptr<Model>& model, const Arrival& arrival,
                     uint64_t spent_ns) {
  request.stage = Request::Stage::Queued;
  request.protocol = arrival.protocol;
  request.json_bytes = arrival.json_bytes;
  request.schedule = arrival.schedule;
  request.key = state_.flow().part;
  request.key_weight = state_.flow().part_weight;
  request.model = model;
  request.home = state_.home;
  request.queued = Stopwatch();
  if (arrival.timeout_us != 0) {
    request.deadline_ns = now_ns() + left_of(arrival.timeout_us, spent_ns);
  }
}

Status Queueing::push(Request& request, const std::shared_ptr<Model>& model) {
  state_.completions.add_working(1);
  const bool later = model->batcher() != nullptr && state_.hooks.ends_turns();
  const RequestQueue::Push pushed =
      push_request(model, request, later ? Entry::Unflushed : Entry::First);
  if (pushed == RequestQueue::Push::Taken) {
    if (later) turn_.add(model, request);
    return {};
  }
  state_.completions.add_working(-1);
  const bool closed = pushed == RequestQueue::Push::Closed;
  // From here on `model` may be gone with the lane's list of models: the request holds its own.
  if (closed && model->is_absent() && find_successor(request)) return push_own(request);
  if (!closed) {
    request.model->counters().queue_full.fetch_add(1, std::memory_order_relaxed);
    state_.engine->server_stats().add(ServerValue::RefusedQueueFull, 1);
  }
  return not_taken(*request.model, request, closed);
}

// Holds the model: once pushed, the request may be gone.
Status Queueing::push_own(Request& request) {
  const std::shared_ptr<Model> model = request.model;
  return push(request, model);
}

bool Queueing::find_successor(Request& request) {
  const std::shared_ptr<Model>* found = state_.published().find(request.model->handle());
  if (found == nullptr || *found == request.model) return false;
  request.model = *found;
  return true;
}

Status Queueing::take_up(Request& request) {
  request.again = false;
  if (request.cancel.cancelled()) return client_left();
  if (!find_successor(request)) return unloaded_waiting(*request.model);
  ServerStats& stats = state_.engine->server_stats();
  if (request.load_wait_ns == 0) stats.add(ServerValue::DemandWaits, 1);
  const uint64_t waited_ns = request.queued.elapsed_ns();
  // It may have left memory again meanwhile, and the request waits for another load.
  stats.add(ServerValue::DemandWaitUs,
            static_cast<int64_t>((waited_ns - request.load_wait_ns) / kNsPerUs));
  request.load_wait_ns = waited_ns;
  if (request.trace != nullptr) request.trace->load_wait_ns = waited_ns;
  return {};
}

bool Queueing::enter(Request& request) {
  request.stage = Request::Stage::Queued;
  request.wait_until_ns = 0;
  request.home = state_.home;
  const Status pushed = push_own(request);
  if (pushed.ok()) return true;
  end_request(*request.model, request, pushed);
  request.home.reset();
  request.stage = Request::Stage::Taken;
  return false;
}

bool Queueing::push_again(Request& request) {
  const Status found = take_up(request);
  if (found.ok()) return enter(request);
  end_request(*request.model, request, found);
  return false;
}

bool Queueing::withdraw(Request& request) {
  request.cancel.cancel(EndCause::ClientLeft);
  if (request.stage != Request::Stage::Queued) return false;
  if (!request.model->queue().remove(&request)) return false;
  end_request(*request.model, request, client_left());
  request.home.reset();
  state_.completions.add_working(-1);
  state_.slots.release(request);
  return true;
}

}  // namespace serval
