// Decompresses a message stepwise on threads other than the listener's, so that no other call on
// the listener waits for it and no message occupies a thread for long. Hot path, compressed
// messages only.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/bytes/inflate.h"
#include "base/memory_budget.h"
#include "transport/loop/poller.h"

namespace serval {

// One message. Used by one thread at a time: the listener's, or the one that runs a step.
class Unpacking {
 public:
  // Takes both buffers; `plain` is empty. `bytes_max`: limit of the decompressed size.
  Unpacking(std::shared_ptr<MemoryBudget> budget, Coding coding, ByteBuffer packed,
            ByteBuffer plain, uint64_t bytes_max);

  // Decompresses about `bytes` more.
  void step(size_t bytes);
  // Whether it is finished: everything is decompressed, or status() has an error.
  bool ended() const { return !status_.ok() || inflater_.done(); }
  // Errors: those of Inflater::step().
  const Status& status() const { return status_; }
  ByteBuffer& packed() { return packed_; }
  ByteBuffer& plain() { return plain_; }

 private:
  const std::shared_ptr<MemoryBudget> budget_;  // destroyed after the buffers that it counts
  ByteBuffer packed_, plain_;
  Inflater inflater_;
  Status status_;
};

// Messages whose step has finished, by call id, returning to the listener's thread. Any thread.
class UnpackedBox {
 public:
  using Entry = std::pair<uint64_t, std::shared_ptr<Unpacking>>;

  // Borrows the poller until close().
  explicit UnpackedBox(Poller& poller) : poller_(&poller) {}
  void put(uint64_t call, std::shared_ptr<Unpacking> message);
  std::vector<Entry> take();
  // The listener's thread has ended: messages that are added later are freed.
  void close();

 private:
  std::mutex mutex_;
  Poller* poller_;              // guarded by mutex_; null = closed
  std::vector<Entry> entries_;  // guarded by mutex_
};

}  // namespace serval
