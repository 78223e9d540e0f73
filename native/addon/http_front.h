// Accepts the connections of an HTTP port and looks at the first request of each, without reading
// it: whether uWebSockets.js serves it right, or node:http has to. Control plane; JavaScript's
// thread, and one of the front's own (`sv-http-front`).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "addon/guard.h"
#include "addon/napi_api.h"

namespace serval {

// Told with the descriptor of a connection, which is the receiver's from ToUws and ToNode on.
enum class FrontEvent : uint32_t { Accepted = 0, ToUws = 1, ToNode = 2, Gone = 3 };

// Chooses the server of a connection by its first bytes: uWebSockets.js where they are a whole head
// of HTTP/1.1. It refuses HTTP/1.0 and a first line in pieces, and knows `Expect: 100-continue` and
// options of Connection in one spelling only.
FrontEvent front_choice(std::string_view bytes);

class HttpFront {
 public:
  struct State;
  HttpFront();
  ~HttpFront();
  HttpFront(const HttpFront&) = delete;
  HttpFront& operator=(const HttpFront&) = delete;

  // Accepts from the listening socket (a duplicate of the descriptor) and calls `callback(event,
  // descriptor)`, in order, on the caller's thread. False: no descriptor, or no thread, for it.
  bool open(napi_env env, int listening, napi_value callback);
  // Accepts no more. Connections that wait for their first bytes stay.
  void stop();
  // Closes connections that have waited at least that long.
  void sweep(uint64_t older_than_ms);

 private:
  std::unique_ptr<State> state_;
};

// frontOpen(descriptor, callback(event, descriptor)) -> a number from 1 on; 0: it cannot
uint32_t FrontOpen(Arguments<2>& arguments);
// frontStop(front): accepts no more
napi_value FrontStop(Arguments<1>& arguments);
// frontSweep(front, ms): closes connections that were silent for `ms`; 0: all, and ends it
napi_value FrontSweep(Arguments<2>& arguments);

}  // namespace serval
