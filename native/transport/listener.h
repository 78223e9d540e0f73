// A listener: N threads with an epoll each that accept, speak gRPC over HTTP/2 or HTTP/1, and hand
// calls or requests to their handlers. Knows no models and no messages. Control plane: any one
// thread; what runs is on the listener's own threads (`sv-grpc-<i>`, `sv-http-<i>`).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/memory_budget.h"
#include "transport/call.h"
#include "transport/settings.h"

namespace serval {

// TLS handshakes of clients that failed.
struct HandshakeFailures {
  uint64_t count = 0;  // since the listener started
  std::string peer;    // of the last one: its address,
  std::string reason;  // and why it failed
};

// What the listener tells of itself; called on its threads.
struct TransportEvents {
  // A connection was refused: there are so many, or no descriptors. Not more than once a second.
  std::function<void(uint32_t connections)> full;
  // A TLS handshake failed. Not more than once a second.
  std::function<void(const HandshakeFailures&)> handshake_failed;
  // TLS files were read anew, or (an error) were not and the old ones stay.
  std::function<void(const Status&)> certificates;
  // Takes memory of a megabyte and more to be freed elsewhere; may be empty.
  std::function<void(ByteBuffer)> free_large;
  // Runs a task of a millisecond on another thread; may be empty. False: there is none.
  std::function<bool(std::function<void()>)> elsewhere;
  // A megabyte or more of answers was given back, piece by piece: what the allocator keeps of it
  // may go to the system. Cheap; may be empty.
  std::function<void()> trim;
};

class TransportListener {
 public:
  struct State;
  explicit TransportListener(std::unique_ptr<State> state);
  // Makes the handler of a thread, on that thread; it goes on that thread too.
  using MakeHandler = std::function<std::unique_ptr<TurnHandler>(CallThread&)>;

  // Listens. Takes the budget's charges for what it holds of messages.
  // Errors: invalid_argument (address, TLS files), internal (no threads, no descriptors).
  static Result<std::unique_ptr<TransportListener>> start(TransportSettings settings,
                                                          std::shared_ptr<MemoryBudget> budget,
                                                          TransportEvents events,
                                                          const MakeHandler& make_handler);
  // Cuts everything and joins the threads.
  ~TransportListener();

  uint16_t port() const;
  // Stops accepting, says GOAWAY, lets calls finish; after `ms` the rest is cut. `drained(cut)` is
  // called once, on one of its threads: with the calls that were cut.
  void drain(uint64_t ms, std::function<void(uint64_t cut)> drained);
  // Reads TLS files anew (SIGHUP); told by `certificates`.
  void reload_certificates();
  uint64_t connections() const;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace serval
