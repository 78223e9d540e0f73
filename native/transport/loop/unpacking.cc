// Implements stepwise decompression. Hot path, compressed messages only; any thread.
#include "transport/loop/unpacking.h"

namespace serval {

Unpacking::Unpacking(std::shared_ptr<MemoryBudget> budget, Coding coding, ByteBuffer packed,
                     ByteBuffer plain, uint64_t bytes_max)
    : budget_(std::move(budget)),
      packed_(std::move(packed)),
      plain_(std::move(plain)),
      inflater_(coding, packed_.bytes(), bytes_max) {}

void Unpacking::step(size_t bytes) { status_ = inflater_.step(plain_, bytes); }

void UnpackedBox::put(uint64_t call, std::shared_ptr<Unpacking> message) {
  std::lock_guard lock(mutex_);
  if (poller_ == nullptr) return;
  entries_.emplace_back(call, std::move(message));
  if (entries_.size() == 1) poller_->wake();
}

std::vector<UnpackedBox::Entry> UnpackedBox::take() {
  std::vector<Entry> out;
  std::lock_guard lock(mutex_);
  out.swap(entries_);
  return out;
}

void UnpackedBox::close() {
  std::lock_guard lock(mutex_);
  poller_ = nullptr;
  entries_.clear();
}

}  // namespace serval
