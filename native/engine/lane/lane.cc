// Opens and closes a lane and its tickets. Hot path for completions, control plane otherwise.
// Thread: the listener's.
#include "engine/lane/lane.h"

#include <map>
#include <string>
#include <utility>

namespace serval {

Lane::Lane(std::shared_ptr<Engine> engine, const ServeSettings& settings, LaneHooks* hooks)
    : state_(std::move(engine), settings, *hooks),
      traces_(state_.engine->tracer()),
      replies_(state_, traces_),
      inline_runner_(state_.engine->inline_watch(), state_.settings, state_.budget.get()),
      turn_(inline_runner_, state_.completions),
      queueing_(state_, turn_),
      bodies_(state_),
      intake_(state_, traces_, replies_, queueing_, inline_runner_),
      tasks_(state_, traces_, replies_, queueing_, inline_runner_),
      compressed_bodies_(state_, traces_, replies_, queueing_, intake_),
      held_bytes_(state_) {}

Result<uint32_t> Lane::open_control() {
  Request* request = state_.slots.open();
  if (request == nullptr) return no_slot();
  request->stage = Request::Stage::Control;
  state_.completions.add_working(1);
  return state_.slots.ticket_of(*request);
}

size_t Lane::take_completed(std::span<Request*> out) {
  state_.published();
  if (state_.home->take_drop_due()) {
    state_.slots.drop_kept();
    state_.hooks.drop_kept();
  }
  for (;;) {
    const size_t taken = state_.completions.take(out);
    size_t count = 0;
    for (Request* request : out.first(taken)) {
      if (request->again && goes_on(*request)) continue;
      if (request->group != nullptr) request = tasks_.finish(*request);
      if (request != nullptr) out[count++] = request;
    }
    // Nothing else would wake the thread for the remaining requests.
    if (count != 0 || taken == 0) return count;
  }
}

// For a request that waited for its model's load. False: it ended.
bool Lane::goes_on(Request& request) {
  return request.protocol == Protocol::TfMultiInference ? tasks_.begin_again(request)
                                                        : queueing_.push_again(request);
}

void Lane::release_taken(uint32_t ticket) {
  Request* request = state_.slots.find(ticket);
  if (request != nullptr && request->stage == Request::Stage::Taken) state_.slots.release(*request);
}

bool Lane::cancel(uint32_t ticket) {
  Request* request = state_.slots.find(ticket);
  if (request == nullptr) return true;
  if (request->stage == Request::Stage::Body || request->stage == Request::Stage::Kept) {
    state_.slots.release(*request);
    return true;
  }
  return request->stage == Request::Stage::Tasks ? tasks_.cancel(*request)
                                                 : queueing_.withdraw(*request);
}

bool Lane::unanswered(ByteBuffer& out) const {
  std::map<std::string, size_t> counts;
  state_.slots.each_open([&](const Request& request) {
    if (request.stage == Request::Stage::Queued) ++counts[request.model->spec().name];
  });
  for (const auto& [name, count] : counts) {
    if (!out.append(std::to_string(count) + ' ' + name + '\0')) return false;
  }
  return true;
}

void Lane::close() {
  state_.completions.close();
  turn_.clear();
  held_bytes_.release_all();
  state_.slots.each_open([this](const Request& request) {
    const bool is_task = request.group != nullptr && request.group->whole != &request;
    if (!is_task) cancel(state_.slots.ticket_of(request));  // this also cancels its tasks
  });
  for (Request* request : state_.completions.wait_for_all()) {
    state_.slots.unpin(*request);
    request->model.reset();
    request->admission.end();
  }
  state_.slots.unpin_tasks();
  state_.drop_published();
  inline_runner_.close();
  state_.engine.reset();
}

}  // namespace serval
