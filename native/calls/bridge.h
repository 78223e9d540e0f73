// Between a listener's threads and the JavaScript thread that answers what the engine does not:
// events one way, commands the other, many at once. Any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/generated/engine_names.h"
#include "calls/access.h"
#include "transport/call.h"

namespace serval {

using ListenerEvent = fb::ListenerEvent;
using ListenerCommand = fb::ListenerCommand;

class Bridge {
 public:
  struct Command {
    uint64_t call = 0;
    ListenerCommand kind = ListenerCommand::Finish;
    uint32_t value = 0;
    std::vector<uint8_t> bytes;
  };

  // `notify`: called when there are events again; must not block. Memory is charged to the budget.
  Bridge(uint32_t threads, MemoryBudget& budget, std::function<void()> notify);
  ~Bridge();
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  // Adds an event; its payload is `parts`, one behind the other. False: there is no memory for it.
  [[nodiscard]] bool push(ListenerEvent kind, uint32_t thread, uint64_t call, uint32_t value,
                          std::initializer_list<std::span<const uint8_t>> parts = {});
  // A value as part of a payload.
  template <typename T>
  static std::span<const uint8_t> words_of(const T& value) {
    return {reinterpret_cast<const uint8_t*>(&value), sizeof value};
  }
  // Moves all events to `out`, which is emptied first; its memory, charged to the same budget, is
  // the next events'. The threads are woken: they may go on.
  void take(ByteBuffer& out);
  // How often take() was called.
  uint64_t taken() const { return taken_.load(std::memory_order_acquire); }

  // A listener's thread begins (ends: null) to take commands.
  void attach(uint32_t thread, CallThread* loop);
  // False: there is no such thread (any more). Its bytes are counted until they are taken, whatever
  // the limit: they are an answer that was asked for.
  bool send(uint32_t thread, Command command);
  void take_commands(uint32_t thread, std::vector<Command>& out);

  // Who may make which call, as it is published.
  AccessSource& access() { return access_; }
  // Publishes who may make which call; the threads are woken to end streams that may not go on.
  void publish_access(std::shared_ptr<const AccessTable> table);

  // Nothing counts any more that was learned of routes. A rule says in which generation it was
  // made, counted from 0; on return no thread uses an older one for a request that begins.
  void forget_routes() { routes_generation_.fetch_add(1, std::memory_order_acq_rel); }
  uint32_t routes_generation() const { return routes_generation_.load(std::memory_order_acquire); }

  // What waited in the engine when a drain cut it: "<count> <name>" and a NUL byte for each model.
  void add_unanswered(std::string_view text);
  void drained(uint64_t cut);

 private:
  struct Mailbox {
    CallThread* loop = nullptr;
    std::vector<Command> commands;
  };

  MemoryBudget& budget_;
  const std::function<void()> notify_;
  AccessSource access_;
  std::mutex mutex_;
  ByteBuffer events_;                // guarded by mutex_
  std::vector<Mailbox> mailboxes_;   // guarded by mutex_
  std::vector<uint8_t> unanswered_;  // guarded by mutex_
  std::atomic<uint64_t> taken_{0};
  std::atomic<uint32_t> routes_generation_{0};
};

}  // namespace serval
