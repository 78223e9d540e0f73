// Runs the loop of an instance. Hot path (queued requests). Thread: instance.
#include "engine/model/instance.h"

#include <pthread.h>

#include "base/clock.h"
#include "engine/model/batcher.h"
#include "engine/model/model.h"
#include "engine/model/queued.h"
#include "engine/model/refusals.h"
#include "engine/model/running_scope.h"
#include "engine/model/serve.h"
#include "engine/request/completion.h"
#include "engine/request/home.h"

namespace serval {

namespace {

// Hot path: queue. A queued request, from here on as on the listener's thread.
void answer(Model& model, size_t replica, ServeMemory& memory, Request& request) {
  if (request.cancel.cancelled()) {
    finish_refused(model, request, client_left());
    return;
  }
  uint64_t queue_ns = request.queued.elapsed_ns();
  const ServeInput input = input_of(request, &request.cancel);
  Request* const one = &request;
  bool served = false;
  {
    const RunningScope running(model, {&one, 1});
    const ReplicaUse use(model, replica);
    RunTurn turn(model.turns());
    if (turn.needed()) queue_ns += turn.wait(&request.cancel, use.index());
    served = serve(input, model, use.index(), queue_ns, request.home->settings(), memory, request);
  }
  if (served) complete_one(request);
  else if (request.waits_for_equal) model.wait_for_equal(request);
  else put_back(model, {&one, 1});
}

}  // namespace

void run_instance(Model& model, int index) {
  const std::string name = "sv-" + model.spec().name.substr(0, 9) + "-" + std::to_string(index);
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  const auto replica = static_cast<size_t>(index);
  if (model.batcher() != nullptr) return model.batcher()->run_instance(replica);
  if (model.loop() != nullptr) return model.loop()->run_instance(replica);
  ServeMemory memory(model.services().budget);
  std::vector<Request*> late;
  for (;;) {
    late.clear();
    Request* request = model.queue().pop(late);
    finish_late(model, late);
    if (request != nullptr) answer(model, replica, memory, *request);
    else if (late.empty()) return;
  }
}

}  // namespace serval
