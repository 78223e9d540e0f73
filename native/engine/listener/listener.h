// The engine's side of one listener (one JavaScript thread): request slots, bodies, tickets and the
// completion queue. Knows nothing of N-API; the addon supplies hooks.
//
// Threads: every method belongs to the listener's thread, but complete() (any thread).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "codec/inflate.h"
#include "engine/engine.h"
#include "engine/request.h"
#include "engine/serve.h"

namespace serval {

// What the addon does for a listener.
class ListenerHooks {
 public:
  virtual ~ListenerHooks() = default;
  virtual void wake() = 0;            // any thread; must not block
  virtual void* pin() = 0;            // listener's thread: keeps the current message's bytes
  virtual void unpin(void* pin) = 0;  // listener's thread
  // Whether flush() is called at the end of every turn of the thread's event loop.
  virtual bool ends_turns() { return false; }
};

// What a call answers at once. Pending: a completion with `ticket` follows. Otherwise the answer
// (or the error's text) is in slot 0's response.
struct Answer {
  ErrorCode code = ErrorCode::Ok;
  bool pending = false;
  uint32_t ticket = 0;
};

class Listener : public std::enable_shared_from_this<Listener> {
 public:
  Listener(std::shared_ptr<Engine> engine, Limits limits, ListenerHooks* hooks);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const Limits& limits() const { return limits_; }
  Engine& engine() { return *engine_; }
  std::shared_ptr<Engine> shared_engine() const { return engine_; }

  // A whole REST body in one piece. handle 0 = the model is unknown (V1 still checks the body).
  Answer infer(Protocol protocol, uint32_t handle, std::span<const uint8_t> body,
               int64_t json_bytes);
  // A gRPC message; the model is named inside. `timeout_us`: what is left of the call's deadline,
  // 0 = it has none.
  Answer infer_message(Protocol protocol, std::span<const uint8_t> message, uint64_t timeout_us);

  // The end of a turn: the requests that this turn queued for batching are made known at once. One
  // that came alone, to a model with nothing else to do, is run right here where that is fast.
  void flush();
  bool has_unflushed() const { return !unflushed_.empty(); }

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
  Request* control_request(uint32_t ticket) { return find(ticket); }

  // Takes up to `max` completed requests; each must be released. Also picks up a new engine table.
  size_t take_completed(std::span<Request*> out);
  // Keeps the answer of a request that was just taken until cancel(), and not its body. False when
  // the ticket is no such request's.
  bool keep_answer(uint32_t ticket);
  // Releases a request that was taken, if it is not kept.
  void release_taken(uint32_t ticket);
  bool has_completed();
  void release(Request& request);
  uint32_t ticket_of(const Request& request) const;
  Request* slot(uint32_t index) { return index < slots_.size() ? slots_[index].get() : nullptr; }

  // Any thread: hands finished requests back to the listener's thread. Not empty.
  void complete(std::span<Request* const> requests);

  // Counts bytes that this thread's JavaScript holds (negative: holds no more). False: they are
  // `refusable`, do not fit and are not counted; or they are counted, and the budget is full.
  bool count_bytes(int64_t change, bool refusable);

  // Cancels what waits and blocks until no instance touches this listener's memory.
  void close();

  // The models of requests that are queued or run: for each "<count> <name>" and a NUL byte. False
  // when memory is out.
  bool unanswered(ByteBuffer& out) const;

  uint64_t tickets_open() const { return tickets_open_; }
  uint64_t bodies_open() const;  // of these, bodies still being received
  // Any thread: makes the listener's thread pick up a new table and, with `drop_kept`, give back
  // what free slots keep for later.
  void poke(bool drop_kept = false);

 private:
  Request* find(uint32_t ticket);
  Request* open_slot();
  void add_working(int change);
  bool runs_inline(Model& model, Protocol protocol, size_t body_bytes);
  Answer answer_error(Error error);
  Answer answer_unknown(Protocol protocol, std::span<const uint8_t> body);
  std::optional<Answer> run_inline(Model& model, ServeInput input, uint64_t timeout_us);
  Answer enqueue(Request& request, const std::shared_ptr<Model>& model, Protocol protocol,
                 int64_t json_bytes, uint64_t spent_ns);
  Answer queued(Request& request, const std::shared_ptr<Model>& model, bool later);
  Answer refuse(Request& request, Model& model, Error error);
  void begin_queued(Request& request, const std::shared_ptr<Model>& model, Protocol protocol,
                    int64_t json_bytes, uint64_t spent_ns);
  void unpack_and_push(Request& request, Coding coding);
  void drop_kept();
  void drop(ByteBuffer& buffer);
  void unpin(Request& request);
  void flush_model(const std::shared_ptr<Model>& model, Request* only);
  void run_queued_here(Model& model, Request& request);
  const EngineTable& table();

  Request* new_slot();

  std::shared_ptr<Engine> engine_;  // until close()
  const std::shared_ptr<MemoryBudget> budget_;
  const Limits limits_;
  const uint64_t retained_bytes_max_;
  std::shared_ptr<const EngineTable> table_;
  Worker worker_;
  InlineRuns inline_runs_;
  std::vector<std::unique_ptr<Request>> slots_;  // slot 0: inline answers
  std::vector<uint32_t> free_slots_;
  // Models that this turn queued requests for; `only`: the request, where it is the first.
  struct Unflushed {
    std::shared_ptr<Model> model;
    Request* only = nullptr;
    uint32_t requests = 0;
  };
  std::vector<Unflushed> unflushed_;
  uint64_t retained_bytes_ = 0;
  uint64_t tickets_open_ = 0;
  int64_t counted_bytes_ = 0;  // by count_bytes()

  std::mutex mutex_;
  std::condition_variable idle_;
  ListenerHooks* hooks_;            // guarded by mutex_ for wake()
  std::deque<Request*> completed_;  // guarded by mutex_
  int64_t working_ = 0;             // guarded by mutex_: queued, running, loading
  bool closed_ = false;             // guarded by mutex_
  std::atomic<bool> drop_due_{false};
};

// Writes the outcome into the request: the code, and an error's text (on a stream: the reply that
// carries it). Thread: whoever finished it.
void store_outcome(Request& request, Status status);
// Hands requests whose outcome is stored back to their listeners, those of one at once.
void complete_all(std::span<Request* const> requests);
void complete_one(Request& request);
// Both for one request.
void finish_request(Request& request);
void finish_request(Request& request, const Error& error);

}  // namespace serval
