// A compressed message that is unpacked on other threads than the listener's, step by step: nobody
// else on the listener waits for it, and no message keeps a thread for long. Hot path, compressed
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
  // Takes both buffers; `plain` is empty. `bytes_max`: what may come out.
  Unpacking(std::shared_ptr<MemoryBudget> budget, Coding coding, ByteBuffer packed,
            ByteBuffer plain, uint64_t bytes_max);

  // Unpacks about `bytes` more.
  void step(size_t bytes);
  // Whether nothing is left to do: all is unpacked, or status() says what is wrong.
  bool ended() const { return !status_.ok() || inflater_.done(); }
  // Errors: those of Inflater::step().
  const Status& status() const { return status_; }
  ByteBuffer& packed() { return packed_; }
  ByteBuffer& plain() { return plain_; }

 private:
  const std::shared_ptr<MemoryBudget> budget_;  // goes after the buffers that it counts
  ByteBuffer packed_, plain_;
  Inflater inflater_;
  Status status_;
};

// Messages whose step has been run, by the id of their call, on their way back to the listener's
// thread. Any thread.
class UnpackedBox {
 public:
  using Entry = std::pair<uint64_t, std::shared_ptr<Unpacking>>;

  // Borrows the poller until close().
  explicit UnpackedBox(Poller& poller) : poller_(&poller) {}
  void put(uint64_t call, std::shared_ptr<Unpacking> message);
  std::vector<Entry> take();
  // The listener's thread has ended: messages that come later are freed.
  void close();

 private:
  std::mutex mutex_;
  Poller* poller_;              // guarded by mutex_; null = closed
  std::vector<Entry> entries_;  // guarded by mutex_
};

}  // namespace serval
