// The settings of a listener. Data only; written before it starts, then read by its threads. Limits
// are named like gRPC's channel arguments.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "transport/socket/tls.h"

namespace serval {

inline constexpr uint64_t kMsForever = UINT64_MAX;

// The protocols on a listener's port: gRPC calls, HTTP requests (over HTTP/1 and HTTP/2), or both,
// distinguished by their content type.
enum class Serves : uint8_t { Grpc, Http, Both };

constexpr const char* name_of(Serves serves) {
  switch (serves) {
    case Serves::Grpc: return "gRPC";
    case Serves::Http: return "HTTP";
    case Serves::Both: break;
  }
  return "HTTP and gRPC";
}

struct TransportSettings {
  Serves serves = Serves::Grpc;
  // The listen address: host and port (0 picks a free one), or a unix socket, or both. An empty
  // host disables TCP.
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  std::string unix_path;
  uint16_t unix_mode = 0700;  // of the socket file, regardless of the umask
  uint32_t threads = 1;
  // While threads are busy and cores are free, threads are added up to this number, and connections
  // move to them; at most `threads`: never. `cores`: the number that the process may use.
  uint32_t threads_max = 0;
  uint32_t cores = 1;
  bool reuse_port = false;  // lets other processes that set it share the port
  TlsSettings tls;

  uint64_t receive_bytes_max = 2147483647;  // per message; a compressed one counts decompressed
  uint64_t inflated_bytes_max = 104857600;  // decompressed size limit, as in REST
  uint64_t send_bytes_max = 2147483647;
  uint32_t concurrent_streams_max = 4096;   // per connection; clients delay further calls
  uint32_t connections_max = 100'000;       // over all threads; further ones are closed at once
  uint32_t header_bytes_max = 65'536;       // of one request's header list
  uint32_t stream_window_bytes = 1u << 20;  // unacknowledged bytes that a client may send
  uint32_t connection_window_bytes = 16u << 20;
  // Limit on the bytes of all responses that clients have not read; above it, calls of clients with
  // many unread bytes are refused.
  uint64_t unsent_bytes_max = UINT64_MAX;
  uint64_t handshake_ms_max = 10'000;  // until a client's preface and SETTINGS

  // Source: grpc_arg_keys; Triton's --grpc-keepalive-* and --grpc-http2-* have these defaults.
  uint64_t keepalive_time_ms = 7'200'000;
  uint64_t keepalive_timeout_ms = 20'000;
  bool keepalive_permit_without_calls = false;
  uint32_t pings_without_data_max = 2;                   // that we send
  uint64_t ping_interval_without_data_ms_min = 300'000;  // that clients send
  uint32_t ping_strikes_max = 2;                         // 0 = unlimited
  uint64_t connection_age_ms_max = kMsForever;
  uint64_t connection_age_grace_ms = kMsForever;
  uint64_t connection_idle_ms_max = kMsForever;

  // HTTP limits: bytes of a request line; the time a connection may be without a request, the time
  // for a connection's first request and for each head, and the time without progress of a body or
  // a response (reduced to the idle limit when memory is scarce).
  uint32_t target_bytes_max = 16'384;
  uint64_t idle_ms = 60'000;
  uint64_t silent_ms = 10'000;
  uint64_t stalled_ms = 600'000;

  // The clock of its threads; tests replace it.
  uint64_t (*clock)() = now_ns;

  // Compression of responses that a client accepts compressed: 0 = off, else zlib's level 1 to 9.
  uint32_t compression_level = 0;
};

}  // namespace serval
