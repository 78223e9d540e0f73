// Settings that a listener is started with. Data only; written before it starts, then read by its
// threads. The names of limits are those of gRPC's channel arguments.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.h"
#include "transport/socket/tls.h"

namespace serval {

inline constexpr uint64_t kMsForever = UINT64_MAX;

// The protocols that a listener's port serves: gRPC calls, HTTP requests (over HTTP/1 and HTTP/2),
// or both, told apart by their content type.
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
  // Where it listens: host and port (0 picks a free one), or a unix socket, or both. An empty host
  // means no TCP.
  std::string host = "127.0.0.1";
  uint16_t port = 0;
  std::string unix_path;
  uint16_t unix_mode = 0700;  // of the socket's file, whatever the umask
  uint32_t threads = 1;
  bool reuse_port = false;  // other processes that set it may listen on the port too
  TlsSettings tls;

  uint64_t receive_bytes_max = 2147483647;  // one message; compressed ones count unpacked
  uint64_t inflated_bytes_max = 104857600;  // what a compressed message may unpack to, as in REST
  uint64_t send_bytes_max = 2147483647;
  uint32_t concurrent_streams_max = 4096;   // of one connection; clients wait with the rest
  uint32_t connections_max = 100'000;       // of all threads; more are closed at once
  uint32_t header_bytes_max = 65'536;       // of one request's header list
  uint32_t stream_window_bytes = 1u << 20;  // what a client may send before it hears from us
  uint32_t connection_window_bytes = 16u << 20;
  // Answers that clients leave untaken, all together; above, calls of those with much are refused.
  uint64_t unsent_bytes_max = UINT64_MAX;
  uint64_t handshake_ms_max = 10'000;  // until a client's preface and SETTINGS

  // Source: grpc_arg_keys; Triton's --grpc-keepalive-* and --grpc-http2-* have these defaults.
  uint64_t keepalive_time_ms = 7'200'000;
  uint64_t keepalive_timeout_ms = 20'000;
  bool keepalive_permit_without_calls = false;
  uint32_t pings_without_data_max = 2;                   // of ours
  uint64_t ping_interval_without_data_ms_min = 300'000;  // of clients'
  uint32_t ping_strikes_max = 2;                         // 0 = any number
  uint64_t connection_age_ms_max = kMsForever;
  uint64_t connection_age_grace_ms = kMsForever;
  uint64_t connection_idle_ms_max = kMsForever;

  // HTTP: bytes of a request's line; how long a connection may have no request, how long the first
  // request of a connection and each head may take, and how long nothing of a body or an answer may
  // move (as long as an idle connection, where memory is short).
  uint32_t target_bytes_max = 16'384;
  uint64_t idle_ms = 60'000;
  uint64_t silent_ms = 10'000;
  uint64_t stalled_ms = 600'000;

  // What time its threads have; tests hold it.
  uint64_t (*clock)() = now_ns;

  // How answers are packed where the client takes it: 0 not at all, else zlib's level 1 to 9.
  uint32_t compression_level = 0;
};

}  // namespace serval
