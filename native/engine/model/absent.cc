// Models that are served but not loaded. Control plane.
#include "engine/model/absent.h"

#include <utility>

#include "base/clock.h"

namespace serval {

namespace {

// How long a request without a deadline waits for a load. Loads end by themselves; this only bounds
// what a forgotten one could hold.
constexpr uint64_t kLoadWaitNs = 3600 * 1000 * kNsPerMs;

// Never runs: the queue of its model is held.
class AbsentBackend final : public BackendModel {
 public:
  AbsentBackend() { info_.signatures.emplace_back(); }
  const BackendModelInfo& info() const override { return info_; }
  std::unique_ptr<BackendScratch> make_scratch() override { return nullptr; }
  Readiness readiness() const override { return Readiness::Returning; }
  Error outage() override {
    return make_error(ErrorCode::ModelNotReady, "the model was not loaded within an hour");
  }
  Status run(uint32_t, std::span<const TensorView>, std::span<const uint32_t>, BackendScratch&,
             const RunOptions&) override {
    return outage();
  }

 private:
  BackendModelInfo info_;
};

}  // namespace

std::shared_ptr<Model> make_absent_model(uint32_t handle, const ModelSpec& spec,
                                         ModelServices services, AbsentModels& absent) {
  ModelSpec bare;
  bare.name = spec.name;
  bare.version = spec.version;
  bare.queue = spec.queue;
  bare.limits = spec.limits;
  bare.exec_mode = ExecMode::Queued;
  services.process_wait_ns = kLoadWaitNs;
  services.absent = &absent;
  // One for all: there may be tens of thousands of absent models.
  static const std::shared_ptr<BackendModel> backend = std::make_shared<AbsentBackend>();
  Result<ModelShapes> shapes = ModelShapes::make(bare, backend->info().signatures);
  return std::make_shared<Model>(handle, std::move(bare),
                                 std::vector<std::shared_ptr<BackendModel>>{backend},
                                 std::move(shapes.value()), 0, services);
}

}  // namespace serval
