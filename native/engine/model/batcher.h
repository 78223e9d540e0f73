// Runs waiting requests of one model together. Its instances form batches in turn: the one that
// forms (the leader) holds `leader_mutex_`, decodes requests from the queue and calls
// choose_batch(); once it has a batch, it passes the lead on and runs the batch. Thread:
// instances'.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "batch/batch_policy.h"
#include "batch/gather.h"
#include "engine/model/model.h"
#include "engine/model/serve.h"
#include "engine/request/completion.h"

namespace serval {

class RaggedModel;

class Batcher {
 public:
  explicit Batcher(Model& model);
  Batcher(const Batcher&) = delete;
  Batcher& operator=(const Batcher&) = delete;

  // Runs until the model's queue is closed, or needs one instance less. Thread: one instance's.
  void run_instance(size_t replica);

 private:
  // One request from its decoding on. Reused.
  struct Member {
    Request* request = nullptr;
    Arena arena;
    DecodedRequest decoded;
    std::vector<uint32_t> output_indices;
    std::vector<TensorView> outputs;
    uint32_t rows = 1;
    bool joinable = true;
    uint64_t queue_ns = 0;  // time in the queue, until it was decoded
    ServeTimes times;
    CacheTurn cache;
    Loss loss = Loss::None;  // of its latest run, if that failed
    Status done;
    PieceOutputs pieces;
  };
  // The working memory of one instance.
  struct Batch {
    uint64_t sequence = 0;
    std::vector<Member*> members;
    uint32_t rows = 0;
    GatherMemory memory;
    std::vector<BatchPart> parts;
    std::vector<TensorView> inputs;
    std::vector<TensorView> slices;
    std::vector<uint32_t> begins;  // of the next request's outputs, if the model is ragged
    std::vector<Request*> finished;
    std::vector<Request*> returned;  // to the queue: their model's process is down
    std::vector<Request*> requests;  // of the members, while they run
  };

  bool next_batch(Batch& batch);
  uint64_t drop_late();
  void admit(Request* request);
  bool leave_to_cache(Member& member, const ServeInput& input, std::vector<Request*>& finished);
  bool choose(Batch& batch, bool closing, uint64_t& until_ns);
  bool may_be_joined(const Member& member, const Signature& signature) const;
  bool may_join(const Member& head, const Member& other) const;
  void run_batch(Batch& batch, size_t replica);
  bool run_batched(Batch& batch, Replica& replica);
  void run_alone(Batch& batch, Member& member, Replica& replica);
  Status run_pieces(Batch& batch, Member& member, Replica& replica);
  // Stores the loss in `like`. `bytes_held`: bytes of the outputs that the same response already
  // has.
  // `joined`: the ragged model that joined the inputs, else null.
  Status run_backend(Member& like, std::span<const TensorView> inputs, Replica& replica,
                     BackendScratch& scratch, const CancelFlag* cancel, uint64_t bytes_held = 0,
                     RaggedModel* joined = nullptr);
  static void tag_traces(const Batch& batch);
  void scatter(Batch& batch, const BackendScratch& scratch, const ServeTimes& shared,
               const RaggedModel* ragged);
  static void store_outputs(Member& member);
  void finish(Member& member, Status status, std::vector<Request*>& finished);
  void end(Batch& batch, Member& member, Status status);
  static void trim(Batch& batch);
  Member* take_member();
  void give_member(Member* member);

  Model& model_;
  std::mutex leader_mutex_;
  std::deque<Member*> formed_;        // guarded by leader_mutex_: decoded, in the queue's order
  std::vector<Request*> taken_;       // guarded by leader_mutex_: scratch
  std::vector<Request*> late_;        // guarded by leader_mutex_: scratch
  std::vector<uint32_t> group_rows_;  // guarded by leader_mutex_: scratch
  std::vector<size_t> group_;         // guarded by leader_mutex_: scratch
  uint64_t sequence_ = 0;             // guarded by leader_mutex_
  std::mutex pool_mutex_;
  std::vector<std::unique_ptr<Member>> members_;  // guarded by pool_mutex_: all there are
  std::vector<Member*> free_members_;             // guarded by pool_mutex_
  BatchDelivery delivery_;
  std::atomic<bool> batches_{true};  // false once outputs turned out to have no rows
};

}  // namespace serval
