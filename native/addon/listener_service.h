// A native listener, as the JavaScript thread that owns it sees it. Control plane; that thread,
// unless stated otherwise.
#pragma once

#include <memory>

#include "addon/napi_api.h"
#include "base/buffer.h"
#include "base/error.h"
#include "engine/lane/lane.h"

namespace serval {

// The listeners of a thread: gRPC, HTTP, and a second HTTP listener on the admin address.
enum class ListenerKind : uint8_t { Grpc, Http, Admin };
inline constexpr size_t kListenerKinds = static_cast<size_t>(ListenerKind::Admin) + 1;

class ListenerService {
 public:
  struct State;
  explicit ListenerService(std::unique_ptr<State> state);
  // Starts a listener whose threads serve with the lane's engine and settings. `options`: see
  // ts/listeners/grpc/native-binding.ts and ts/listeners/http/native-binding.ts; `on_events` is
  // called when there are events to take. A gRPC listener that shares HTTP's port begins to serve
  // when the HTTP listener starts, which gets it as `grpc` (else null). Errors: invalid_argument,
  // internal.
  static Result<std::unique_ptr<ListenerService>> start(napi_env env, Lane& lane, ListenerKind kind,
                                                        napi_value options, napi_value on_events,
                                                        ListenerService* grpc);
  // Closes all connections; makes no more calls.
  ~ListenerService();

  uint16_t port() const;
  void take(ByteBuffer& out);
  void send(uint32_t thread, uint64_t call, uint32_t command, uint32_t value,
            std::span<const uint8_t> bytes);
  void drain(uint64_t ms);
  void reload_certificates();
  // Drops the routes that the threads have cached.
  void forget(uint32_t part);
  // Sets the access rules of gRPC calls from now on. `access`: see ts/listeners/grpc/access.ts.
  // Errors: those of AccessRules::make().
  Status set_access(napi_env env, napi_value access);

 private:
  std::unique_ptr<State> state_;
};

}  // namespace serval
