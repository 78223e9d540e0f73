// What a listener counts and keeps: open bodies, what is unanswered, bytes that its JavaScript
// holds, what free slots keep for later requests. Control plane. Thread: the listener's, but
// poke().
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "engine/listener/listener.h"

namespace serval {

uint64_t Listener::bodies_open() const {
  return static_cast<uint64_t>(
      std::count_if(slots_.begin(), slots_.end(), [](const std::unique_ptr<Request>& request) {
        return request->stage == Request::Stage::Body;
      }));
}

bool Listener::count_bytes(int64_t change, bool refusable) {
  bool room = true;
  if (change >= 0) {
    const auto bytes = static_cast<uint64_t>(change);
    if (!refusable) room = budget_->add(bytes);
    else if (!budget_->take(bytes)) return false;
  } else {
    change = std::max(change, -counted_bytes_);
    budget_->give(static_cast<uint64_t>(-change));
    // Many small steps end something large too.
    constexpr auto kLarge = static_cast<int64_t>(MemoryBudget::kLargeBytes);
    if (counted_bytes_ / kLarge != (counted_bytes_ + change) / kLarge) engine_->trimmer().note();
  }
  counted_bytes_ += change;
  return room;
}

void Listener::unpin(Request& request) {
  if (request.pin == nullptr) return;
  hooks_->unpin(request.pin);
  budget_->give(request.pinned.size());
  request.pin = nullptr;
  request.pinned = {};
}

bool Listener::unanswered(ByteBuffer& out) const {
  std::map<std::string, size_t> counts;
  for (const std::unique_ptr<Request>& request : slots_) {
    if (request->stage == Request::Stage::Queued) ++counts[request->model->spec().name];
  }
  for (const auto& [name, count] : counts) {
    if (!out.append(std::to_string(count) + ' ' + name + '\0')) return false;
  }
  return true;
}

namespace {

constexpr uintptr_t kPieceBytes = 4u << 20;

// Unmapping holds the lock of the process's memory map all the while, and whoever maps something or
// touches a new page waits: the pages go in pieces before. Thread: sv-free.
void free_in_pieces(ByteBuffer& buffer) {
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(buffer.base());
  const uintptr_t end = (begin + buffer.base_bytes()) / page * page;
  for (uintptr_t at = (begin + page - 1) / page * page; at < end; at += kPieceBytes) {
    madvise(reinterpret_cast<void*>(at), std::min(kPieceBytes, end - at), MADV_DONTNEED);
  }
  buffer.shrink(0);
}

}  // namespace

// Unmapping 100 MB takes 10 ms and more: not on this thread.
void Listener::drop(ByteBuffer& buffer) {
  if (buffer.base_bytes() < MemoryBudget::kLargeBytes) {
    buffer.shrink(kSlotKeepBytes);
    return;
  }
  const auto gone = std::make_shared<ByteBuffer>();
  gone->charge_to(budget_.get());
  std::swap(*gone, buffer);
  engine_->freeing().start([gone, budget = budget_] { free_in_pieces(*gone); });
}

bool Listener::keep_answer(uint32_t ticket) {
  Request* request = find(ticket);
  if (request == nullptr || request->stage != Request::Stage::Taken) return false;
  unpin(*request);
  request->model.reset();
  request->stage = Request::Stage::Kept;
  drop(request->body);
  return true;
}

void Listener::release_taken(uint32_t ticket) {
  Request* request = find(ticket);
  if (request != nullptr && request->stage == Request::Stage::Taken) release(*request);
}

// Slot 0 too: its answers are taken before the listener's thread comes here.
void Listener::drop_kept() {
  retained_bytes_ = 0;
  for (const std::unique_ptr<Request>& request : slots_) {
    if (request->stage != Request::Stage::Free) continue;
    drop(request->body);
    drop(request->response);
    if (request->slot != 0) retained_bytes_ += request->held_bytes();
  }
}

void Listener::poke(bool drop_kept) {
  std::lock_guard lock(mutex_);
  if (drop_kept) drop_due_.store(true);
  if (!closed_) hooks_->wake();
}

}  // namespace serval
