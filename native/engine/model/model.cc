// Starts and ends a model's instances and lends its scratches. Scratches, attend and wake: hot
// path, any thread; stop: control plane.
#include "engine/model/model.h"

#include <algorithm>
#include <climits>
#include <system_error>

#include "backend/isolated/isolated.h"
#include "base/clock.h"
#include "engine/model/absent.h"
#include "engine/model/batcher.h"
#include "engine/model/instance.h"
#include "engine/model/queued.h"
#include "engine/model/refusals.h"
#include "engine/ragged/ragged_model.h"
#include "engine/request/completion.h"

namespace serval {

namespace {

// The turns that the model's queued runs need; null = none. An ensemble leaves them to its steps:
// it counts as using the cores if those run on its thread.
RunTurns* turns_for(const ModelSpec& spec, const BackendModelInfo& info, RunTurns* turns) {
  if (turns == nullptr) return nullptr;
  const bool needs = spec.ensemble.empty()
                         ? turns->limits_rates() || (info.computes && !info.on_gpu)
                         : !info.waits;
  return needs ? turns : nullptr;
}

double turn_weight(const ModelSpec& spec, const RunTurns* turns) {
  if (turns == nullptr || !turns->limits_rates()) return spec.turn_weight;
  return static_cast<double>(std::max(1, spec.instances)) / spec.rate_priority;
}

// Whether the requests of a model on a GPU may run one by one on a listener's thread. The runtime
// records CUDA graphs for each thread, and plans a size that is not one of the padded sizes once
// more, which would take that thread's time.
bool may_run_inline(const ModelSpec& spec, const BackendModelInfo& info, size_t devices) {
  const DeviceRuns& runs = info.device_runs;
  const bool is_padded = !spec.batch.allowed_rows.empty() || !runs.fixed_rows.empty();
  const bool records = !spec.graph_rows.empty() && runs.why.empty();
  const bool is_isolated = !info.computes;
  return devices == 1 && !is_padded && (is_isolated || !records);
}

ExecMode exec_mode(const ModelSpec& spec, const BackendModelInfo& info, size_t devices,
                   const RunTurns* turns) {
  const bool limited = turns != nullptr && turns->limits_rates();
  if (info.waits || limited) return ExecMode::Queued;
  if (!info.on_gpu || spec.exec_mode == ExecMode::Queued) return spec.exec_mode;
  return may_run_inline(spec, info, devices) ? ExecMode::Auto : ExecMode::Queued;
}

}  // namespace

// moves the scratch at hand into scratches_, which frees it
Replica::~Replica() { give_scratch(nullptr); }

std::unique_ptr<BackendScratch> Replica::take_scratch() {
  std::unique_ptr<BackendScratch> spare = take_spare();
  while (spare == nullptr && listener_runs_.load()) {
    { const std::lock_guard<std::mutex> until_run_ended(listener_mutex_); }
    spare = take_spare();
  }
  if (spare == nullptr) spare = take_spare();  // of a run that ended between both looks
  return spare == nullptr ? backend_->make_scratch() : std::move(spare);
}

std::unique_ptr<BackendScratch> Replica::take_spare() {
  if (BackendScratch* at_hand = scratch_at_hand_.exchange(nullptr, std::memory_order_acq_rel)) {
    return std::unique_ptr<BackendScratch>(at_hand);
  }
  std::lock_guard lock(scratch_mutex_);
  if (scratches_.empty()) return nullptr;
  std::unique_ptr<BackendScratch> scratch = std::move(scratches_.back());
  scratches_.pop_back();
  return scratch;
}

void Replica::give_scratch(std::unique_ptr<BackendScratch> scratch) {
  scratch.reset(scratch_at_hand_.exchange(scratch.release(), std::memory_order_acq_rel));
  if (scratch == nullptr) return;
  std::lock_guard lock(scratch_mutex_);
  scratches_.push_back(std::move(scratch));
}

ReplicaUse::ReplicaUse(Model& model, size_t own) : index_(own % model.replica_count()) {
  const size_t count = model.replica_count();
  if (count == 1) return;
  int least = INT_MAX;
  bool some_can = false;
  for (size_t i = 0; i < count; ++i) {
    const size_t index = (own + i) % count;
    Replica& replica = model.replica(index);
    const bool can = replica.backend().can_run();
    const int running = replica.running().load(std::memory_order_relaxed);
    if (can < some_can || (can == some_can && running >= least)) continue;
    some_can = can;
    least = running;
    index_ = index;
  }
  counted_ = &model.replica(index_);
  counted_->running().fetch_add(1, std::memory_order_relaxed);
}

Model::Model(uint32_t handle, ModelSpec spec, std::vector<std::shared_ptr<BackendModel>> replicas,
             ModelShapes shapes, int64_t load_us, ModelServices services, BatchFinding finding)
    : handle_(handle),
      spec_(std::move(spec)),
      version_text_(std::to_string(spec_.version)),
      shapes_(std::move(shapes)),
      load_us_(load_us),
      services_(services),
      tap_(services.request_log == nullptr ? nullptr : services.request_log->tap(spec_.name)),
      table_(replicas[0]->info().table),
      is_ragged_(serval::is_ragged(spec_)),
      batch_finding_(std::move(finding)),
      batch_mode_(effective_mode(spec_.batch, shapes_, replicas[0]->info().stateful,
                                 batch_finding_.proof, table_ != nullptr)),
      policy_(exec_mode(spec_, replicas[0]->info(), replicas.size(), services.turns),
              spec_.inline_us_max, replicas[0]->info().on_gpu),
      queue_(spec_.queue),
      turns_(turns_for(spec_, replicas[0]->info(), services.turns),
             turn_weight(spec_, services.turns), spec_.rate_resources, spec_.devices_or_host(),
             {.model = spec_.name, .by_steps = !spec_.ensemble.empty()}),
      stats_(services_.summaries) {
  for (std::shared_ptr<BackendModel>& backend : replicas) {
    takes_device_memory_ &= backend->info().takes_device_memory;
    replicas_.push_back(std::make_unique<Replica>(std::move(backend)));
  }
  queue_.set_consumers(
      std::max(static_cast<size_t>(std::max(1, spec_.instances)), replicas_.size()));
  if (batch_mode_ != BatchMode::Off) {
    if (!is_ragged_) pad_to(replicas_[0]->backend().info().device_runs.fixed_rows);
    batcher_ = std::make_unique<Batcher>(*this);
  }
  if (spec_.response_cache && why_not_cached().empty()) {
    cache_ = std::make_unique<ModelCache>(*services_.response_cache, *this);
  }
  queue_.set_process_wait(services_.process_wait_ns);
  if (services_.process_wait_ns == 0) return;
  for (const auto& one : replicas_) {
    one->backend().on_readiness([this] { follow_readiness(); });
  }
  follow_readiness();
}

Model::~Model() {
  for (const auto& one : replicas_) one->backend().on_readiness({});
  stop();
}

// Holds the queue while no session can run and one of them returns in time. Thread: any, or the one
// that changed a session's readiness, which holds the lock of that session's process.
void Model::follow_readiness() {
  std::lock_guard lock(hold_mutex_);
  const uint64_t limit_ns = now_ns() + services_.process_wait_ns;
  bool returns = false;
  for (const auto& one : replicas_) {
    const Readiness readiness = one->backend().readiness();
    if (readiness == Readiness::Ready) return end_hold(true);
    returns |= readiness == Readiness::Returning && one->backend().returns_ns() <= limit_ns;
  }
  if (!returns) return end_hold(false);
  if (queue_.held()) return;
  held_since_ = {now_ns(), queue_.waited_for_process(), counters_.retried.load()};
  queue_.hold();
}

// The caller holds hold_mutex_.
void Model::end_hold(bool returned) {
  if (!queue_.release()) return;
  const uint64_t waited = queue_.waited_for_process() - held_since_.waited;
  if (waited == 0) return;
  note_isolated_wait({spec_.name, spec_.version, waited,
                      counters_.retried.load() - held_since_.retried,
                      (now_ns() - held_since_.ns) / kNsPerMs, returned});
}

bool Model::can_wait() {
  return services_.process_wait_ns != 0 &&
         (queue_.held() || std::any_of(replicas_.begin(), replicas_.end(),
                                       [](const auto& one) { return one->backend().can_run(); }));
}

Error Model::outage() { return replicas_[0]->backend().outage(); }

// Batches are padded to the sizes that run fast on a GPU, unless the configuration names sizes.
void Model::pad_to(std::span<const uint32_t> rows) {
  BatchPolicy& policy = spec_.batch;
  if (rows.empty() || !policy.allowed_rows.empty() || policy.any_rows) return;
  for (const uint32_t one : rows) {
    if (one < policy.rows_max) policy.allowed_rows.push_back(one);
  }
  policy.allowed_rows.push_back(policy.rows_max);
}

uint32_t Model::rows_of(std::span<const TensorView> inputs) const {
  if (!batch_dim() && table_ == nullptr) return 1;
  const auto first = std::ranges::find_if(
      inputs, [](const TensorView& input) { return input.dtype != DType::Invalid; });
  if (first == inputs.end() || first->shape.rank() == 0) return 1;
  const int64_t rows = first->shape[0];
  return static_cast<uint32_t>(std::min<int64_t>(rows, UINT32_MAX));
}

StatsReading Model::read_stats() {
  StatsReading reading = stats_.read();
  reading.pending = queue_.size() + (loop_ == nullptr ? 0 : loop_->requests());
  return reading;
}

std::string Model::why_not_cached() {
  if (!spec_.response_cache) return "";
  const std::string begin = "cached responses: ";
  if (services_.response_cache == nullptr) {
    return begin + "the server has no cache (--cache-config local,size=BYTES)";
  }
  if (info().stateful) return begin + "a run of the model changes the results of later runs";
  if (spec_.batch.preserve_ordering) {
    return begin + "preserve_ordering keeps responses in the order of the requests";
  }
  return "";
}

// The other request may end before this one waits: whoever sees that lets it continue.
void Model::wait_for_equal(Request& request) {
  const CacheKey key = request.equal_key;
  const std::shared_ptr<Model> self = request.model;
  const uint64_t limit_ns = time_limit_of(request);
  request.waited_for_equal = true;
  if (!queue_.park(&request)) {
    finish_refused(*this, request, unloaded_waiting(*this));
    return;
  }
  // From here on the request may be finished. Its limit may have been looked at while no queue had
  // it.
  if (limit_ns != kNever && services_.timer != nullptr) services_.timer->watch(self, limit_ns);
  if (!cache_->has_leader(key)) run_ended(key);
}

// Any thread.
void Model::run_ended(const CacheKey& key) {
  if (queue_.unpark(key)) attend();
}

void Model::hand_over() {
  for (Request* request : queue_.close()) {
    request->again = true;
    complete_one(*request);
  }
}

// Asks again from here on: a request that enters the queue meanwhile is refused too, or asks.
void Model::refuse_all(const Error& error) {
  asked_.store(false);
  for (Request* request : queue_.strand()) finish_refused(*this, *request, error);
}

void Model::attend() {
  if (services_.absent != nullptr) {
    if (!asked_.exchange(true)) services_.absent->asked(handle());
    return;
  }
  if (!queue_.claim_consumer()) [[likely]]
    return;
  const std::string problem = start_instance();
  if (problem.empty()) return;
  queue_.unclaim();  // the next request tries again
  for (Request* request : queue_.strand()) {
    finish_refused(*this, *request, no_instance(*this, problem));
  }
}

std::string Model::start_instance() {
  std::lock_guard lock(places_mutex_);
  if (stopped_) return "";
  auto place =
      std::find_if(places_.begin(), places_.end(), [](const Place& one) { return one.free; });
  if (place == places_.end()) place = places_.emplace(places_.end());
  if (place->thread.joinable()) place->thread.join();
  const auto index = static_cast<size_t>(place - places_.begin());
  try {
    place->thread = services_.start_thread([this, index] { run_place(index); });
    place->free = false;
  } catch (const std::system_error& problem) {
    place->free = true;
    return problem.code().message();
  }
  return "";
}

uint64_t Model::expire() {
  std::vector<Request*> late;
  queue_.expire(late);
  finish_late(*this, late);
  return std::min(queue_.next_expiry_ns(), running_.expire());
}

void Model::wake() {
  attend();
  queue_.notify();
}

// Thread: instance.
void Model::run_place(size_t index) {
  queue_.arrive();
  turns_.instance_began();
  run_instance(*this, static_cast<int>(index));
  turns_.instance_ended();
  std::lock_guard lock(places_mutex_);
  places_[index].free = true;
}

void Model::refuse_waiting() {
  for (Request* request : queue_.close()) {
    finish_request(*request, unloaded_waiting(*this));
  }
}

void Model::stop() {
  refuse_waiting();
  {
    std::lock_guard lock(places_mutex_);
    stopped_ = true;
  }
  // No more places are added; an instance takes the lock when it ends.
  for (Place& place : places_) {
    if (place.thread.joinable()) place.thread.join();
  }
}

}  // namespace serval
