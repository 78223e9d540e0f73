// Wake-ups at the end of an event-loop iteration. Hot path (queued requests); the listener's
// thread.
#include "engine/lane/turn.h"

#include <algorithm>

#include "engine/model/queued.h"
#include "engine/model/record.h"
#include "engine/model/refusals.h"

namespace serval {

void TurnRequests::add(const std::shared_ptr<Model>& model, Request& request) {
  for (Unflushed& one : models_) {
    if (one.model != model) continue;
    one.only = nullptr;
    if (++one.requests % std::max<uint32_t>(1, model->spec().batch.rows_max) == 0) {
      model->wake();  // a batch is full: don't wait for the end of the iteration
    }
    return;
  }
  models_.push_back({model, &request, 1});
}

void TurnRequests::flush() {
  if (models_.empty()) return;
  std::vector<Unflushed> unflushed;
  unflushed.swap(models_);
  for (const Unflushed& one : unflushed) flush_model(one.model, one.only);
  if (models_.empty()) {
    unflushed.clear();
    models_.swap(unflushed);  // keeps its memory
  }
}

void TurnRequests::flush_model(const std::shared_ptr<Model>& model, Request* only) {
  const bool idle =
      model->spec().batch.delay_us == 0 && model->busy().load(std::memory_order_relaxed) == 0;
  if (only != nullptr && idle && !model->policy().on_device() &&
      only->stage == Request::Stage::Queued &&
      model->policy().run_inline(only->protocol, only->bytes().size()) &&
      model->queue().take_if_alone(only)) {
    run_here(*model, *only);
    return;
  }
  model->wake();
}

// Hot path: queue. A request that would be a batch of one: the thread that has it answers it.
void TurnRequests::run_here(Model& model, Request& request) {
  const ServeInput input = input_of(request, nullptr);
  if (!inline_runner_.run(model, input, request.queued.elapsed_ns(), kNever, request)) {
    const std::shared_ptr<Model> held = request.model;  // the request may be gone once it is pushed
    if (push_request(held, request, Entry::Again) == RequestQueue::Push::Taken) return;
    end_request(model, request, gone(model.handle()));
  }
  request.home.reset();
  completions_.complete_here(request);
}

}  // namespace serval
