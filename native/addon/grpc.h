// The native gRPC listener, as the JavaScript thread that owns it sees it. Control plane; that
// thread, where nothing else is said.
#pragma once

#include <memory>

#include "addon/napi_api.h"
#include "base/buffer.h"
#include "base/error.h"
#include "engine/lane/lane.h"

namespace serval {

// Whether this build has it.
bool grpc_built();

class GrpcService {
 public:
  struct State;
  explicit GrpcService(std::unique_ptr<State> state);
  // Starts a listener whose threads serve by the lane's engine and settings. `options`: see
  // ts/transport/grpc/native-binding.ts; `on_events` is called when there are events to take.
  // Errors: invalid_argument, internal; runtime_unavailable where it is not built.
  static Result<std::unique_ptr<GrpcService>> start(napi_env env, Lane& lane, napi_value options,
                                                    napi_value on_events);
  // Cuts everything; nothing is called any more.
  ~GrpcService();

  uint16_t port() const;
  void take(ByteBuffer& out);
  void send(uint32_t thread, uint64_t call, uint32_t command, uint32_t value,
            std::span<const uint8_t> bytes);
  void drain(uint64_t ms);
  void reload_certificates();
  // From now on calls are let in by this. `access`: see ts/transport/grpc/native-access.ts.
  // Errors: those of AccessTable::make().
  Status set_access(napi_env env, napi_value access);

 private:
  std::unique_ptr<State> state_;
};

}  // namespace serval
