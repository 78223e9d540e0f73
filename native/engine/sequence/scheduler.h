// Decides which requests of sequences run together, and which sequences have a slot. Hot path
// (models with sequences); pure: the caller gives the time and holds a lock.
// Source of the rules: Triton's sequence batcher (docs/guides/sequences.md).
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/policies.h"

namespace serval {

class CachedOutputs;
struct Sequence;

using SequenceStrategy = fb::SequenceStrategy;

// A number and the text of the same number are different ids.
struct SequenceId {
  bool is_text = false;
  uint64_t number = 0;
  std::string text;
  auto operator<=>(const SequenceId&) const = default;
};

// A request that the scheduler has accepted, until it is done or dropped. Belongs to the caller.
struct SequenceEntry {
  bool start = false, end = false;
  uint64_t arrived_ns = 0;
  bool has_run = false;          // a step of it has run; set by the scheduler
  uint64_t order = 0;            // counts accepted requests; set by the scheduler
  Sequence* sequence = nullptr;  // set by the scheduler
};

// A sequence from its first request until it ends. Belongs to the scheduler.
struct Sequence {
  SequenceId id;
  std::deque<SequenceEntry*> waiting;
  SequenceEntry* running = nullptr;
  bool open = false;  // accepts a request that does not start it again
  bool has_slot = false;
  uint32_t group = 0, row = 0;  // its slot
  uint64_t idle_ns = 0;  // now_ns() at which it ends unless a request arrives; 0 = it is busy
  // The tensors that its next request reads; null = the initial ones. Only the thread that runs its
  // request changes them.
  std::shared_ptr<const CachedOutputs> state;
};

struct SequenceRules {
  SequenceStrategy strategy = SequenceStrategy::Oldest;
  uint32_t groups = 1;    // Direct: instances, each with its own rows
  uint32_t slots = 1;     // sequences that have a slot, of each group
  uint64_t idle_ns = 0;   // how long a sequence may have no request
  uint32_t rows_min = 0;  // Direct: a batch of fewer rows waits for batch.delay_us
  BatchPolicy batch;      // sizes and delay
};

// One batch. Direct: rows by their number in the group, null where no request is ready; the group
// runs nothing else until every entry is done.
struct SequenceBatch {
  uint32_t group = 0;
  std::vector<SequenceEntry*> rows;
};

class SequenceScheduler {
 public:
  // Whether two requests can run in one batch.
  using MayJoin = std::function<bool(const SequenceEntry& head, const SequenceEntry& other)>;

  explicit SequenceScheduler(SequenceRules rules);

  // Accepts a request; its `start`, `end` and `arrived_ns` are set. False: its sequence does not
  // exist, and it does not start it.
  [[nodiscard]] bool add(const SequenceId& id, SequenceEntry& entry);
  // Ends idle sequences and chooses the next batch. False: none yet; then next_ns() says when to
  // ask again. `closing`: do not wait for more requests.
  [[nodiscard]] bool next(uint64_t now, bool closing, const MayJoin& may_join,
                          SequenceBatch& batch);
  uint64_t next_ns() const { return next_ns_; }
  // Whether next() may find a batch without a further request, now or after its delay.
  bool has_ready() const;
  // A request of a batch has run. A failed one ends its sequence: `dropped` gets the waiting
  // requests that would have continued it.
  void done(SequenceEntry& entry, bool ok, uint64_t now, std::vector<SequenceEntry*>& dropped);
  // A request of a batch has run and has to run again, after the requests that wait already. Its
  // sequence keeps its slot.
  void repeat(SequenceEntry& entry);
  // Withdraws a waiting request, which ends its sequence: `dropped` as above.
  void remove(SequenceEntry& entry, uint64_t now, std::vector<SequenceEntry*>& dropped);
  // A request of this sequence was answered without being accepted: the sequence ends after the
  // requests that it has.
  void skip(const SequenceId& id, uint64_t now);
  // Ends each sequence as soon as it has no request.
  void retire() { retiring_ = true; }
  // Appends the requests that wait.
  void waiting(std::vector<SequenceEntry*>& out) const;

  bool empty() const { return sequences_.empty(); }
  size_t active() const { return sequences_.size() - backlog_.size(); }  // sequences with a slot
  size_t backlog() const { return backlog_.size(); }                     // sequences without one
  // Those that wait for their first step: the others have left the queue.
  size_t waiting_requests() const { return waiting_ - between_steps_; }
  bool has_waiting() const { return waiting_ != 0; }

 private:
  struct Group {
    bool runs = false;                    // Direct: a batch of it runs
    uint32_t running = 0;                 // entries of that batch that are not done
    std::set<uint32_t> free;              // rows without a sequence
    std::map<uint64_t, Sequence*> ready;  // by the order of their first waiting request
  };
  bool is_direct() const { return rules_.strategy == SequenceStrategy::Direct; }
  void set_ready(Sequence& sequence, bool ready);
  void cut(Sequence& sequence, size_t from, std::vector<SequenceEntry*>& dropped);
  void settle(Sequence& sequence, uint64_t now);
  void release_slot(Sequence& sequence);
  void fill_slots();
  void erase(Sequence& sequence);
  void expire(uint64_t now);
  void leave_batch(Sequence& sequence);
  void stop_waiting(const SequenceEntry& entry);
  bool choose(Group& group, uint64_t now, bool closing, const MayJoin& may_join,
              SequenceBatch& batch);

  const SequenceRules rules_;
  bool retiring_ = false;
  std::vector<Group> groups_;
  std::map<SequenceId, std::unique_ptr<Sequence>> sequences_;
  std::deque<Sequence*> backlog_;  // sequences with requests and without a slot, the oldest first
  std::set<std::pair<uint64_t, Sequence*>> idle_;  // by idle_ns
  std::vector<Sequence*> joined_;                  // scratch
  uint64_t order_ = 0;
  uint64_t next_ns_ = 0;
  size_t waiting_ = 0;
  size_t between_steps_ = 0;  // part of waiting_: has_run
};

}  // namespace serval
