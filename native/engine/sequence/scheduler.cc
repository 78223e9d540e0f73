// Slots, backlog and batches of sequences. Hot path (models with sequences); under the caller's
// lock.
#include "engine/sequence/scheduler.h"

#include <algorithm>

#include "batch/batch_policy.h"
#include "engine/request/time_limit.h"

namespace serval {

SequenceScheduler::SequenceScheduler(SequenceRules rules) : rules_(std::move(rules)) {
  groups_.resize(is_direct() ? std::max(1u, rules_.groups) : 1);
  for (Group& group : groups_) {
    for (uint32_t row = 0; row < std::max(1u, rules_.slots); ++row) group.free.insert(row);
  }
}

// The sequence is ready if it has a slot, a waiting request and none that runs. Call with false
// before its first waiting request changes.
void SequenceScheduler::set_ready(Sequence& sequence, bool ready) {
  if (!sequence.has_slot || sequence.waiting.empty() || sequence.running != nullptr) return;
  std::map<uint64_t, Sequence*>& list = groups_[sequence.group].ready;
  const uint64_t order = sequence.waiting.front()->order;
  if (ready) list.emplace(order, &sequence);
  else list.erase(order);
}

bool SequenceScheduler::add(const SequenceId& id, SequenceEntry& entry) {
  const auto found = sequences_.find(id);
  if (!entry.start && (found == sequences_.end() || !found->second->open)) return false;
  Sequence* sequence = nullptr;
  if (found != sequences_.end()) {
    sequence = found->second.get();
  } else {
    auto made = std::make_unique<Sequence>();
    made->id = id;
    sequence = made.get();
    sequences_.emplace(id, std::move(made));
    backlog_.push_back(sequence);
  }
  if (sequence->idle_ns != 0) {
    idle_.erase({sequence->idle_ns, sequence});
    sequence->idle_ns = 0;
  }
  set_ready(*sequence, false);
  entry.sequence = sequence;
  entry.has_run = false;
  entry.order = ++order_;
  sequence->waiting.push_back(&entry);
  sequence->open = !entry.end;
  ++waiting_;
  set_ready(*sequence, true);
  fill_slots();
  return true;
}

// Gives free slots to the sequences that have waited longest. Direct: of the free slots the lowest
// row, so that batches are small.
void SequenceScheduler::fill_slots() {
  while (!backlog_.empty()) {
    Group* best = nullptr;
    for (Group& group : groups_) {
      if (group.free.empty()) continue;
      if (best == nullptr || *group.free.begin() < *best->free.begin()) best = &group;
    }
    if (best == nullptr) return;
    Sequence& sequence = *backlog_.front();
    backlog_.pop_front();
    sequence.has_slot = true;
    sequence.group = static_cast<uint32_t>(best - groups_.data());
    sequence.row = *best->free.begin();
    best->free.erase(best->free.begin());
    set_ready(sequence, true);
  }
}

void SequenceScheduler::release_slot(Sequence& sequence) {
  set_ready(sequence, false);
  groups_[sequence.group].free.insert(sequence.row);
  sequence.has_slot = false;
}

void SequenceScheduler::erase(Sequence& sequence) {
  if (sequence.has_slot) release_slot(sequence);
  else std::erase(backlog_, &sequence);
  const auto found = sequences_.find(sequence.id);
  if (found != sequences_.end()) sequences_.erase(found);
  fill_slots();
}

void SequenceScheduler::expire(uint64_t now) {
  while (!idle_.empty() && (retiring_ || idle_.begin()->first <= now)) {
    Sequence& sequence = *idle_.begin()->second;
    idle_.erase(idle_.begin());
    erase(sequence);
  }
}

bool SequenceScheduler::has_ready() const {
  return std::ranges::any_of(
      groups_, [](const Group& group) { return !group.runs && !group.ready.empty(); });
}

bool SequenceScheduler::next(uint64_t now, bool closing, const MayJoin& may_join,
                             SequenceBatch& batch) {
  expire(now);
  next_ns_ = idle_.empty() ? kNever : idle_.begin()->first;
  // The group whose first request has waited longest goes first.
  std::vector<std::pair<uint64_t, Group*>> groups;
  for (Group& group : groups_) {
    if (!group.runs && !group.ready.empty()) {
      groups.emplace_back(group.ready.begin()->first, &group);
    }
  }
  std::ranges::sort(groups);
  return std::ranges::any_of(
      groups, [&](const auto& one) { return choose(*one.second, now, closing, may_join, batch); });
}

bool SequenceScheduler::choose(Group& group, uint64_t now, bool closing, const MayJoin& may_join,
                               SequenceBatch& batch) {
  const size_t rows_max = std::max<size_t>(1, rules_.batch.rows_max);
  const SequenceEntry& head = *group.ready.begin()->second->waiting.front();
  joined_.clear();
  for (const auto& [order, sequence] : group.ready) {
    if (joined_.size() == rows_max) break;
    if (joined_.empty() || may_join(head, *sequence->waiting.front())) joined_.push_back(sequence);
  }
  const uint64_t waited = now - std::min(now, head.arrived_ns);
  size_t count = joined_.size();
  if (is_direct()) {
    const uint64_t delay_ns = uint64_t{rules_.batch.delay_us} * 1000;
    if (!closing && count < rules_.rows_min && waited < delay_ns) {
      next_ns_ = std::min(next_ns_, now + (delay_ns - waited));
      return false;
    }
  } else {
    const std::vector<uint32_t> rows(count, 1);
    const BatchChoice choice = choose_batch(rules_.batch, {rows, waited, closing});
    if (choice.requests == 0) {
      next_ns_ = std::min(next_ns_, now + choice.wait_ns);
      return false;
    }
    count = choice.requests;
  }
  joined_.resize(count);
  batch.group = static_cast<uint32_t>(&group - groups_.data());
  batch.rows.clear();
  for (Sequence* sequence : joined_) {
    set_ready(*sequence, false);
    SequenceEntry* const entry = sequence->waiting.front();
    sequence->waiting.pop_front();
    sequence->running = entry;
    stop_waiting(*entry);
    if (!is_direct()) {
      batch.rows.push_back(entry);
      continue;
    }
    if (batch.rows.size() <= sequence->row) batch.rows.resize(sequence->row + 1, nullptr);
    batch.rows[sequence->row] = entry;
    group.runs = true;
    ++group.running;
  }
  return true;
}

// Drops the waiting requests from `from` to the next one that starts the sequence again.
void SequenceScheduler::cut(Sequence& sequence, size_t from, std::vector<SequenceEntry*>& dropped) {
  std::deque<SequenceEntry*>& waiting = sequence.waiting;
  const auto first = waiting.begin() + static_cast<std::ptrdiff_t>(from);
  const auto last =
      std::find_if(first, waiting.end(), [](const SequenceEntry* one) { return one->start; });
  if (last == waiting.end()) sequence.open = false;
  for (auto one = first; one != last; ++one) stop_waiting(**one);
  dropped.insert(dropped.end(), first, last);
  waiting.erase(first, last);
}

// After a change: the sequence ends, gives its slot away, waits for a request, or has one.
void SequenceScheduler::settle(Sequence& sequence, uint64_t now) {
  if (sequence.running != nullptr) return;
  if (!sequence.waiting.empty()) {
    set_ready(sequence, true);
    return;
  }
  if (!sequence.open) {
    erase(sequence);
    return;
  }
  sequence.idle_ns = std::max<uint64_t>(1, now + std::min(rules_.idle_ns, kNever / 2));
  idle_.emplace(sequence.idle_ns, &sequence);
}

// The sequence's request of the running batch is no longer part of it.
void SequenceScheduler::leave_batch(Sequence& sequence) {
  Group& group = groups_[sequence.group];
  if (is_direct() && --group.running == 0) group.runs = false;
  sequence.running = nullptr;
}

// The entry is no longer in its sequence's `waiting`, or leaves it now.
void SequenceScheduler::stop_waiting(const SequenceEntry& entry) {
  --waiting_;
  if (entry.has_run) --between_steps_;
}

void SequenceScheduler::repeat(SequenceEntry& entry) {
  Sequence& sequence = *entry.sequence;
  leave_batch(sequence);
  entry.start = false;
  entry.order = ++order_;
  sequence.waiting.push_front(&entry);
  entry.has_run = true;
  ++waiting_;
  ++between_steps_;
  set_ready(sequence, true);
}

void SequenceScheduler::done(SequenceEntry& entry, bool ok, uint64_t now,
                             std::vector<SequenceEntry*>& dropped) {
  Sequence& sequence = *entry.sequence;
  leave_batch(sequence);
  if (!ok && !entry.end) cut(sequence, 0, dropped);
  if (!ok || entry.end) sequence.state = nullptr;
  const bool ended = entry.end || !ok;
  if (ended && !sequence.waiting.empty()) {
    // It starts again. Others that have waited for a slot longer go first.
    groups_[sequence.group].free.insert(sequence.row);
    sequence.has_slot = false;
    backlog_.push_back(&sequence);
    fill_slots();
    return;
  }
  settle(sequence, now);
}

void SequenceScheduler::remove(SequenceEntry& entry, uint64_t now,
                               std::vector<SequenceEntry*>& dropped) {
  Sequence& sequence = *entry.sequence;
  set_ready(sequence, false);
  const auto found = std::ranges::find(sequence.waiting, &entry);
  if (found == sequence.waiting.end()) return;
  const auto at = static_cast<size_t>(found - sequence.waiting.begin());
  sequence.waiting.erase(found);
  stop_waiting(entry);
  if (!entry.end) cut(sequence, at, dropped);
  else if (at == sequence.waiting.size()) sequence.open = false;
  settle(sequence, now);
}

void SequenceScheduler::skip(const SequenceId& id, uint64_t now) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end()) return;
  Sequence& sequence = *found->second;
  sequence.open = false;
  if (sequence.running != nullptr || !sequence.waiting.empty()) return;
  idle_.erase({sequence.idle_ns, &sequence});
  settle(sequence, now);
}

void SequenceScheduler::waiting(std::vector<SequenceEntry*>& out) const {
  for (const auto& [id, sequence] : sequences_) {
    out.insert(out.end(), sequence->waiting.begin(), sequence->waiting.end());
  }
}

}  // namespace serval
