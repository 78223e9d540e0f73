// The engine's loads, unloads and warm-ups. Control plane: load threads, and the calling thread.
#include "engine/control/engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>

#include "backend/isolated/isolated.h"
#include "base/clock.h"
#include "base/threads.h"
#include "engine/control/metrics.h"
#include "engine/control/request_log/batch.h"
#include "engine/control/spec/codec.h"
#include "engine/ensemble/ensemble.h"
#include "engine/model/refusals.h"
#include "engine/model/running_scope.h"
#include "engine/model/serve.h"
#include "engine/ragged/ragged_model.h"
#include "engine/request/catch_exceptions.h"
#include "engine/request/completion.h"
#include "engine/sequence/loop.h"

namespace serval {

namespace {

constexpr int kUnloadThreads = 4;
constexpr int kInflateThreads = 2;  // compressed bodies that are decompressed at a time

std::mutex process_mutex;
std::weak_ptr<Engine> process_engine;  // guarded by process_mutex

// Counts that cannot be read were refused before, by Link::attach().
std::unique_ptr<RunTurns> make_turns(const EngineOptions& options) {
  if (!options.rate_limit) return std::make_unique<RunTurns>(usable_cores());
  Result<std::vector<RateCount>> counts = read_rate_counts(options.rate_limit_resources);
  return std::make_unique<RunTurns>(counts.ok() ? std::move(counts.value())
                                                : std::vector<RateCount>());
}

int usable_threads() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

}  // namespace

Engine::Engine(EngineOptions options)
    : options_(std::move(options)),
      budget_(std::make_shared<MemoryBudget>(options_.memory_limit)),
      response_cache_(
          options_.response_cache_bytes == 0
              ? nullptr
              : std::make_unique<ResponseCache>(options_.response_cache_bytes, *budget_)),
      request_log_(*budget_),
      turns_(make_turns(options_)),
      loads_("sv-load", options_.load_threads, true),
      quiet_(options_.load_threads),
      unloads_("sv-unload", kUnloadThreads, true),
      quick_("sv-quick", 1, false),
      inflating_("sv-inflate", kInflateThreads, false),
      freeing_("sv-free", 1, false),
      trimmer_(
          budget_, [this] { poke_lanes(true); },
          [this] {
            for (const auto& [name, backend] : backends_) backend->release_unused();
          }) {
  budget_->on_first_kept([this] { trimmer_.note(); });
  gpu::PinnedPool::process().set_limit(options_.pinned_pool_bytes);
  const size_t slash = options_.onnxruntime_library.rfind('/');
  if (slash != std::string::npos) {  // `serval gpu install` puts CUDA's beside it
    gpu::set_cuda_folder(options_.onnxruntime_library.substr(0, slash));
  }
  backends_["null"] = make_null_backend();
  auto& onnxruntime = backends_["onnxruntime"] =
      make_onnxruntime_backend(options_.onnxruntime_library, options_.intra_op_threads);
  backends_[kIsolatedBackend] = make_isolated_backend(budget_.get());
  backends_["tabular"] = make_tabular_backend(onnxruntime.get());
  auto next = std::make_shared<Published>();
  next->routes = std::make_shared<RouteTable>();
  next->callers = std::make_shared<CallerTable>();
  published_ = std::move(next);
}

Engine::~Engine() {
  published()->models.each([](Model& model) { model.running().end_all(EndCause::Unloaded); });
  loads_.finish();
  unloads_.finish();
  quiet_.finish();
  quick_.finish();
  inflating_.finish();
  freeing_.finish();
  budget_->on_first_kept({});
  trimmer_.finish();
  budget_->drop_unused(0);
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

std::shared_ptr<const Published> Engine::published() {
  std::lock_guard lock(mutex_);
  return published_;
}

// Caller holds mutex_.
void Engine::publish_next(std::shared_ptr<Published> next) {
  next->epoch = published_->epoch + 1;
  published_ = std::move(next);
  epoch_.store(published_->epoch, std::memory_order_release);
}

void Engine::publish_routes(RouteChange change) {
  std::lock_guard lock(mutex_);
  auto next = std::make_shared<Published>(*published_);
  next->routes = std::make_shared<RouteTable>(published_->routes->with(std::move(change)));
  publish_next(std::move(next));
}

Status Engine::publish_callers(std::span<const uint8_t> callers) {
  std::lock_guard lock(mutex_);
  Result<std::shared_ptr<const CallerTable>> table = published_->callers->next(callers);
  if (!table.ok()) return std::move(table.error());
  auto next = std::make_shared<Published>(*published_);
  next->callers = std::move(table.value());
  publish_next(std::move(next));
  return {};
}

void Engine::set_traces(const TraceRules& rules) {
  // no model may be loaded between setting the rules and applying them to the models
  std::lock_guard lock(mutex_);
  tracer_.set(rules);
  published_->models.each(
      [this](Model& model) { model.trace_sampler().store(tracer_.sampler_of(model.spec().name)); });
}

void Engine::add_lane(const std::shared_ptr<Home>& home) {
  std::lock_guard lock(mutex_);
  lanes_.push_back(home);
}

void Engine::remove_lane(const Home& home) {
  std::lock_guard lock(mutex_);
  std::erase_if(lanes_, [&](const std::weak_ptr<Home>& entry) {
    const std::shared_ptr<Home> held = entry.lock();
    return held == nullptr || held.get() == &home;
  });
}

void Engine::poke_lanes(bool drop_kept) {
  std::vector<std::weak_ptr<Home>> lanes;
  {
    std::lock_guard lock(mutex_);
    lanes = lanes_;
  }
  for (const std::weak_ptr<Home>& entry : lanes) {
    if (const std::shared_ptr<Home> home = entry.lock()) home->poke(drop_kept);
  }
}

void Engine::load(ModelSpec spec, Request& request, std::shared_ptr<Home> home) {
  request.home = std::move(home);
  const bool started = loads_.start(
      [this, spec = std::move(spec), &request]() mutable { run_load(std::move(spec), request); });
  if (!started) finish_request(request, no_thread("load"));
}

// Loads one session per device, or one session if no devices are named.
Result<std::vector<std::shared_ptr<BackendModel>>> Engine::load_replicas(const ModelSpec& spec) {
  std::vector<std::shared_ptr<BackendModel>> replicas;
  if (spec.backend == kEnsembleBackend) {
    Result<std::shared_ptr<BackendModel>> made = bind_ensemble(spec);
    if (!made.ok()) return std::move(made.error());
    replicas.push_back(std::move(made.value()));
    return replicas;
  }
  const auto backend = backends_.find(spec.backend);
  if (backend == backends_.end()) {
    return invalid_argument("unknown backend '" + spec.backend +
                            "', expected 'onnxruntime', 'tabular', 'ensemble' or 'null'");
  }
  if (!spec.operator_libraries.empty()) {
    return invalid_argument("model '" + spec.name +
                            "' has operator libraries, which are foreign code: expected it in an "
                            "isolated process, got it in the server");
  }
  const size_t count = std::max<size_t>(1, spec.devices.size());
  for (size_t i = 0; i < count; ++i) {
    ModelSpec one = spec;
    if (!spec.devices.empty()) {
      for (Provider& provider : one.providers) {
        if (provider.name != "cuda" && provider.name != "tensorrt") continue;
        std::erase_if(provider.options, [](const auto& it) { return it.first == "device_id"; });
        provider.options.emplace_back("device_id", std::to_string(spec.devices[i]));
      }
    }
    Result<std::shared_ptr<BackendModel>> loaded = backend->second->load(one);
    if (!loaded.ok()) return std::move(loaded.error());
    replicas.push_back(std::move(loaded.value()));
  }
  return replicas;
}

// Errors: model_invalid, also if a step's model is not loaded.
Result<std::shared_ptr<BackendModel>> Engine::bind_ensemble(const ModelSpec& spec) {
  std::vector<std::shared_ptr<Model>> models;
  {
    // hold only the models: an unload waits for holders of what was published
    const std::shared_ptr<const Published> current = published();
    for (const EnsembleStep& step : spec.ensemble) {
      const std::shared_ptr<Model>* found = current->find(step.handle);
      if (found == nullptr) {
        return make_error(ErrorCode::ModelInvalid, "step " + std::to_string(models.size() + 1) +
                                                       " is not loaded: no model has handle " +
                                                       std::to_string(step.handle));
      }
      models.push_back(*found);
    }
  }
  return make_ensemble(spec, models, budget_.get());
}

ModelServices Engine::model_services(const ModelSpec& spec) {
  return {&access_log_,
          options_.records,
          budget_.get(),
          &timer_,
          options_.start_thread,
          &tracer_,
          &request_log_,
          &shared_regions_,
          &trimmer_,
          options_.isolate_wait_ms * kNsPerMs,
          response_cache_.get(),
          nullptr,
          limited_models_.of(spec.name, spec.limits),
          !options_.latency_metrics.summary_quantiles.empty(),
          turns_.get()};
}

// The long part of a load. Load threads.
Result<Engine::Loaded> Engine::make_loaded(const ModelSpec& spec) {
  Result<std::vector<std::shared_ptr<BackendModel>>> replicas = load_replicas(spec);
  if (!replicas.ok()) return std::move(replicas.error());
  if (spec.ensemble.empty()) {
    const Status limited = turns_->check(spec.name, spec.rate_resources, spec.devices_or_host());
    if (!limited.ok()) return limited.error();
  }
  Status wrapped = add_ragged(spec, budget_.get(), replicas.value());
  if (wrapped.ok()) wrapped = add_sequences(spec, replicas.value());
  if (!wrapped.ok()) return std::move(wrapped.error());
  const Status retries = check_retry(spec, replicas.value()[0]->info());
  if (!retries.ok()) return retries.error();
  Result<ModelShapes> shapes = ModelShapes::make(spec, replicas.value()[0]->info().signatures,
                                                 replicas.value()[0]->info().table.get());
  if (!shapes.ok()) return std::move(shapes.error());
  BatchFinding finding = probe_batching(spec, shapes.value(), *replicas.value()[0]);
  return Loaded{std::move(replicas.value()), std::move(shapes.value()), std::move(finding)};
}

// Whether loads and unloads of the model may run at idle priority.
bool Engine::is_quiet(const ModelSpec& spec) const {
  const auto backend = backends_.find(spec.backend);
  return backend != backends_.end() && backend->second->loads_quietly(spec);
}

// The same at idle priority, if that is possible.
Result<Engine::Loaded> Engine::make_quietly(const ModelSpec& spec) {
  if (is_quiet(spec)) {
    auto made = std::make_shared<std::optional<Result<Loaded>>>();
    const bool ended = quiet_.run(
        [this, spec, made] { made->emplace(catch_exceptions([&] { return make_loaded(spec); })); });
    if (ended) return std::move(**made);
  }
  return make_loaded(spec);
}

Result<std::shared_ptr<Model>> Engine::load_model(ModelSpec spec) {
  const uint64_t start = now_ns();
  Result<Loaded> loaded = make_quietly(spec);
  if (!loaded.ok()) return std::move(loaded.error());
  auto& [replicas, shapes, finding] = loaded.value();
  if (spec.backend == kEnsembleBackend) {
    const bool waits = replicas[0]->info().waits;
    spec.instances = std::max(spec.instances, waits ? kEnsembleThreads : usable_threads());
  }
  const auto load_us = static_cast<int64_t>((now_ns() - start) / 1000);
  uint32_t handle = 0;
  {
    std::lock_guard lock(mutex_);
    handle = next_handle_++;
  }
  // starts threads: listeners must not wait for it at the lock
  ModelServices services = model_services(spec);
  auto model =
      std::make_shared<Model>(handle, std::move(spec), std::move(replicas), std::move(shapes),
                              load_us, std::move(services), std::move(finding));
  set_sequence_loop(*model);
  std::lock_guard lock(mutex_);
  auto next = std::make_shared<Published>(*published_);
  model->trace_sampler().store(tracer_.sampler_of(model->spec().name));
  next->models = published_->models.with(handle, model);
  publish_next(std::move(next));
  return model;
}

void Engine::run_load(ModelSpec spec, Request& request) {
  Result<std::shared_ptr<Model>> model =
      catch_exceptions([&] { return load_model(std::move(spec)); });
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

void Engine::unload(uint32_t handle, Request& request, std::shared_ptr<Home> home) {
  start_unload(handle, false, request, std::move(home));
}

void Engine::start_unload(uint32_t handle, bool keeps_place, Request& request,
                          std::shared_ptr<Home> home) {
  request.home = std::move(home);
  const bool started = unloads_.start(
      [this, handle, keeps_place, &request] { run_unload(handle, keeps_place, request); });
  if (!started) finish_request(request, no_thread("unload"));
}

// Publishes without the model, or with an absent one in its place, then waits until nobody else
// holds it: listeners drop what they hold when poked, requests drop the model when they are
// released.
void Engine::run_unload(uint32_t handle, bool keeps_place, Request& request) {
  std::shared_ptr<Model> model;
  {
    std::lock_guard lock(mutex_);
    const std::shared_ptr<Model>* found = published_->find(handle);
    if (found != nullptr && !(keeps_place && (*found)->is_absent())) {
      model = *found;
      auto next = std::make_shared<Published>(*published_);
      next->models = published_->models.with(
          handle, keeps_place ? make_absent(handle, model->spec()) : nullptr);
      publish_next(std::move(next));
    }
  }
  if (model == nullptr) {
    finish_request(request,
                   make_error(ErrorCode::ModelNotFound,
                              "unload: no loaded model has handle " + std::to_string(handle)));
    return;
  }
  model->running().end_warm_ups(EndCause::Unloaded);
  if (model->loop() != nullptr) model->loop()->retire();
  if (model->is_absent()) model->refuse_waiting();
  poke_lanes();
  const uint64_t limit_ns = now_ns() + static_cast<uint64_t>(options_.unload_ms_max) * 1'000'000;
  bool ended = false;
  while (model.use_count() > 1) {
    if (!ended && now_ns() >= limit_ns) {
      ended = true;
      model->refuse_waiting();
      model->running().end_all(EndCause::Unloaded);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  model->stop();
  // freeing a large model takes tens of milliseconds
  const bool quietly = is_quiet(model->spec());
  const auto left = std::make_shared<std::atomic<std::shared_ptr<Model>>>(std::move(model));
  const auto drop = [left] { left->exchange(nullptr).reset(); };
  if (!quietly || !quiet_.run(drop)) drop();
  request.response.clear();
  finish_request(request);
}

void Engine::warm_up(uint32_t handle, Protocol protocol, std::vector<uint8_t> message,
                     Request& request, std::shared_ptr<Home> home) {
  request.home = std::move(home);
  const bool started =
      loads_.start([this, handle, protocol, message = std::move(message), &request] {
        Status done =
            catch_exceptions([&] { return run_warm_up(handle, protocol, message, request); });
        if (done.ok()) return finish_request(request);
        request.response.clear();
        finish_request(request, done.error());
      });
  if (!started) finish_request(request, no_thread("warm-up"));
}

Status Engine::run_warm_up(uint32_t handle, Protocol protocol, std::span<const uint8_t> message,
                           Request& request) {
  // hold only the model: an unload waits for holders of what was published
  std::shared_ptr<Model> model;
  {
    const std::shared_ptr<const Published> current = published();
    if (const std::shared_ptr<Model>* found = current->find(handle)) model = *found;
  }
  if (model == nullptr) {
    return make_error(ErrorCode::ModelNotFound,
                      "warm-up: no model has handle " + std::to_string(handle));
  }
  Request* const one = &request;
  const RunningScope running(*model, {&one, 1});
  Arena arena;
  DecodedRequest decoded;
  const ServeInput input{protocol, message, -1, &request.cancel};
  const ServeSettings settings;
  Status done = decode_request(input, *model, settings, arena, decoded);
  if (!done.ok()) return done;
  std::vector<uint32_t> outputs;
  for (const RequestedOutput& output : decoded.outputs) outputs.push_back(output.index);
  for (size_t i = 0; i < model->replica_count() && done.ok(); ++i) {
    Replica& replica = model->replica(i);
    std::unique_ptr<BackendScratch> scratch = replica.take_scratch();
    done = replica.backend().run(decoded.signature_index, decoded.inputs, outputs, *scratch,
                                 run_options(decoded, &request.cancel, ServeSettings()));
    if (!done.ok() && request.cancel.cancelled()) {
      done = ended_error(*model, request.cancel.cause());
    }
    if (done.ok()) {
      std::vector<TensorView> views(scratch->outputs().begin(), scratch->outputs().end());
      done = encode_answer(protocol, *model, decoded, outputs, views, settings, arena, request);
    }
    scratch->release_outputs();
    replica.give_scratch(std::move(scratch));
  }
  return done;
}

void Engine::take_request_log(Request& request, std::shared_ptr<Home> home) {
  request.home = std::move(home);
  const bool started = quick_.start([this, &request] {
    const Status taken = catch_exceptions([&] { return run_take_request_log(request); });
    if (taken.ok()) finish_request(request);
    else finish_request(request, taken.error());
  });
  if (!started) finish_request(request, no_thread("request log"));
}

Status Engine::run_take_request_log(Request& request) {
  const RequestLog::Taken taken = request_log_.take(kRequestLogTakeBytes);
  request.response.clear();
  Status written =
      write_request_log(taken, *published(), request.home->settings(), request.response);
  if (!written.ok()) request_log_.drop(taken.entries.size());
  return written;
}

void Engine::metrics(MetricsKind kind, Request& request, std::shared_ptr<Home> home) {
  request.home = std::move(home);
  const bool started = quick_.start([this, kind, &request] { run_metrics(kind, request); });
  if (!started) finish_request(request, no_thread("metrics"));
}

void Engine::run_metrics(MetricsKind kind, Request& request) {
  const std::shared_ptr<const Published> current = published();
  const MetricsSources sources{*current,
                               *budget_,
                               request_log_.totals(),
                               tracer_,
                               server_stats_,
                               response_cache_.get(),
                               limited_models_.all(),
                               options_.latency_metrics};
  request.response.clear();
  if (write_metrics(kind, sources, request.response)) finish_request(request);
  else finish_request(request, make_error(ErrorCode::Internal, "out of memory"));
}

}  // namespace serval
