// One loaded version of one model: what the backend made of it, its queue, its instances' policy,
// its counters. Shared by listeners and instance threads; immutable but for the guarded members.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend/backend.h"
#include "engine/inline_policy.h"
#include "engine/request_queue.h"

namespace serval {

struct ModelCounters {
  std::atomic<uint64_t> requests_inline{0}, requests_queued{0}, failures{0}, cancelled{0},
      queue_full{0}, queue_ns{0}, compute_ns{0};
};

class Model {
 public:
  Model(uint32_t handle, ModelSpec spec, std::shared_ptr<BackendModel> backend, int64_t load_us);
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  uint32_t handle() const { return handle_; }
  const ModelSpec& spec() const { return spec_; }
  const std::string& version_text() const { return version_text_; }
  BackendModel& backend() { return *backend_; }
  const std::vector<Signature>& signatures() const { return backend_->info().signatures; }
  const BackendModelInfo& info() const { return backend_->info(); }
  int64_t load_us() const { return load_us_; }
  InlinePolicy& policy() { return policy_; }
  RequestQueue& queue() { return queue_; }
  ModelCounters& counters() { return counters_; }

  // A scratch for one run; give it back. Any thread.
  std::unique_ptr<BackendScratch> take_scratch();
  void give_scratch(std::unique_ptr<BackendScratch> scratch);

  // Starts the instance threads (once).
  void start();
  // Closes the queue and joins the instances; what is queued is answered ModelNotReady. Not from an
  // instance thread.
  void stop();

 private:
  const uint32_t handle_;
  const ModelSpec spec_;
  const std::string version_text_;
  const std::shared_ptr<BackendModel> backend_;
  const int64_t load_us_;
  InlinePolicy policy_;
  RequestQueue queue_;
  ModelCounters counters_;
  std::atomic<BackendScratch*> scratch_at_hand_{nullptr};  // owned; no lock for one user
  std::mutex scratch_mutex_;
  std::vector<std::unique_ptr<BackendScratch>> scratches_;  // guarded by scratch_mutex_
  std::vector<std::thread> instances_;                      // control thread only
};

}  // namespace serval
