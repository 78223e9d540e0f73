// See engine.h. Control plane: load threads, and the thread that asks.
#include "engine/engine.h"

#include <malloc.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <exception>

#include "base/clock.h"
#include "engine/listener.h"
#include "engine/spec_codec.h"

namespace serval {

namespace {

std::mutex process_mutex;
std::weak_ptr<Engine> process_engine;  // guarded by process_mutex

}  // namespace

Engine::Engine(EngineOptions options) : options_(std::move(options)) {
  backends_["null"] = make_null_backend();
  backends_["onnxruntime"] =
      make_onnxruntime_backend(options_.onnxruntime_library, options_.intra_op_threads);
  auto table = std::make_shared<EngineTable>();
  table->models.resize(1);
  table->routes = std::make_shared<RouteTable>();
  table_ = std::move(table);
}

Engine::~Engine() {
  {
    std::lock_guard lock(task_mutex_);
    stopping_ = true;
  }
  task_ready_.notify_all();
  for (std::thread& thread : task_threads_) thread.join();
}

std::shared_ptr<Engine> Engine::acquire(const EngineOptions& options) {
  std::lock_guard lock(process_mutex);
  std::shared_ptr<Engine> engine = process_engine.lock();
  if (engine == nullptr) {
    engine = std::make_shared<Engine>(options);
    process_engine = engine;
  }
  return engine;
}

std::shared_ptr<const EngineTable> Engine::table() {
  std::lock_guard lock(mutex_);
  return table_;
}

// Caller holds mutex_.
void Engine::replace_table(std::shared_ptr<EngineTable> table) {
  table->epoch = table_->epoch + 1;
  table_ = std::move(table);
  epoch_.store(table_->epoch, std::memory_order_release);
}

void Engine::publish_routes(RouteTable routes) {
  std::lock_guard lock(mutex_);
  auto table = std::make_shared<EngineTable>(*table_);
  table->routes = std::make_shared<RouteTable>(std::move(routes));
  replace_table(std::move(table));
}

void Engine::add_listener(const std::shared_ptr<Listener>& listener) {
  std::lock_guard lock(mutex_);
  listeners_.push_back(listener);
}

void Engine::remove_listener(Listener* listener) {
  std::lock_guard lock(mutex_);
  std::erase_if(listeners_, [&](const std::weak_ptr<Listener>& entry) {
    const std::shared_ptr<Listener> held = entry.lock();
    return held == nullptr || held.get() == listener;
  });
}

void Engine::poke_listeners() {
  std::vector<std::weak_ptr<Listener>> listeners;
  {
    std::lock_guard lock(mutex_);
    listeners = listeners_;
  }
  for (const std::weak_ptr<Listener>& entry : listeners) {
    if (const std::shared_ptr<Listener> listener = entry.lock()) listener->poke();
  }
}

void Engine::start_task(std::function<void()> task) {
  std::lock_guard lock(task_mutex_);
  tasks_.push_back(std::move(task));
  if (tasks_idle_ < tasks_.size() &&
      task_threads_.size() < static_cast<size_t>(std::max(1, options_.load_threads))) {
    task_threads_.emplace_back([this] { run_tasks(); });
  }
  task_ready_.notify_one();
}

void Engine::run_tasks() {
  pthread_setname_np(pthread_self(), "sv-load");
  std::unique_lock lock(task_mutex_);
  for (;;) {
    ++tasks_idle_;
    task_ready_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    --tasks_idle_;
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;
    malloc_trim(0);  // what building or freeing a session left over goes back to the system
    lock.lock();
  }
}

void Engine::load(ModelSpec spec, Request& request, std::shared_ptr<Listener> listener) {
  request.listener = std::move(listener);
  start_task([this, spec = std::move(spec), &request]() mutable {
    run_load(std::move(spec), request);
  });
}

Result<std::shared_ptr<Model>> Engine::load_model(ModelSpec spec) {
  const auto backend = backends_.find(spec.backend);
  if (backend == backends_.end()) {
    return invalid_argument("unknown backend '" + spec.backend +
                            "', expected 'onnxruntime' or 'null'");
  }
  const uint64_t start = now_ns();
  Result<std::shared_ptr<BackendModel>> loaded = backend->second->load(spec);
  if (!loaded.ok()) return std::move(loaded.error());
  const auto load_us = static_cast<int64_t>((now_ns() - start) / 1000);
  std::lock_guard lock(mutex_);
  auto table = std::make_shared<EngineTable>(*table_);
  const auto handle = static_cast<uint32_t>(table->models.size());
  auto model =
      std::make_shared<Model>(handle, std::move(spec), std::move(loaded.value()), load_us);
  model->start();
  table->models.push_back(model);
  replace_table(std::move(table));
  return model;
}

// Foreign exceptions (a runtime's, the allocator's) end the load, not the process.
Result<std::shared_ptr<Model>> Engine::guarded_load(ModelSpec spec) {
  try {
    return load_model(std::move(spec));
  } catch (const std::exception& problem) {
    return make_error(ErrorCode::Internal, std::string("exception: ") + problem.what());
  } catch (...) {
    return make_error(ErrorCode::Internal, "unknown exception");
  }
}

void Engine::run_load(ModelSpec spec, Request& request) {
  Result<std::shared_ptr<Model>> model = guarded_load(std::move(spec));
  if (!model.ok()) {
    finish_request(request, model.error());
    return;
  }
  request.response.clear();
  if (write_model_info(*model.value(), request.response)) {
    model.value().reset();
    finish_request(request);
  } else {
    finish_request(request, make_error(ErrorCode::Internal, "out of memory"));
  }
}

void Engine::unload(uint32_t handle, Request& request, std::shared_ptr<Listener> listener) {
  request.listener = std::move(listener);
  start_task([this, handle, &request] { run_unload(handle, request); });
}

// Takes the model out of the table, then waits until nobody else holds it: listeners drop the old
// table when poked, requests drop the model when they are released.
void Engine::run_unload(uint32_t handle, Request& request) {
  std::shared_ptr<Model> model;
  {
    std::lock_guard lock(mutex_);
    if (const std::shared_ptr<Model>* found = table_->find(handle)) {
      model = *found;
      auto table = std::make_shared<EngineTable>(*table_);
      table->models[handle].reset();
      replace_table(std::move(table));
    }
  }
  if (model == nullptr) {
    finish_request(request, make_error(ErrorCode::ModelNotFound,
                                       "unload: no model has handle " + std::to_string(handle)));
    return;
  }
  poke_listeners();
  while (model.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  model->stop();
  model.reset();
  request.response.clear();
  finish_request(request);
}

}  // namespace serval
