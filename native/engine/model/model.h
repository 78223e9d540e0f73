// One loaded version of one model: its backend models, its queue, its instances' policy, its
// counters. Shared by listeners and instance threads; immutable except for the guarded members.
// Instance threads start with the first queued request and end when they were idle for a while.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend/backend.h"
#include "engine/cache/model_cache.h"
#include "engine/limits/request_limits.h"
#include "engine/model/batch_probe.h"
#include "engine/model/request_queue.h"
#include "engine/model/shapes.h"
#include "engine/observe/request_log.h"
#include "engine/turns/run_turns.h"
#include "engine/watch/deadline_timer.h"
#include "engine/watch/inline_policy.h"
#include "engine/watch/memory_trimmer.h"
#include "engine/watch/running.h"
#include "stats/access_log.h"
#include "stats/model_stats.h"

namespace serval {

class AbsentModels;
class Batcher;
class TraceSampler;
class Tracer;
class SharedRegions;

struct ModelCounters {
  std::atomic<uint64_t> requests_inline{0}, requests_queued{0}, failures{0}, cancelled{0},
      queue_full{0}, queue_ns{0}, compute_ns{0}, retried{0};
};

// One session of the model (one per device) with its spare scratches.
class Replica {
 public:
  explicit Replica(std::shared_ptr<BackendModel> backend) : backend_(std::move(backend)) {}
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  BackendModel& backend() { return *backend_; }
  // Returns a scratch for one run; return it with give_scratch(). Any thread.
  // While a run on a listener's thread has the last spare one, waits for it: one more would take
  // memory of the device.
  std::unique_ptr<BackendScratch> take_scratch();
  // Returns a scratch that is not used now; nullptr if there is none.
  std::unique_ptr<BackendScratch> take_spare();
  // Begins a run on a listener's thread of a model on a device; one at a time, others get nothing.
  class ListenerRun {
   public:
    explicit ListenerRun(Replica& of) : lock_(of.listener_mutex_, std::try_to_lock), of_(of) {
      if (lock_.owns_lock()) of.listener_runs_.store(true);
    }
    ~ListenerRun() {
      if (lock_.owns_lock()) of_.listener_runs_.store(false);
    }
    ListenerRun(const ListenerRun&) = delete;
    ListenerRun& operator=(const ListenerRun&) = delete;
    bool begun() const { return lock_.owns_lock(); }

   private:
    std::unique_lock<std::mutex> lock_;
    Replica& of_;
  };
  void give_scratch(std::unique_ptr<BackendScratch> scratch);
  // Runs on its device now; counted if a model has several devices.
  std::atomic<int>& running() { return running_; }

 private:
  const std::shared_ptr<BackendModel> backend_;
  std::atomic<BackendScratch*> scratch_at_hand_{nullptr};  // owned; a single user needs no lock
  std::mutex scratch_mutex_;
  std::vector<std::unique_ptr<BackendScratch>> scratches_;  // guarded by scratch_mutex_
  std::atomic<int> running_{0};
  std::mutex listener_mutex_;               // held during a ListenerRun
  std::atomic<bool> listener_runs_{false};  // a ListenerRun is in progress
};

class Model;

// Chooses the session that an instance runs on: of those that can run, the one whose device has the
// fewest runs, among equal ones the instance's own; if none can run, chooses among all. (A session
// that fails at once would always have the fewest runs.) Hot path; while this object exists, the
// session counts as running.
class ReplicaUse {
 public:
  ReplicaUse(Model& model, size_t own);
  ~ReplicaUse() {
    if (counted_ != nullptr) counted_->running().fetch_sub(1, std::memory_order_relaxed);
  }
  ReplicaUse(const ReplicaUse&) = delete;
  ReplicaUse& operator=(const ReplicaUse&) = delete;
  size_t index() const { return index_; }

 private:
  size_t index_;
  Replica* counted_ = nullptr;
};

// Starts a thread. Throws std::system_error if none can be started.
using StartThread = std::thread (*)(std::function<void()> run);
inline std::thread start_thread(std::function<void()> run) { return std::thread(std::move(run)); }

// Services that the engine lends to its models. They outlive the models.
struct ModelServices {
  AccessLog* access_log = nullptr;
  bool records = true;             // statistics and metrics
  MemoryBudget* budget = nullptr;  // the engine's, which outlives its models
  DeadlineTimer* timer = nullptr;  // watches the deadlines of running requests
  StartThread start_thread = serval::start_thread;
  Tracer* tracer = nullptr;  // for models whose requests may be traced
  RequestLog* request_log = nullptr;
  const SharedRegions* shared_regions = nullptr;  // regions that requests may name; null = none
  MemoryTrimmer* trimmer = nullptr;               // receives long runs; null = none
  uint64_t process_wait_ns = 0;  // how long a request waits for its model's process; 0 = not at all
  ResponseCache* response_cache = nullptr;  // of models that ask for it; null = none
  AbsentModels* absent = nullptr;           // of a model that is not loaded (absent.h), else null
  std::shared_ptr<RequestLimits> limits = nullptr;  // of the model's requests; null = none
  bool summaries = false;                           // its statistics have summaries
  RunTurns* turns = nullptr;  // of the runs of all models; null = runs need none
};

// Runs the queued requests of a model whose requests depend on each other (engine/sequence).
class RequestLoop {
 public:
  virtual ~RequestLoop() = default;
  // Runs until the model's queue is closed, or needs one instance less. Thread: one instance's.
  virtual void run_instance(size_t replica) = 0;
  virtual size_t active() const = 0;   // sequences that have a slot; any thread
  virtual size_t waiting() const = 0;  // sequences that wait for one; any thread
  // Requests that left the queue and do not run yet. Any thread.
  virtual size_t requests() const = 0;
  // The model is unloaded: nothing follows the requests that it has. Any thread.
  virtual void retire() = 0;
};

class Model final : public Timed, public EqualRequests {
 public:
  // `shapes`: made from the backend's signatures and the spec. `finding`: the result of
  // probe_batching().
  Model(uint32_t handle, ModelSpec spec, std::vector<std::shared_ptr<BackendModel>> replicas,
        ModelShapes shapes, int64_t load_us, ModelServices services, BatchFinding finding = {});
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  uint32_t handle() const { return handle_.load(std::memory_order_relaxed); }
  // Gives it the handle of the absent model whose place it takes. Before it gets requests.
  void set_handle(uint32_t handle) { handle_.store(handle, std::memory_order_relaxed); }
  const ModelSpec& spec() const { return spec_; }
  const std::string& version_text() const { return version_text_; }
  size_t replica_count() const { return replicas_.size(); }
  Replica& replica(size_t index) { return *replicas_[index % replicas_.size()]; }
  // The signatures that clients see: the backend's, with the configuration's dimensions.
  const std::vector<Signature>& signatures() const { return shapes_.signatures(); }
  const ModelShapes& shapes() const { return shapes_; }
  const BackendModelInfo& info() { return replicas_[0]->backend().info(); }
  int64_t load_us() const { return load_us_; }
  InlinePolicy& policy() { return policy_; }
  RequestQueue& queue() { return queue_; }
  RunningRequests& running() { return running_; }
  // The turns of its queued runs.
  RunFlow& turns() { return turns_; }
  ModelCounters& counters() { return counters_; }
  // Counts a run's time. Any thread.
  void count_run(uint64_t ns) {
    counters_.compute_ns.fetch_add(ns, std::memory_order_relaxed);
    if (services_.trimmer != nullptr) services_.trimmer->note_run(ns);
  }
  ModelStats& stats() { return stats_; }
  // Statistics of the model and its queue. Control plane, any thread.
  StatsReading read_stats();
  const ModelServices& services() const { return services_; }
  // Limits of its requests, shared with its other versions; null = none.
  const std::shared_ptr<RequestLimits>& limits() const { return services_.limits; }
  // Selects the requests to log; null if there is no log.
  RequestTap* tap() const { return tap_.get(); }

  // The mode that BatchPolicy.mode resulted in, and the finding of the probe.
  BatchMode batch_mode() const { return batch_mode_; }
  // Whether its inputs may be in GPU memory, wherever it runs.
  bool takes_device_memory() const { return takes_device_memory_; }
  const BatchFinding& batch_finding() const { return batch_finding_; }
  // The schema of a tabular model, else null.
  const TableSchema* table() const { return table_.get(); }
  // Whether its replicas are RaggedModels.
  bool is_ragged() const { return is_ragged_; }
  // Whether runs change the results of later runs.
  bool stateful() { return info().stateful; }
  // Whether the first dim is the batch, by the configuration or by the probe.
  bool batch_dim() const { return spec_.batch_dim || batch_mode_ != BatchMode::Off; }
  bool inputs_batchable() const { return shapes_.batchable(); }
  // Why its responses are not cached although its configuration asks for it; "" = they are, or it
  // does not.
  std::string why_not_cached();
  // Null if its responses are not cached.
  ModelCache* cache() { return cache_.get(); }
  // Makes a request wait until the equal request that runs has ended. Thread: instance.
  void wait_for_equal(Request& request);
  // Null if requests run one by one.
  Batcher* batcher() { return batcher_.get(); }
  // Null if its requests are independent. Set before the first request.
  RequestLoop* loop() const { return loop_.get(); }
  void set_loop(std::unique_ptr<RequestLoop> loop) { loop_ = std::move(loop); }
  // Returns the rows of a request: the first dim of its first present input if that is the batch,
  // as it always is in a tabular model; else 1.
  uint32_t rows_of(std::span<const TensorView> inputs) const;

  // Whether requests wait for the model's process or run, instead of failing at once. Any thread.
  bool can_wait();
  // The error for a request whose model's process did not return in time. Any thread.
  Error outage();

  // Whether it is not loaded: requests wait until the loaded model takes its place.
  bool is_absent() const { return services_.absent != nullptr; }
  // Gives the waiting requests of an absent model back to their lanes, which look for the model
  // that took its place. Any thread.
  void hand_over();
  // Answers the waiting requests of an absent model with the error; the next one asks again. Any
  // thread.
  void refuse_all(const Error& error);

  // Starts an instance thread if the waiting requests need one more; if none can be started and
  // there is no other instance, answers the waiting requests with that error. Call after a push and
  // before the queue's notify(); any thread but an instance's. An absent model asks to be loaded.
  void attend();
  // Calls attend() and wakes a waiting instance.
  void wake();
  // Closes the queue; answers waiting requests with ModelNotReady. Not from an instance thread.
  void refuse_waiting();
  // Does the same and joins the instances.
  void stop();
  // Instance threads that are running requests.
  std::atomic<int>& busy() { return busy_; }
  // The sampler of the model's traces; null without a tracer. Set when rules change.
  std::atomic<TraceSampler*>& trace_sampler() { return trace_sampler_; }
  uint64_t expire() override;

 private:
  std::atomic<uint32_t> handle_;
  ModelSpec spec_;  // constant after construction
  const std::string version_text_;
  std::vector<std::unique_ptr<Replica>> replicas_;  // fixed from the start
  const ModelShapes shapes_;
  const int64_t load_us_;
  const ModelServices services_;
  const std::shared_ptr<RequestTap> tap_;
  const std::shared_ptr<const TableSchema> table_;
  const bool is_ragged_;
  const BatchFinding batch_finding_;
  const BatchMode batch_mode_;
  bool takes_device_memory_ = true;  // constant after construction
  InlinePolicy policy_;
  RequestQueue queue_;
  RunningRequests running_;
  RunFlow turns_;
  ModelCounters counters_;
  ModelStats stats_;
  std::atomic<int> busy_{0};
  std::atomic<TraceSampler*> trace_sampler_{nullptr};
  std::unique_ptr<ModelCache> cache_;  // constant after construction
  std::unique_ptr<Batcher> batcher_;
  std::unique_ptr<RequestLoop> loop_;
  // An instance's place, which determines its replica.
  struct Place {
    std::thread thread;
    bool free = true;  // its thread has ended, except for the last instructions
  };
  void run_ended(const CacheKey& key) override;
  void pad_to(std::span<const uint32_t> rows);
  void follow_readiness();
  void end_hold(bool returned);
  std::string start_instance();  // returns the error, "" = none
  void run_place(size_t index);

  std::mutex places_mutex_;
  std::vector<Place> places_;       // guarded by places_mutex_
  bool stopped_ = false;            // guarded by places_mutex_
  std::atomic<bool> asked_{false};  // of an absent model: a request waits

  std::mutex hold_mutex_;
  // Guarded by hold_mutex_: when the queue was held, and the counts of requests then.
  struct {
    uint64_t ns = 0, waited = 0, retried = 0;
  } held_since_;
};

}  // namespace serval
