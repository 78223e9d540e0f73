// One connection, as the listener's thread knows it: whatever it speaks. Hot path; that thread.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "transport/loop/timers.h"
#include "transport/socket/channel.h"

namespace serval {

class Call;
class Connection;
class HttpRequest;
class NumberedCall;

// A time that something waits for: a call's deadline, or (no call) the next one of a connection.
struct DueNode : TimerNode {
  Connection* connection = nullptr;
  NumberedCall* call = nullptr;
};

// A call or request that others know by its number. Numbers are never used twice on one thread.
class NumberedCall {
 public:
  NumberedCall(const NumberedCall&) = delete;
  NumberedCall& operator=(const NumberedCall&) = delete;

  // Among all calls of this thread, unless it has ended: see CallThread.
  uint64_t id() const { return id_; }
  // On now_ns()'s clock; 0 = none.
  uint64_t deadline_ns() const { return deadline_ns_; }
  DueNode& due_node() { return due_; }
  void set_id(uint64_t id) { id_ = id; }

  // Its kind: one of the two is not null.
  virtual Call* as_call() { return nullptr; }
  virtual HttpRequest* as_request() { return nullptr; }
  virtual void deadline_passed() {}
  // A step of its message that is unpacked elsewhere has been run.
  virtual void unpack_on() {}
  // Its input may go on.
  virtual void resume_taking() {}

 protected:
  NumberedCall() = default;
  virtual ~NumberedCall() = default;
  uint64_t id_ = 0;
  uint64_t deadline_ns_ = 0;
  DueNode due_;
};

class Connection {
 public:
  explicit Connection(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {}
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // False where it cannot begin: it is ended then.
  virtual bool begin() = 0;
  virtual void readable() = 0;
  virtual void writable() = 0;
  // The end of a turn: writes what there is.
  virtual void flush() = 0;
  virtual void due(uint64_t now_ns) = 0;
  // Closes when the calls that there are have ended. `stops`: the server stops, so streams are to
  // end too.
  virtual void retire(bool stops) = 0;
  virtual void end() = 0;
  // In a drain: ends what has nothing to wait for. `idle`: nothing runs on any connection.
  virtual void look(bool idle, uint64_t now_ns) = 0;
  // Ends its calls and then itself; returns how many waited for their handlers.
  virtual uint64_t cut() = 0;
  // While too many answers wait to be read: closes where nothing is read for long.
  virtual void look_at_unsent(bool too_many, uint64_t now_ns) = 0;
  virtual uint32_t waiting_calls() const = 0;

  bool is_dead() const { return dead_; }
  Channel& channel() { return *channel_; }

  Connection* previous = nullptr;  // the thread's list
  Connection* next = nullptr;

 protected:
  std::unique_ptr<Channel> channel_;  // null once another connection has it
  DueNode due_;
  bool dead_ = false;
};

}  // namespace serval
