// Connects a listener's threads with the JavaScript thread that answers what the engine does not:
// events in one direction, commands in the other, many at a time. Any thread.
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
#include "calls/route_generations.h"
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

  // `notify` is called when events are available again; it must not block. Memory is charged to the
  // budget.
  Bridge(uint32_t threads, MemoryBudget& budget, std::function<void()> notify);
  ~Bridge();
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;

  // Adds an event; its payload is the concatenation of `parts`. False: out of memory.
  [[nodiscard]] bool push(ListenerEvent kind, uint32_t thread, uint64_t call, uint32_t value,
                          std::initializer_list<std::span<const uint8_t>> parts = {});
  // A value's bytes as part of a payload.
  template <typename T>
  static std::span<const uint8_t> words_of(const T& value) {
    return {reinterpret_cast<const uint8_t*>(&value), sizeof value};
  }
  // Moves all events to `out`, which is cleared first; its memory, charged to the same budget, is
  // reused for later events. Wakes the threads: they may resume.
  void take(ByteBuffer& out);
  // The number of take() calls.
  uint64_t taken() const { return taken_.load(std::memory_order_acquire); }

  // A listener's thread starts (`loop` null: stops) to receive commands.
  void attach(uint32_t thread, CallThread* loop);
  // Sends a command. False: there is no such thread (any more). Its bytes are counted until the
  // thread reads them, even beyond the limit, because it is an expected response.
  bool send(uint32_t thread, Command command);
  void take_commands(uint32_t thread, std::vector<Command>& out);

  // The published access rules.
  AccessSource& access() { return access_; }
  // Publishes access rules; wakes the threads to end streams that are no longer allowed.
  void publish_access(std::shared_ptr<const AccessRules> rules);

  RouteGenerations& route_generations() { return route_generations_; }

  // Records requests that waited in the engine when a drain cut them: "<count> <name>" and a NUL
  // byte for each model.
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
  RouteGenerations route_generations_;
};

}  // namespace serval
