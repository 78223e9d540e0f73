// The engine: one per process, shared by all listeners. Loads and unloads models on threads of its
// own and publishes what listeners see as one immutable table. Control plane; listeners read the
// table.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/model.h"
#include "engine/route_table.h"

namespace serval {

class Listener;

struct EngineOptions {
  std::string onnxruntime_library;
  int intra_op_threads = 0;  // the pool shared by all models; 0 = the cores of this process
  int load_threads = 2;
};

// What listeners see. Replaced whole.
struct EngineTable {
  uint64_t epoch = 0;
  std::vector<std::shared_ptr<Model>> models;  // by handle; [0] is empty, unloaded ones too
  std::shared_ptr<const RouteTable> routes;

  const std::shared_ptr<Model>* find(uint32_t handle) const {
    if (handle >= models.size() || models[handle] == nullptr) return nullptr;
    return &models[handle];
  }
};

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  explicit Engine(EngineOptions options);
  // Waits for loads that run, stops all models.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The process's engine; made with `options` by the first caller, gone with the last holder.
  static std::shared_ptr<Engine> acquire(const EngineOptions& options);

  // Starts a load; `request` (a control ticket of `listener`) completes with ModelInfo bytes or the
  // error. Takes the spec.
  void load(ModelSpec spec, Request& request, std::shared_ptr<Listener> listener);
  // Starts an unload; completes when the last request is done and the memory is released.
  // Errors (by completion): model_not_found.
  void unload(uint32_t handle, Request& request, std::shared_ptr<Listener> listener);
  void publish_routes(RouteTable routes);

  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  std::shared_ptr<const EngineTable> table();

  void add_listener(const std::shared_ptr<Listener>& listener);
  void remove_listener(Listener* listener);

 private:
  void run_load(ModelSpec spec, Request& request);
  void run_unload(uint32_t handle, Request& request);
  Result<std::shared_ptr<Model>> load_model(ModelSpec spec);
  Result<std::shared_ptr<Model>> guarded_load(ModelSpec spec);
  void replace_table(std::shared_ptr<EngineTable> table);
  void start_task(std::function<void()> task);
  void run_tasks();
  void poke_listeners();

  const EngineOptions options_;
  std::map<std::string, std::unique_ptr<Backend>, std::less<>> backends_;  // fixed from the start
  std::atomic<uint64_t> epoch_{0};
  std::mutex mutex_;
  std::shared_ptr<const EngineTable> table_;         // guarded by mutex_
  std::vector<std::weak_ptr<Listener>> listeners_;   // guarded by mutex_
  std::mutex task_mutex_;
  std::condition_variable task_ready_;
  std::deque<std::function<void()>> tasks_;  // guarded by task_mutex_
  std::vector<std::thread> task_threads_;    // guarded by task_mutex_
  size_t tasks_idle_ = 0;                    // guarded by task_mutex_
  bool stopping_ = false;                    // guarded by task_mutex_
};

}  // namespace serval
