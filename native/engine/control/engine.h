// The engine: one per process, shared by all listeners. Loads and unloads models on threads of its
// own and publishes what listeners see as one immutable table. Control plane; listeners read the
// table.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/memory_budget.h"
#include "engine/control/metrics.h"
#include "engine/control/task_threads.h"
#include "engine/model/model.h"
#include "engine/observe/tracer.h"
#include "engine/request/home.h"
#include "engine/shm/regions.h"
#include "engine/tables/engine_table.h"
#include "engine/watch/deadline_timer.h"
#include "engine/watch/inline_watch.h"
#include "engine/watch/memory_trimmer.h"
#include "gpu/pinned_pool.h"
#include "stats/server_stats.h"

namespace serval {

struct EngineOptions {
  std::string onnxruntime_library;
  int intra_op_threads = 0;  // the pool shared by all models; 0 = the cores of this process
  int load_threads = 2;
  bool records = true;                 // statistics and metrics
  int64_t unload_ms_max = 30'000;      // how long an unload waits for requests that run
  uint64_t memory_limit = UINT64_MAX;  // bytes that requests may hold in all
  uint64_t pinned_pool_bytes = gpu::kPinnedPoolBytes;  // of the host, for GPUs; 0 = none
  StartThread start_thread = serval::start_thread;     // for instances
};

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  explicit Engine(EngineOptions options);
  // Waits for loads that run, ends warm-ups, stops all models.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // The process's engine; made with `options` by the first caller, gone with the last holder.
  static std::shared_ptr<Engine> acquire(const EngineOptions& options);

  // Starts a load; `request` (a control ticket of the lane `home`) completes with ModelInfo bytes
  // or the error. Takes the spec.
  void load(ModelSpec spec, Request& request, std::shared_ptr<Home> home);
  // Starts an unload; completes when the last request is done and the memory is released. Warm-ups
  // of the model are ended at once; requests that run longer than EngineOptions::unload_ms_max, and
  // those behind them, are answered ModelNotReady.
  // Errors (by completion): model_not_found.
  void unload(uint32_t handle, Request& request, std::shared_ptr<Home> home);
  void publish_routes(RouteChange change);
  // Runs one request message on every session of a loaded model; the last one's answer completes
  // it. Not counted in statistics. Takes the message. Errors (by completion): model_not_found,
  // those of serve(); cancelled or model_not_ready where the ticket is cancelled or the model
  // unloaded meanwhile.
  void warm_up(uint32_t handle, Protocol protocol, std::vector<uint8_t> message, Request& request,
               std::shared_ptr<Home> home);
  // Completes with the metrics of all models as Prometheus text.
  void metrics(MetricsKind kind, Request& request, std::shared_ptr<Home> home);
  // Completes with RequestLogBatch bytes: what was logged and is not taken yet, the oldest first.
  void take_request_log(Request& request, std::shared_ptr<Home> home);

  DeadlineTimer& timer() { return timer_; }
  InlineWatch& inline_watch() { return inline_watch_; }
  AccessLog& access_log() { return access_log_; }
  Tracer& tracer() { return tracer_; }
  // Sets rules of tracing, for the models that are there and those that come. Any thread.
  void set_traces(const TraceRules& rules);
  RequestLog& request_log() { return request_log_; }
  ServerStats& server_stats() { return server_stats_; }
  // Listeners keep it: their memory is given back after they let go of the engine.
  const std::shared_ptr<MemoryBudget>& budget() const { return budget_; }
  MemoryTrimmer& trimmer() { return trimmer_; }
  // Shared memory that requests may name.
  SharedRegions& shared_regions() { return shared_regions_; }
  // Threads that unpack compressed bodies.
  TaskThreads& inflating() { return inflating_; }
  // Where large blocks of memory are freed.
  TaskThreads& freeing() { return freeing_; }

  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  std::shared_ptr<const EngineTable> table();

  // Lanes that are notified of a new table.
  void add_lane(const std::shared_ptr<Home>& home);
  void remove_lane(const Home& home);

 private:
  void run_load(ModelSpec spec, Request& request);
  void run_unload(uint32_t handle, Request& request);
  Status run_warm_up(uint32_t handle, Protocol protocol, std::span<const uint8_t> message,
                     Request& request);
  void run_metrics(MetricsKind kind, Request& request);
  Status run_take_request_log(Request& request);
  Result<std::vector<std::shared_ptr<BackendModel>>> load_replicas(const ModelSpec& spec);
  Result<std::shared_ptr<Model>> load_model(ModelSpec spec);
  void replace_table(std::shared_ptr<EngineTable> table);
  void poke_lanes(bool drop_kept = false);

  const EngineOptions options_;
  const std::shared_ptr<MemoryBudget> budget_;
  AccessLog access_log_;
  Tracer tracer_;
  RequestLog request_log_;
  ServerStats server_stats_;
  SharedRegions shared_regions_;
  DeadlineTimer timer_;
  InlineWatch inline_watch_;
  std::map<std::string, std::unique_ptr<Backend>, std::less<>> backends_;  // fixed from the start
  std::atomic<uint64_t> epoch_{0};
  std::mutex mutex_;
  std::shared_ptr<const EngineTable> table_;  // guarded by mutex_
  uint32_t next_handle_ = 1;                  // guarded by mutex_
  std::vector<std::weak_ptr<Home>> lanes_;    // guarded by mutex_
  TaskThreads loads_;                         // loads and warm-ups
  TaskThreads unloads_;  // these wait for requests in flight: no load waits behind them
  TaskThreads quick_;    // metrics: never behind either
  TaskThreads inflating_;
  TaskThreads freeing_;
  MemoryTrimmer trimmer_;
};

}  // namespace serval
