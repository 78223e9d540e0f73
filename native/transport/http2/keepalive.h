// Keepalive: our pings, which detect a dead peer; limits on the peer's pings; and the maximum age
// and idle time of a connection. Pure: the caller passes the time. Thread: the connection's.
// Source: gRPC's keepalive.md, A8, A9.
#pragma once

#include <cstdint>

#include "transport/settings.h"

namespace serval {

class Keepalive {
 public:
  // `random`: from 0 to 1; the age has a tenth of jitter, as in gRPC.
  Keepalive(const TransportSettings& settings, uint64_t now_ns, double random);

  void received(uint64_t now_ns);  // any bytes were received
  void sent_data();                // HEADERS, DATA or WINDOW_UPDATE was sent
  void calls_changed(uint32_t calls, uint64_t now_ns);
  void ping_answered(uint64_t now_ns);
  // The peer pinged. False: too often (GOAWAY ENHANCE_YOUR_CALM "too_many_pings").
  bool ping_received(uint64_t now_ns);

  // The action that is due. Ping: send one (and call again for the next time). Dead: nothing was
  // received since a ping was sent: close. Retire, once: too old, or idle for too long: send
  // GOAWAY, let calls finish. Cut: the grace period is over.
  enum class Due : uint8_t { Nothing, Ping, Dead, Retire, Cut };
  Due due(uint64_t now_ns);
  // When to call due() next; UINT64_MAX = never.
  uint64_t next_ns() const;

 private:
  // The time of each action, UINT64_MAX = never.
  uint64_t dead_ns() const;
  uint64_t ping_ns() const;
  uint64_t retirement_ns() const;

  const TransportSettings& settings_;
  uint32_t calls_ = 0;
  uint32_t pings_without_data_ = 0;  // pings that we sent
  uint32_t strikes_ = 0;
  bool retired_ = false;
  uint64_t last_received_ns_;
  uint64_t last_peer_ping_ns_ = UINT64_MAX;  // UINT64_MAX = none since data was sent
  uint64_t ping_sent_ns_ = UINT64_MAX;       // UINT64_MAX = no ping is outstanding
  uint64_t retire_ns_;
  uint64_t idle_since_ns_;  // UINT64_MAX while there are calls
  uint64_t cut_ns_ = UINT64_MAX;
};

}  // namespace serval
