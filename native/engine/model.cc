// See model.h. Scratches: hot path, any thread; start and stop: control plane.
#include "engine/model.h"

#include <algorithm>

#include "engine/instance.h"
#include "engine/listener.h"

namespace serval {

Model::Model(uint32_t handle, ModelSpec spec, std::shared_ptr<BackendModel> backend,
             int64_t load_us)
    : handle_(handle),
      spec_(std::move(spec)),
      version_text_(std::to_string(spec_.version)),
      backend_(std::move(backend)),
      load_us_(load_us),
      policy_(spec_.exec_mode, spec_.inline_us_max),
      queue_(static_cast<size_t>(std::max(1, spec_.queue_requests_max))) {}

Model::~Model() {
  stop();
  give_scratch(nullptr);  // the one at hand joins the others
}

std::unique_ptr<BackendScratch> Model::take_scratch() {
  if (BackendScratch* at_hand = scratch_at_hand_.exchange(nullptr, std::memory_order_acq_rel)) {
    return std::unique_ptr<BackendScratch>(at_hand);
  }
  {
    std::lock_guard lock(scratch_mutex_);
    if (!scratches_.empty()) {
      std::unique_ptr<BackendScratch> scratch = std::move(scratches_.back());
      scratches_.pop_back();
      return scratch;
    }
  }
  return backend_->make_scratch();
}

void Model::give_scratch(std::unique_ptr<BackendScratch> scratch) {
  scratch.reset(scratch_at_hand_.exchange(scratch.release(), std::memory_order_acq_rel));
  if (scratch == nullptr) return;
  std::lock_guard lock(scratch_mutex_);
  scratches_.push_back(std::move(scratch));
}

void Model::start() {
  const int count = std::max(1, spec_.instances);
  for (int i = 0; i < count; ++i) {
    instances_.emplace_back([this, i] { run_instance(*this, i); });
  }
}

void Model::stop() {
  for (Request* request : queue_.close()) {
    finish_request(*request, make_error(ErrorCode::ModelNotReady,
                                        "model '" + spec_.name + "' version " + version_text_ +
                                            " was unloaded while the request waited"));
  }
  for (std::thread& instance : instances_) instance.join();
  instances_.clear();
}

}  // namespace serval
