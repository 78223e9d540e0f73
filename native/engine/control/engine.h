// The engine: one per process, shared by all listeners. Loads and unloads models on its own threads
// and publishes what listeners see as one immutable object. Control plane; listeners read it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/cpu/cores.h"
#include "base/memory_budget.h"
#include "engine/cache/response_cache.h"
#include "engine/control/asked_models.h"
#include "engine/control/metrics.h"
#include "engine/control/quiet_work.h"
#include "engine/control/task_threads.h"
#include "engine/limits/limited_models.h"
#include "engine/model/model.h"
#include "engine/observe/tracer.h"
#include "engine/published/published.h"
#include "engine/request/home.h"
#include "engine/shm/regions.h"
#include "engine/watch/deadline_timer.h"
#include "engine/watch/inline_watch.h"
#include "engine/watch/memory_trimmer.h"
#include "gpu/pinned_pool.h"
#include "stats/server_stats.h"

namespace serval {

struct EngineOptions {
  std::string onnxruntime_library;
  // threads of the pool shared by all models; 0 = one per core of this process
  int intra_op_threads = 0;
  int load_threads = 2;
  bool records = true;                 // statistics and metrics
  int64_t unload_ms_max = 30'000;      // how long an unload waits for running requests
  uint64_t memory_limit = UINT64_MAX;  // total bytes that requests may hold
  uint64_t pinned_pool_bytes = gpu::kPinnedPoolBytes;  // pinned host memory for GPUs; 0 = none
  // how long a request waits for its model's process to return; 0 = not at all
  uint64_t isolate_wait_ms = 5000;
  uint64_t response_cache_bytes = 0;                // 0 = no response cache
  LatencyMetrics latency_metrics;                   // of Triton's metrics
  bool rate_limit = false;                          // Triton's rate limiter is on
  std::string rate_limit_resources;                 // its counts, for read_rate_counts()
  StartThread start_thread = serval::start_thread;  // for instances
};

class Engine : public std::enable_shared_from_this<Engine> {
 public:
  explicit Engine(EngineOptions options);
  // Waits for running loads, ends warm-ups, stops all models.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Returns the process's engine. The first caller makes it with `options`; it is destroyed with
  // its last holder.
  static std::shared_ptr<Engine> acquire(const EngineOptions& options);

  // Starts a load; `request` (a control ticket of the lane `home`) completes with ModelInfo bytes
  // or the error. Moves from `spec`.
  void load(ModelSpec spec, Request& request, std::shared_ptr<Home> home);
  // Starts an unload; completes when the last request is done and the memory is released. Warm-ups
  // of the model are ended at once; requests that run longer than EngineOptions::unload_ms_max, and
  // those queued after them, end with ModelNotReady. Errors (by completion): model_not_found.
  void unload(uint32_t handle, Request& request, std::shared_ptr<Home> home);
  // Publishes a model that is not loaded (absent.h) by the name, version and queue of `spec`.
  // Returns its handle.
  uint32_t reserve(const ModelSpec& spec);
  // Gives a loaded model the handle of an absent one, whose waiting requests it gets; the handle
  // that it had is free. Errors: model_not_found (one of the two), invalid_argument (the one at
  // `place` is loaded).
  Status put(uint32_t handle, uint32_t place);
  // Unloads a model as unload() does, but keeps its handle: an absent model takes its place.
  void evict(uint32_t handle, Request& request, std::shared_ptr<Home> home);
  // Answers the requests that wait for an absent model with the error. Errors: model_not_found.
  Status refuse_waiting(uint32_t handle, const Error& error);
  // Completes with the handles (u32) of absent models that have requests, as soon as there are any;
  // with none when it is cancelled. One request at a time.
  void take_asked(Request& request, std::shared_ptr<Home> home);
  void publish_routes(RouteChange change);
  // Publishes the callers, from engine.fbs CallerTable bytes. Errors:
  // invalid_argument.
  Status publish_callers(std::span<const uint8_t> callers);
  // Runs one request message on every session of a loaded model; completes with the last session's
  // response. Not counted in statistics. Moves from `message`. Errors (by completion):
  // model_not_found, those of serve(); cancelled or model_not_ready if the ticket is cancelled or
  // the model is unloaded meanwhile.
  void warm_up(uint32_t handle, Protocol protocol, std::vector<uint8_t> message, Request& request,
               std::shared_ptr<Home> home);
  // Completes with the metrics of all models as Prometheus text.
  void metrics(MetricsKind kind, Request& request, std::shared_ptr<Home> home);
  // Completes with RequestLogBatch bytes: the logged requests that were not taken yet, the oldest
  // first.
  void take_request_log(Request& request, std::shared_ptr<Home> home);

  DeadlineTimer& timer() { return timer_; }
  InlineWatch& inline_watch() { return inline_watch_; }
  AccessLog& access_log() { return access_log_; }
  Tracer& tracer() { return tracer_; }
  // Sets the tracing rules for the loaded models and for models that are loaded later. Any thread.
  void set_traces(const TraceRules& rules);
  RequestLog& request_log() { return request_log_; }
  ServerStats& server_stats() { return server_stats_; }
  // Listeners hold the budget: they release their memory after they drop the engine.
  const std::shared_ptr<MemoryBudget>& budget() const { return budget_; }
  MemoryTrimmer& trimmer() { return trimmer_; }
  // Shared memory that requests may name.
  SharedRegions& shared_regions() { return shared_regions_; }
  // Threads that decompress request bodies.
  TaskThreads& inflating() { return inflating_; }
  // Threads that free large blocks of memory.
  TaskThreads& freeing() { return freeing_; }

  uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  std::shared_ptr<const Published> published();

  // Lanes that are notified when it is replaced.
  void add_lane(const std::shared_ptr<Home>& home);
  void remove_lane(const Home& home);

 private:
  void run_load(ModelSpec spec, Request& request);
  void run_unload(uint32_t handle, bool keeps_place, Request& request);
  void start_unload(uint32_t handle, bool keeps_place, Request& request,
                    std::shared_ptr<Home> home);
  ModelServices model_services(const ModelSpec& spec);
  std::shared_ptr<Model> make_absent(uint32_t handle, const ModelSpec& spec);
  Status run_warm_up(uint32_t handle, Protocol protocol, std::span<const uint8_t> message,
                     Request& request);
  void run_metrics(MetricsKind kind, Request& request);
  Status run_take_request_log(Request& request);
  Result<std::vector<std::shared_ptr<BackendModel>>> load_replicas(const ModelSpec& spec);
  Result<std::shared_ptr<BackendModel>> bind_ensemble(const ModelSpec& spec);
  // The results of a load before its model exists.
  struct Loaded {
    std::vector<std::shared_ptr<BackendModel>> replicas;
    ModelShapes shapes;
    BatchFinding finding;
  };
  Result<Loaded> make_loaded(const ModelSpec& spec);
  bool is_quiet(const ModelSpec& spec) const;
  Result<Loaded> make_quietly(const ModelSpec& spec);
  Result<std::shared_ptr<Model>> load_model(ModelSpec spec);
  void publish_next(std::shared_ptr<Published> next);
  void poke_lanes(bool drop_kept = false);

  const EngineOptions options_;
  const std::shared_ptr<MemoryBudget> budget_;
  const std::unique_ptr<ResponseCache> response_cache_;  // null if there is none
  AccessLog access_log_;
  Tracer tracer_;
  RequestLog request_log_;
  ServerStats server_stats_;
  SharedRegions shared_regions_;
  DeadlineTimer timer_;
  InlineWatch inline_watch_;
  std::map<std::string, std::unique_ptr<Backend>, std::less<>> backends_;  // fixed from the start
  AskedModels asked_models_;
  LimitedModels limited_models_;
  const std::unique_ptr<RunTurns> turns_;
  std::atomic<uint64_t> epoch_{0};
  std::mutex mutex_;
  std::shared_ptr<const Published> published_;  // guarded by mutex_
  uint32_t next_handle_ = 1;                    // guarded by mutex_
  std::vector<std::weak_ptr<Home>> lanes_;      // guarded by mutex_
  TaskThreads loads_;                           // loads and warm-ups
  QuietWork quiet_;                             // the long part of loads
  // unloads wait for requests in flight; separate threads, so that no load waits for them
  TaskThreads unloads_;
  TaskThreads quick_;  // metrics: never wait for loads or unloads
  TaskThreads inflating_;
  TaskThreads freeing_;
  MemoryTrimmer trimmer_;
};

}  // namespace serval
