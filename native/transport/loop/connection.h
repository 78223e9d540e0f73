// One connection as the listener's thread sees it, for every protocol. Hot path; that thread.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "transport/loop/reading_order.h"
#include "transport/loop/timers.h"
#include "transport/socket/channel.h"

namespace serval {

class Call;
class Connection;
class HttpRequest;
class ListenerThread;
class NumberedCall;

// A timer: a call's deadline, or the next one of a connection (`call` is null).
struct DueNode : TimerNode {
  Connection* connection = nullptr;
  NumberedCall* call = nullptr;
};

// A call or request that other threads identify by its number. Numbers are never reused on one
// thread.
class NumberedCall {
 public:
  NumberedCall(const NumberedCall&) = delete;
  NumberedCall& operator=(const NumberedCall&) = delete;

  // Unique among all calls of this thread; see CallThread::find().
  uint64_t id() const { return id_; }
  // On now_ns()'s clock; 0 = none.
  uint64_t deadline_ns() const { return deadline_ns_; }
  DueNode& due_node() { return due_; }
  void set_id(uint64_t id) { id_ = id; }

  // Exactly one of the two is not null.
  virtual Call* as_call() { return nullptr; }
  virtual HttpRequest* as_request() { return nullptr; }
  virtual void deadline_passed() {}
  // One decompression step, run on another thread, has finished.
  virtual void unpack_on() {}
  // Resumes reading its input.
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

  // False: it could not begin and has been ended.
  virtual bool begin() = 0;
  virtual void readable() = 0;
  virtual void writable() = 0;
  // Called at the end of a turn: writes pending output.
  virtual void flush() = 0;
  virtual void due(uint64_t now_ns) = 0;
  // Closes once all current calls have ended. `stops`: the server is stopping, so streams should
  // end too.
  virtual void retire(bool stops) = 0;
  virtual void end() = 0;
  // Called during a drain: closes the connection if it has nothing to wait for. `idle`: no
  // connection has a running call.
  virtual void look(bool idle, uint64_t now_ns) = 0;
  // Ends its calls, then itself; returns the number of calls that waited for their handlers.
  virtual uint64_t cut() = 0;
  // Called while too many responses are unread: closes a client that has not read for long.
  virtual void look_at_unsent(bool too_many, uint64_t now_ns) = 0;
  virtual uint32_t waiting_calls() const = 0;

  // --- moving to another thread of the listener (moving.h) ---
  // Whether nothing of it refers to this thread: no request is being read or answered, no output
  // waits.
  virtual bool can_move() const { return false; }
  // Stops reading requests so that can_move() becomes true when those in progress are answered, or
  // reads again. Nothing happens if that would not suffice.
  virtual void hold_reading(bool /*holds*/) {}
  // Before: removes everything that the thread knows of it. After: continues on this thread.
  virtual void leave_thread() {}
  virtual void enter_thread(ListenerThread& /*thread*/) {}
  // Counts a wake-up in an interval of the thread.
  void count_work(uint32_t interval) {
    if (work_interval_ != interval) work_ = 0;
    work_interval_ = interval;
    ++work_;
  }
  // The wake-ups in that interval.
  uint64_t work_of(uint32_t interval) const { return work_interval_ == interval ? work_ : 0; }
  // The time until which it stays on this thread, because it could not move.
  uint64_t stays_until_ns = 0;

  // --- turns of reading (ListenerThread::read()) ---
  // Whether it read its whole share in its last turn, and therefore waits while others are read.
  bool reads_much() const { return reads_much_; }
  void set_reads_much(bool much) { reads_much_ = much; }
  // Whether it waits for a later turn.
  bool is_deferred() const { return deferred_; }
  void set_deferred(bool deferred) { deferred_ = deferred; }

  // --- order of reading (reading_order.h) ---
  // The flow of its latest request.
  ReadFlow flow() const { return flow_; }
  void set_flow(ReadFlow flow) { flow_ = flow; }
  // The number of the latest reading among those of its thread; 0 = never.
  uint64_t read_number() const { return read_number_; }
  void set_read_number(uint64_t number) { read_number_ = number; }
  // The nanoseconds that a received byte takes, its requests included; 0 = unknown.
  float byte_ns() const { return byte_ns_; }
  void set_byte_ns(float ns) { byte_ns_ = ns; }

  bool is_dead() const { return dead_; }
  Channel& channel() { return *channel_; }

  Connection* previous = nullptr;  // the thread's list
  Connection* next = nullptr;

 protected:
  std::unique_ptr<Channel> channel_;  // null after another connection took it over
  DueNode due_;
  bool dead_ = false;

 private:
  uint64_t work_ = 0;
  uint32_t work_interval_ = 0;
  uint64_t read_number_ = 0;
  ReadFlow flow_;
  float byte_ns_ = 0;
  bool reads_much_ = false;
  bool deferred_ = false;
};

}  // namespace serval
