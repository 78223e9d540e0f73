// Models that are served but not loaded: the engine's calls for them, and the ones that requests
// wait for. Control plane; asked() on the hot path of a first request.
#include <utility>

#include "base/clock.h"
#include "engine/control/asked_models.h"
#include "engine/control/engine.h"
#include "engine/model/absent.h"
#include "engine/request/completion.h"

namespace serval {

namespace {

Error no_place(const char* call, uint32_t handle) {
  return make_error(ErrorCode::ModelNotFound,
                    std::string(call) + ": no model has handle " + std::to_string(handle));
}

void finish_with(Request& request, const std::vector<uint32_t>& handles) {
  request.response.clear();
  const auto* bytes = reinterpret_cast<const uint8_t*>(handles.data());
  if (request.response.append(bytes, handles.size() * sizeof(uint32_t))) finish_request(request);
  else finish_request(request, make_error(ErrorCode::MemoryFull, "out of memory"));
}

}  // namespace

void AskedModels::asked(uint32_t handle) {
  Request* waiter = nullptr;
  std::vector<uint32_t> handles;
  {
    const std::lock_guard lock(mutex_);
    handles_.push_back(handle);
    waiter = std::exchange(waiter_, nullptr);
    if (waiter != nullptr) handles.swap(handles_);
  }
  if (waiter == nullptr) return;
  waiter->cancel.leave_run(*this);
  finish_with(*waiter, handles);
}

// Registers first: a request that is handed over here may be completed at once by asked().
void AskedModels::take(Request& request) {
  Request* before = nullptr;
  bool ends = false;
  std::vector<uint32_t> handles;
  request.cancel.begin_run(*this);
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(waiter_, nullptr);
    ends = !handles_.empty() || request.cancel.cancelled();
    if (ends) handles.swap(handles_);
    else waiter_ = &request;
  }
  if (before != nullptr) {
    before->cancel.leave_run(*this);
    finish_with(*before, {});
  }
  if (!ends) return;
  request.cancel.leave_run(*this);
  finish_with(request, handles);
}

// Thread: the lane's, which takes the completion after it has set the flag.
void AskedModels::end_run() {
  Request* waiter = nullptr;
  {
    const std::lock_guard lock(mutex_);
    waiter = std::exchange(waiter_, nullptr);
  }
  if (waiter != nullptr) finish_with(*waiter, {});
}

// Caller holds mutex_.
std::shared_ptr<Model> Engine::make_absent(uint32_t handle, const ModelSpec& spec) {
  auto model = make_absent_model(handle, spec, model_services(spec), asked_models_);
  model->trace_sampler().store(tracer_.sampler_of(spec.name));
  return model;
}

uint32_t Engine::reserve(const ModelSpec& spec) {
  trimmer_.note();  // what the control plane used for many models is free soon
  std::lock_guard lock(mutex_);
  auto next = std::make_shared<Published>(*published_);
  const uint32_t handle = next_handle_++;
  next->models = published_->models.with(handle, make_absent(handle, spec));
  publish_next(std::move(next));
  return handle;
}

Status Engine::put(uint32_t handle, uint32_t place) {
  std::shared_ptr<Model> absent;
  {
    std::lock_guard lock(mutex_);
    const std::shared_ptr<Model>* loaded = published_->find(handle);
    const std::shared_ptr<Model>* found = published_->find(place);
    if (loaded == nullptr) return no_place("put", handle);
    if (found == nullptr) return no_place("put", place);
    if ((*loaded)->is_absent() || !(*found)->is_absent()) {
      return invalid_argument(
          "put: expected a loaded model and the place of one that is not, got " +
          std::to_string(handle) + " and " + std::to_string(place));
    }
    absent = *found;
    (*loaded)->set_handle(place);
    auto next = std::make_shared<Published>(*published_);
    next->models = published_->models.with(place, *loaded).with(handle, nullptr);
    publish_next(std::move(next));
  }
  absent->hand_over();
  poke_lanes();  // so that they drop the absent model
  return {};
}

void Engine::evict(uint32_t handle, Request& request, std::shared_ptr<Home> home) {
  start_unload(handle, true, request, std::move(home));
}

Status Engine::refuse_waiting(uint32_t handle, const Error& error) {
  std::shared_ptr<Model> absent;
  {
    std::lock_guard lock(mutex_);
    if (const std::shared_ptr<Model>* found = published_->find(handle)) absent = *found;
  }
  if (absent == nullptr || !absent->is_absent()) return no_place("refuse", handle);
  absent->refuse_all(error);
  return {};
}

void Engine::take_asked(Request& request, std::shared_ptr<Home> home) {
  request.home = std::move(home);
  asked_models_.take(request);
}

}  // namespace serval
