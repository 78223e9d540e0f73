// Puts an arrival into its model's queue: a slot with its bytes, the push, and its withdrawal. Hot
// path (queued requests); the listener's thread.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/lane/arrival.h"
#include "engine/lane/state.h"
#include "engine/lane/turn.h"
#include "engine/model/model.h"

namespace serval {

class Queueing {
 public:
  Queueing(LaneState& state, TurnRequests& turn) : state_(state), turn_(turn) {}

  // Returns a slot with the bytes of the arrival. Errors: queue_full (no slot left), memory_full.
  Result<Request*> accept(const Arrival& arrival);
  // Marks a request as queued. `spent_ns`: the part of the request's time limit that an ended run
  // on this thread used.
  void begin(Request& request, const std::shared_ptr<Model>& model, const Arrival& arrival,
             uint64_t spent_ns);
  // Puts a request into its model's queue. Once queued, the request may already be finished and
  // recycled: don't touch it. Errors, after which the caller still owns the request, whose model
  // may be another one, and the lane's list of models may be replaced: queue_full, model_not_ready.
  Status push(Request& request, const std::shared_ptr<Model>& model);
  // Takes up a request that waited for its model's load (Request::again): gives it the model that
  // took the place, which may have left again. The lane's list of models may be replaced. Errors:
  // cancelled; model_not_ready: it was unloaded.
  Status take_up(Request& request);
  // Puts such a request into its model's queue. Returns false if it ended instead, with its outcome
  // stored.
  bool enter(Request& request);
  // Does both.
  bool push_again(Request& request);
  // Ends a request whose client left. Returns true if it was waiting and is released; otherwise a
  // completion follows.
  bool withdraw(Request& request);

 private:
  Status accept_message(const Arrival& arrival, Request& request);
  Status push_own(Request& request);
  bool find_successor(Request& request);

  LaneState& state_;
  TurnRequests& turn_;
};

}  // namespace serval
