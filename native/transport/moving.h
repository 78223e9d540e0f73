// Connections and sockets on their way to a listener thread. Any thread.
//
// A connection moves only at a safe point, at the end of an event-loop iteration: no request of it
// is known to the thread's handler, nothing waits to be written, and its timer is removed. It is
// one object with its channel (socket and TLS state) and, for HTTP/2, its nghttp2 session, none of
// which depend on a thread; the new thread gets it through Arrivals, whose lock orders all
// accesses. HTTP/1 reaches such a point after each response. HTTP/2 moves together with unary gRPC
// calls whose message is still arriving (a handler keeps nothing of those); while other calls are
// in progress, the connection stops reading for at most kHoldNs until they are answered. A
// connection with an open stream stays.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "base/clock.h"
#include "transport/loop/connection.h"

namespace serval {

// How long a connection that should move may wait without being read.
inline constexpr uint64_t kHoldNs = 200 * kNsPerMs;
// How long a connection stays after it could not move.
inline constexpr uint64_t kStayNs = 10'000 * kNsPerMs;

class Arrivals {
 public:
  struct Content {
    std::vector<int> sockets;
    std::vector<std::unique_ptr<Connection>> connections;
  };

  // False: closed; the caller keeps it.
  bool add(int socket) {
    std::lock_guard lock(mutex_);
    if (!closed_) content_.sockets.push_back(socket);
    return !closed_;
  }
  bool add(std::unique_ptr<Connection>& connection) {
    std::lock_guard lock(mutex_);
    if (!closed_) content_.connections.push_back(std::move(connection));
    return !closed_;
  }
  // Returns everything that arrived. `closes`: nothing arrives from now on.
  Content take(bool closes) {
    Content out;
    std::lock_guard lock(mutex_);
    std::swap(out, content_);
    closed_ = closed_ || closes;
    return out;
  }

 private:
  std::mutex mutex_;
  bool closed_ = false;  // guarded by mutex_
  Content content_;      // guarded by mutex_
};

}  // namespace serval
