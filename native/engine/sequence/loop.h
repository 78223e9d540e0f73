// Runs the requests of a model with sequences: decodes them in the order of the queue, lets the
// scheduler choose batches, and keeps the states. One instance leads (it waits for requests and for
// the scheduler); the others run. Hot path (models with sequences); thread: instances'.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "batch/gather.h"
#include "engine/model/model.h"
#include "engine/model/serve.h"
#include "engine/request/completion.h"
#include "engine/sequence/hidden.h"
#include "engine/sequence/scheduler.h"

namespace serval {

// Wraps the sessions of a model whose specification has sequences. Errors: model_invalid.
Status add_sequences(const ModelSpec& spec, std::vector<std::shared_ptr<BackendModel>>& replicas);
// Gives such a model its loop. Before its first request.
void set_sequence_loop(Model& model);

class SequenceLoop final : public RequestLoop {
 public:
  SequenceLoop(Model& model, SequenceRules rules);
  SequenceLoop(const SequenceLoop&) = delete;
  SequenceLoop& operator=(const SequenceLoop&) = delete;

  void run_instance(size_t replica) override;
  size_t active() const override { return active_.load(std::memory_order_relaxed); }
  size_t waiting() const override { return backlog_.load(std::memory_order_relaxed); }
  size_t requests() const override { return requests_.load(std::memory_order_relaxed); }
  void retire() override;

 private:
  // One request from its decoding on. Reused.
  struct Member : SequenceEntry {
    Request* request = nullptr;
    Arena arena;
    DecodedRequest decoded;
    HiddenRow row;
    std::vector<TensorView> inputs;  // all of the model's
    std::vector<uint32_t> output_indices;
    std::vector<TensorView> outputs;
    uint64_t queue_ns = 0;
    ServeTimes times;
    uint32_t steps = 0;    // that have run
    bool repeats = false;  // it runs again
    bool ok = false;
  };
  // The working memory of one instance.
  struct Batch {
    uint64_t number = 0;
    SequenceBatch chosen;
    std::vector<Member*> members;    // by row; null: a row without a request
    std::vector<Request*> requests;  // of the members
    GatherMemory memory;
    HiddenRow empty_row;
    std::vector<TensorView> empty_inputs, inputs;
    std::vector<BatchPart> parts;
    std::vector<uint32_t> wanted;  // the model's outputs
    std::vector<TensorView> states;
    std::vector<Request*> finished;
    std::vector<SequenceEntry*> dropped;
  };

  bool next_batch(Batch& batch);
  void admit(Request* request, std::vector<Request*>& finished);
  Status accept(Member& member);
  Status read_sequence(Member& member, SequenceId& id) const;
  Status check_row(const Member& member, const std::string& of_model) const;
  void skip(Member& member);
  void publish_counts();
  void sweep(uint64_t now, bool closing, std::vector<Request*>& finished);
  void drop(std::vector<SequenceEntry*>& dropped, bool closing, std::vector<Request*>& finished);
  void end_waiting(Member& member, Status status, std::vector<Request*>& finished);
  void give_ended();
  // The states that its run reads.
  std::span<const TensorView> states_of(const Member& member) const;
  void run(Batch& batch, size_t replica);
  bool run_together(Batch& batch, Replica& replica);
  void run_alone(Batch& batch, Member& member, Replica& replica);
  void begin_member(Member& member) const;
  void want_outputs(Batch& batch, std::span<Member* const> members) const;
  Status run_backend(Batch& batch, Member& like, std::span<const TensorView> inputs,
                     Replica& replica, BackendScratch& scratch, const CancelFlag* cancel,
                     uint64_t& ran_ns);
  void fail(Batch& batch, const Error& error);
  Status take_outputs(Batch& batch, Member& member, std::span<const TensorView> outputs,
                      uint32_t row, bool sliced);
  Status count_step(Member& member, const TensorView& done) const;
  void end_step(Member& member, Status status, std::vector<Request*>& finished);
  void finish(Member& member, Status status, std::vector<Request*>& finished);
  void settle(Batch& batch);
  static SequenceModel& model_of(Replica& replica) {
    return static_cast<SequenceModel&>(replica.backend());
  }
  Member* take_member();
  void give_member(Member* member);

  Model& model_;
  const SequenceModel& shape_;  // of the first session; all are alike
  const bool is_direct_;
  const bool is_iterative_;  // a request is a sequence of steps
  std::mutex leader_mutex_;
  std::vector<Request*> taken_, late_;  // guarded by leader_mutex_: scratch
  uint64_t number_ = 0;                 // guarded by leader_mutex_
  std::mutex mutex_;
  SequenceScheduler scheduler_;          // guarded by mutex_
  std::vector<SequenceEntry*> dropped_;  // guarded by mutex_: scratch
  std::vector<SequenceEntry*> all_;      // guarded by mutex_: scratch
  std::vector<Member*> ended_;           // guarded by mutex_: scratch
  uint64_t sweep_ns_ = 0;                // guarded by mutex_: when to look for ended requests
  uint64_t last_id_ = 0;                 // guarded by mutex_: of an iterative request
  std::atomic<size_t> active_{0}, backlog_{0}, requests_{0};
  std::atomic<bool> retiring_{false};
  std::mutex pool_mutex_;
  std::vector<std::unique_ptr<Member>> spare_;  // guarded by pool_mutex_
  BatchDelivery delivery_;
};

}  // namespace serval
