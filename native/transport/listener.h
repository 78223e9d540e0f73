// A listener: N threads, each with its own epoll, that accept connections, speak gRPC over HTTP/2
// or HTTP/1, and pass calls or requests to their handlers. Knows no models and no messages. Control
// plane: call from any one thread; the work runs on the listener's own threads (`sv-grpc-<i>`,
// `sv-http-<i>`).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/memory_budget.h"
#include "transport/call.h"
#include "transport/settings.h"

namespace serval {

// Failed TLS handshakes of clients.
struct HandshakeFailures {
  uint64_t count = 0;  // since the listener started
  std::string peer;    // address of the last one
  std::string reason;  // reason of the last one
};

// A thread that the listener added.
struct ThreadAdded {
  uint32_t threads = 0;   // the number of threads now
  uint32_t load = 0;      // of the busy thread, in thousandths of its time
  double free_cores = 0;  // before
};

// Notifications from the listener; called on its threads.
struct TransportEvents {
  // A connection was refused: too many are open, or no descriptors are left. At most once a second.
  std::function<void(uint32_t connections)> full;
  // A TLS handshake failed. At most once a second.
  std::function<void(const HandshakeFailures&)> handshake_failed;
  // TLS files were reloaded; on an error the previous ones stay in use.
  std::function<void(const Status&)> certificates;
  // Takes over buffers of 1 MiB and more, to be freed on another thread; may be empty.
  std::function<void(ByteBuffer)> free_large;
  // Runs a task of about a millisecond on another thread; may be empty. False: no thread is
  // available.
  std::function<bool(std::function<void()>)> elsewhere;
  // A megabyte or more of responses was freed in pieces: the allocator may return memory to the
  // system. Cheap; may be empty.
  std::function<void()> trim;
  // A thread was added because others were busy.
  std::function<void(const ThreadAdded&)> thread_added;
  // The number of threads changed by this; also called when the listener starts and ends.
  std::function<void(int64_t change)> threads_changed;
};

class TransportListener {
 public:
  struct State;
  explicit TransportListener(std::unique_ptr<State> state);
  // Makes the handler of a thread, on that thread; the handler is destroyed there too.
  using MakeHandler = std::function<std::unique_ptr<TurnHandler>(CallThread&)>;

  // Starts listening. Charges the budget for the messages it holds.
  // Errors: invalid_argument (address, TLS files), internal (no threads, no descriptors).
  static Result<std::unique_ptr<TransportListener>> start(TransportSettings settings,
                                                          std::shared_ptr<MemoryBudget> budget,
                                                          TransportEvents events,
                                                          const MakeHandler& make_handler);
  // Cuts all connections and joins the threads.
  ~TransportListener();

  uint16_t port() const;
  // Stops accepting, sends GOAWAY, lets calls finish; cuts the rest after `ms`. Calls
  // `drained(cut)` once, on one of its threads, with the number of calls that were cut.
  void drain(uint64_t ms, std::function<void(uint64_t cut)> drained);
  // Reloads TLS files (SIGHUP); reports the result through `certificates`.
  void reload_certificates();
  uint64_t connections() const;
  uint32_t threads() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace serval
