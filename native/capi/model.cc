// Opens a model and runs it. infer() is on the hot path; any thread.
#include "capi/model.h"

#include "capi/describe.h"
#include "capi/model_files.h"
#include "capi/outputs.h"
#include "capi/tensors.h"

namespace serval::capi {

namespace {

// Runs whose memory is kept for later ones: as many as threads that a program may well run.
constexpr size_t kSpareRuns = 64;

// Settings of a specification that this library has no part for.
Status check_settings(ModelSpec& spec) {
  if (spec.devices.size() > 1) {
    return make_error(ErrorCode::Unimplemented, "devices: expected at most one, got " +
                                                    std::to_string(spec.devices.size()) +
                                                    "; a server runs a model on several");
  }
  if (spec.devices.empty()) return {};
  for (Provider& provider : spec.providers) {
    std::erase_if(provider.options, [](const auto& it) { return it.first == "device_id"; });
    provider.options.emplace_back("device_id", std::to_string(spec.devices[0]));
  }
  return {};
}

}  // namespace

Model::Model(std::shared_ptr<const Backends> backends, std::shared_ptr<BackendModel> backend,
             ModelShapes shapes)
    : backends_(std::move(backends)),
      backend_(std::move(backend)),
      shapes_(std::move(shapes)),
      infos_(describe(shapes_.signatures(), table())) {}

Result<std::shared_ptr<Model>> Model::open(const std::string& path, const std::string& library,
                                           int threads) {
  Result<ModelSpec> spec = read_spec(path);
  if (!spec.ok()) return std::move(spec.error());
  if (threads > 0) spec.value().intra_op_threads = threads;
  if (Status known = check_settings(spec.value()); !known.ok()) return std::move(known.error());
  std::shared_ptr<const Backends> backends = acquire_backends(library);
  Result<Backend*> backend = backends->find(spec.value().backend);
  if (!backend.ok()) return std::move(backend.error());
  Result<std::shared_ptr<BackendModel>> loaded = backend.value()->load(spec.value());
  if (!loaded.ok()) return std::move(loaded.error());
  const BackendModelInfo& info = loaded.value()->info();
  Result<ModelShapes> shapes = ModelShapes::make(spec.value(), info.signatures, info.table.get());
  if (!shapes.ok()) return std::move(shapes.error());
  return std::make_shared<Model>(std::move(backends), std::move(loaded.value()),
                                 std::move(shapes.value()));
}

std::unique_ptr<Run> Model::take() {
  std::unique_ptr<Run> run;
  {
    const std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      run = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  if (run == nullptr) {
    run = std::make_unique<Run>();
    run->scratch = backend_->make_scratch();
  }
  run->model = shared_from_this();
  return run;
}

void Model::give(std::unique_ptr<Run> run) {
  const std::shared_ptr<Model> model = std::move(run->model);  // perhaps its last holder
  run->outputs.clear();
  run->decoded.clear();
  run->scratch->release_outputs();
  run->arena.reset();
  const std::lock_guard lock(mutex_);
  if (spare_.size() < kSpareRuns) spare_.push_back(std::move(run));
  else run.reset();  // while the model exists
}

Result<std::unique_ptr<Run>> Model::infer(const Call& call) {
  std::unique_ptr<Run> run = take();
  Status done = infer_into(call, *run);
  if (done.ok()) return run;
  give(std::move(run));
  return std::move(done.error());
}

Status Model::infer_into(const Call& call, Run& run) {
  if (call.signature >= signatures().size()) {
    return make_error(ErrorCode::SignatureNotFound, "signature: expected an index below " +
                                                        std::to_string(signatures().size()) +
                                                        ", got " + std::to_string(call.signature));
  }
  const auto signature = static_cast<uint32_t>(call.signature);
  run.decoded.clear();
  run.decoded.signature_index = signature;
  Status done = table() != nullptr ? read_columns(call, *table(), signatures()[0], run)
                                   : read_tensors(call, shapes_, run);
  if (!done.ok()) return done;
  run.output_indices.clear();
  for (const RequestedOutput& output : run.decoded.outputs) {
    run.output_indices.push_back(output.index);
  }
  done =
      backend_->run(signature, run.decoded.inputs, run.output_indices, *run.scratch, RunOptions());
  if (!done.ok()) return done;
  done = table() != nullptr ? write_columns(*table(), signatures()[0], run)
                            : write_tensors(shapes_, run);
  if (done.ok()) done = keep_outputs(call.inputs, run);
  run.decoded.inputs.clear();  // views of the caller's memory
  return done;
}

}  // namespace serval::capi
