// See lane.h: what is not on a request's way (intake.cc). Control plane. Thread: the
// listener's, but poke().
#include "engine/lane/lane.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "engine/model/instance.h"

namespace serval {

Lane::Lane(std::shared_ptr<Engine> engine, ServeSettings settings, LaneHooks* hooks)
    : engine_(std::move(engine)),
      budget_(engine_->budget()),
      settings_(settings),
      hooks_(*hooks),
      table_(engine_->table()),
      slots_(*engine_, settings_.in_flight_max, *hooks),
      completions_(*hooks),
      inline_runner_(engine_->inline_watch(), settings_, budget_.get()),
      turn_(inline_runner_, completions_),
      task_memory_(budget_.get()) {}

Result<uint32_t> Lane::open_control() {
  Request* request = slots_.open();
  if (request == nullptr) return no_slot();
  request->stage = Request::Stage::Control;
  completions_.add_working(1);
  return ticket_of(*request);
}

size_t Lane::take_completed(std::span<Request*> out) {
  table();
  if (drop_due_.load(std::memory_order_relaxed) && drop_due_.exchange(false)) {
    slots_.drop_kept();
    hooks_.drop_kept();
  }
  for (;;) {
    const size_t taken = completions_.take(out);
    size_t count = 0;
    for (Request* request : out.first(taken)) {
      if (request->group != nullptr) request = finish_task(*request);
      if (request != nullptr) out[count++] = request;
    }
    // What is left would wake nobody.
    if (count != 0 || taken == 0) return count;
  }
}

void Lane::release_taken(uint32_t ticket) {
  Request* request = slots_.find(ticket);
  if (request != nullptr && request->stage == Request::Stage::Taken) release(*request);
}

bool Lane::cancel(uint32_t ticket) {
  Request* request = slots_.find(ticket);
  if (request == nullptr) return true;
  if (request->stage == Request::Stage::Body || request->stage == Request::Stage::Kept) {
    release(*request);
    return true;
  }
  return request->stage == Request::Stage::Tasks ? cancel_tasks(*request) : take_back(*request);
}

// Ends a request. True: it waited, and is released.
bool Lane::take_back(Request& request) {
  request.cancel.cancel(EndCause::ClientLeft);
  if (request.stage != Request::Stage::Queued) return false;
  if (!request.model->queue().remove(&request)) return false;
  end_request(*request.model, request, ended_error(*request.model, EndCause::ClientLeft));
  request.lane.reset();
  completions_.add_working(-1);
  release(request);
  return true;
}

bool Lane::count_bytes(int64_t change, bool refusable) {
  bool room = true;
  if (change >= 0) {
    const auto bytes = static_cast<uint64_t>(change);
    if (!refusable) room = budget_->add(bytes);
    else if (!budget_->take(bytes)) return false;
  } else {
    change = std::max(change, -counted_bytes_);
    budget_->give(static_cast<uint64_t>(-change));
    // Many small steps end something large too.
    constexpr auto kLarge = static_cast<int64_t>(MemoryBudget::kLargeBytes);
    if (counted_bytes_ / kLarge != (counted_bytes_ + change) / kLarge) engine_->trimmer().note();
  }
  counted_bytes_ += change;
  return room;
}

bool Lane::unanswered(ByteBuffer& out) const {
  std::map<std::string, size_t> counts;
  slots_.each_open([&](const Request& request) {
    if (request.stage == Request::Stage::Queued) ++counts[request.model->spec().name];
  });
  for (const auto& [name, count] : counts) {
    if (!out.append(std::to_string(count) + ' ' + name + '\0')) return false;
  }
  return true;
}

void Lane::poke(bool drop_kept) {
  if (drop_kept) drop_due_.store(true);
  completions_.wake();
}

void Lane::close() {
  completions_.close();
  turn_.clear();
  budget_->give(static_cast<uint64_t>(std::exchange(counted_bytes_, 0)));
  slots_.each_open([this](const Request& request) {
    const bool is_task = request.group != nullptr && request.group->whole != &request;
    if (!is_task) cancel(ticket_of(request));  // tasks with what they are of
  });
  for (Request* request : completions_.wait_for_all()) {
    slots_.unpin(*request);
    request->model.reset();
  }
  slots_.unpin_tasks();
  table_ = std::make_shared<EngineTable>();
  inline_runner_.close();
  // The thread that completed last may still hold this lane: were it the last holder of the
  // engine too, the engine would be taken down, and its threads joined, on one of those threads.
  engine_.reset();
}

}  // namespace serval
