// A lane into the engine, one for each JavaScript thread that asks it: request slots, bodies,
// tickets and the completion queue. Knows nothing of N-API; the addon supplies hooks.
//
// Threads: every method belongs to the lane's thread, but complete() (any thread).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes/inflate.h"
#include "engine/control/engine.h"
#include "engine/lane/inline_runner.h"
#include "engine/lane/slots.h"
#include "engine/lane/tasks.h"
#include "engine/lane/turn.h"
#include "engine/request/completion.h"

namespace serval {

// What a call answers at once. Pending: a completion with `ticket` follows. Otherwise the answer
// (or the error's text) is in slot 0's response.
struct Answer {
  ErrorCode code = ErrorCode::Ok;
  bool pending = false;
  uint32_t ticket = 0;
};

// Where a body's first binary tensor begins: where its JSON ends.
inline size_t aligned_at(int64_t json_bytes) {
  return json_bytes > 0 ? static_cast<size_t>(json_bytes) : 0;
}

// Nanoseconds of a time limit, less what was spent; at least 1.
inline uint64_t left_of(uint64_t timeout_us, uint64_t spent_ns) {
  const uint64_t timeout_ns = std::min(timeout_us, kTimeoutUsMax) * 1000;
  return timeout_ns > spent_ns ? timeout_ns - spent_ns : 1;
}

// Too many tickets are open.
Error no_slot();

class Lane : public std::enable_shared_from_this<Lane> {
 public:
  // Borrows the hooks until close().
  Lane(std::shared_ptr<Engine> engine, ServeSettings settings, LaneHooks* hooks);
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  const ServeSettings& settings() const { return settings_; }
  Engine& engine() { return *engine_; }
  std::shared_ptr<Engine> shared_engine() const { return engine_; }

  // A whole REST body in one piece. handle 0 = the model is unknown (V1 still checks the body).
  Answer infer(Protocol protocol, uint32_t handle, std::span<const uint8_t> body,
               int64_t json_bytes);
  // A gRPC message; the model is named inside. `timeout_us`: what is left of the call's deadline,
  // 0 = it has none. `owned`: the buffer that holds the message, charged to the engine's budget;
  // where the request is queued, it may be taken and other memory be left in its place.
  // Errors: those of the protocol; queue_full (no slot left), memory_full.
  Answer infer_message(Protocol protocol, std::span<const uint8_t> message, uint64_t timeout_us,
                       ByteBuffer* owned = nullptr);

  // The headers of the request that comes next; only where Tracer::reads_parents() says so.
  void set_trace_parent(std::string_view parent, std::string_view state) {
    parents_ = engine_->tracer().generation();
    parent_ = parse_trace_parent(parent, state);
  }
  // Whether the request that came last is traced, and as what; once.
  bool take_traced(TraceId& trace_id, SpanId& span_id);

  // The end of a turn: the requests that this turn queued for batching are made known at once. One
  // that came alone, to a model with nothing else to do, is run right here where that is fast.
  void flush() { turn_.flush(); }
  bool has_unflushed() const { return !turn_.empty(); }

  // A body that comes in pieces. expected_bytes: Content-Length, 0 = unknown. The byte at
  // `aligned_at` (the JSON header's length) will be 64-byte aligned.
  // Errors: queue_full (no slot left), body_too_large, memory_full.
  Result<uint32_t> open_body(uint64_t expected_bytes, uint64_t aligned_at);
  // Errors: body_too_large, memory_full, internal; the ticket stays open until cancel().
  Status append_body(uint32_t ticket, std::span<const uint8_t> chunk);
  // Consumes the ticket when it answers at once; a pending answer keeps it.
  Answer infer_body(uint32_t ticket, Protocol protocol, uint32_t handle, int64_t json_bytes);

  // The same for a compressed body, which is unpacked first: by another thread where it is long.
  // Errors: body_too_large, malformed_body, memory_full; those of infer_body().
  Answer infer_packed(uint32_t ticket, Protocol protocol, uint32_t handle, int64_t json_bytes,
                      Coding coding);

  // The client went away. An open body is dropped at once; a queued request that has not begun is
  // taken out; a running one is ended and completes. No completion may follow when this returns
  // true.
  bool cancel(uint32_t ticket);

  // Loads, unloads and warm-ups: answered by completion. cancel() ends a warm-up.
  Result<uint32_t> open_control();
  Request* control_request(uint32_t ticket) { return slots_.find(ticket); }

  // Takes up to `max` completed requests; each must be released. Also picks up a new engine table.
  size_t take_completed(std::span<Request*> out);
  // Keeps the answer of a request that was just taken until cancel(), and not its body. False when
  // the ticket is no such request's.
  bool keep_answer(uint32_t ticket) { return slots_.keep_answer(ticket); }
  // Releases a request that was taken, if it is not kept.
  void release_taken(uint32_t ticket);
  bool has_completed() { return !completions_.empty(); }
  void release(Request& request) { slots_.release(request); }
  uint32_t ticket_of(const Request& request) const { return slots_.ticket_of(request); }
  Request* slot(uint32_t index) { return slots_.at(index); }

  // Any thread: hands finished requests back to the listener's thread. Not empty.
  void complete(std::span<Request* const> requests) { completions_.complete(requests); }

  // Counts bytes that this thread's JavaScript holds (negative: holds no more). False: they are
  // `refusable`, do not fit and are not counted; or they are counted, and the budget is full.
  bool count_bytes(int64_t change, bool refusable);

  // Cancels what waits and blocks until no instance touches this lane's memory.
  void close();

  // The models of requests that are queued or run: for each "<count> <name>" and a NUL byte. False
  // when memory is out.
  bool unanswered(ByteBuffer& out) const;

  uint64_t tickets_open() const { return slots_.tickets_open(); }
  uint64_t bodies_open() const { return slots_.bodies_open(); }  // those still being received
  // Any thread: makes the listener's thread pick up a new table and, with `drop_kept`, give back
  // what free slots, and the thread by its hooks, keep for later.
  void poke(bool drop_kept = false);

 private:
  // A request that came: what is asked, and where its bytes are.
  struct Arrival {
    Protocol protocol = Protocol::V1Predict;
    std::span<const uint8_t> bytes;  // JavaScript's, or those of `request`
    int64_t json_bytes = -1;
    uint64_t timeout_us = 0;     // what is left of its time; 0 = no limit
    Request* request = nullptr;  // where the body came in pieces, into a slot of its own
    SchedulePolicy schedule;
    ByteBuffer* owned = nullptr;  // of a message: what holds `bytes`, if it may be taken
  };

  // What the request that is being taken in is traced as.
  struct Traced {
    bool fresh = false;  // nobody took it yet
    TraceId trace_id;
    SpanId span_id;
  };

  // intake.cc
  void begin_trace(Model& model);
  Answer admit(Arrival arrival, uint32_t handle);
  Status pad_body(Arrival& arrival);
  std::optional<Answer> run_here(Arrival& arrival, Model& model);
  Answer answer_missing(Arrival& arrival, uint32_t handle);
  Result<Request*> take_in(const Arrival& arrival);
  Status take_message(const Arrival& arrival, Request& request);
  Answer enqueue(const Arrival& arrival, const std::shared_ptr<Model>& model, uint64_t spent_ns);
  void begin_queued(Request& request, const std::shared_ptr<Model>& model, const Arrival& arrival,
                    uint64_t spent_ns);
  Answer refuse(Request& request, Model& model, const Error& error);
  Answer answer_closed();
  Answer answer_error(const Arrival& arrival, const Error& error, uint32_t handle = 0);
  void log_error(const Arrival& arrival, const Error& error, uint32_t handle);
  Status push(Request& request, const std::shared_ptr<Model>& model);
  // tasks.cc
  Answer infer_tasks(const Arrival& arrival);
  std::unique_ptr<Trace> task_trace(size_t at) const;
  std::optional<Answer> run_tasks_here(const Arrival& arrival, Model& model, size_t& done);
  Answer queue_tasks(const Arrival& arrival, const std::shared_ptr<Model>& model, size_t first,
                     uint64_t spent_ns);
  Status queue_task(const std::shared_ptr<TaskGroup>& group, size_t at,
                    const std::shared_ptr<Model>& model, uint64_t timeout_us, uint64_t spent_ns);
  void end_tasks(TaskGroup& group);
  bool cancel_tasks(Request& whole);
  Request* finish_task(Request& done);
  void add_results(TaskGroup& group);
  // packed_body.cc
  void unpack_and_push(Request& request, Coding coding);

  const EngineTable& table();
  bool take_back(Request& request);

  std::shared_ptr<Engine> engine_;  // until close()
  const std::shared_ptr<MemoryBudget> budget_;
  const ServeSettings settings_;
  LaneHooks& hooks_;
  std::shared_ptr<const EngineTable> table_;
  RequestSlots slots_;
  CompletionQueue completions_;
  InlineRunner inline_runner_;
  TurnRequests turn_;
  TaskMemory task_memory_;
  int64_t counted_bytes_ = 0;          // by count_bytes()
  std::optional<TraceParent> parent_;  // of the request that comes next
  uint64_t parents_ = 0;               // the tracer's generation that parent_ counts in
  std::unique_ptr<Trace> trace_;       // of the request that is being taken in, until it has it
  Traced traced_;
  std::atomic<bool> drop_due_{false};
};

}  // namespace serval
