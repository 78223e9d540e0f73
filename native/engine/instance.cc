// See instance.h. Thread: instance.
#include "engine/instance.h"

#include <pthread.h>

#include <exception>
#include <string>

#include "base/clock.h"
#include "engine/listener.h"
#include "engine/serve.h"

namespace serval {

namespace {

// Nothing here throws but the allocator, and foreign code that a backend did not fence in: that
// ends one request, not the process.
Status guarded_serve(const ServeInput& input, Model& model, Request& request, Worker& worker) {
  try {
    return serve(input, model, request.listener->limits(), worker, request.response,
                 request.json_bytes_out);
  } catch (const std::exception& problem) {
    return make_error(ErrorCode::Internal, std::string("exception: ") + problem.what());
  } catch (...) {
    return make_error(ErrorCode::Internal, "unknown exception");
  }
}

// Hot path 4/12. A queued request, from here on as on the listener's thread.
void answer(Model& model, Worker& worker, Request& request) {
  model.counters().queue_ns.fetch_add(request.queued.elapsed_ns(), std::memory_order_relaxed);
  const Stopwatch watch;
  if (request.cancel.cancelled.load(std::memory_order_relaxed)) {
    model.counters().cancelled.fetch_add(1, std::memory_order_relaxed);
    finish_request(request, make_error(ErrorCode::Cancelled, "the client went away"));
    return;
  }
  const ServeInput input{request.protocol, request.bytes(), request.json_bytes, &request.cancel};
  const size_t body_bytes = input.body.size();
  Status done = guarded_serve(input, model, request, worker);
  if (model.policy().measures()) {
    model.policy().record(request.protocol, body_bytes, watch.elapsed_ns());
  }
  if (done.ok()) {
    finish_request(request);
  } else {
    finish_request(request, done.error());
  }
}

}  // namespace

void run_instance(Model& model, int index) {
  const std::string name = "sv-" + model.spec().name.substr(0, 9) + "-" + std::to_string(index);
  pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
  Worker worker;
  while (Request* request = model.queue().pop()) answer(model, worker, *request);
}

}  // namespace serval
