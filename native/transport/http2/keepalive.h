// Pings: ours, which find out that a peer is gone, and the peer's, which may not come too often.
// And how old and how idle a connection may get. Pure: clocks come from outside. Thread: the
// connection's. Source: gRPC's keepalive.md, A8, A9.
#pragma once

#include <cstdint>

#include "transport/settings.h"

namespace serval {

class Keepalive {
 public:
  // `random`: of 0 to 1; the age has a tenth of jitter, as gRPC has.
  Keepalive(const TransportSettings& settings, uint64_t now_ns, double random);

  void received(uint64_t now_ns);  // any bytes came
  void sent_data();                // HEADERS, DATA or WINDOW_UPDATE left
  void calls_changed(uint32_t calls, uint64_t now_ns);
  void ping_answered(uint64_t now_ns);
  // The peer pinged. False: too often (GOAWAY ENHANCE_YOUR_CALM "too_many_pings").
  bool ping_received(uint64_t now_ns);

  // What is due. Ping: send one (and call again for the next time). Dead: nothing came since a
  // ping was sent: close. Retire, once: too old, or idle for too long: GOAWAY, calls finish. Cut:
  // its grace is over.
  enum class Due : uint8_t { Nothing, Ping, Dead, Retire, Cut };
  Due due(uint64_t now_ns);
  // When to ask next; UINT64_MAX = never.
  uint64_t next_ns() const;

 private:
  // When each is due, UINT64_MAX = never.
  uint64_t dead_ns() const;
  uint64_t ping_ns() const;
  uint64_t retirement_ns() const;

  const TransportSettings& settings_;
  uint32_t calls_ = 0;
  uint32_t pings_without_data_ = 0;  // ours
  uint32_t strikes_ = 0;
  bool retired_ = false;
  uint64_t last_received_ns_;
  uint64_t last_peer_ping_ns_ = UINT64_MAX;  // none since data was sent
  uint64_t ping_sent_ns_ = UINT64_MAX;       // none is under way
  uint64_t retire_ns_;
  uint64_t idle_since_ns_;  // UINT64_MAX while there are calls
  uint64_t cut_ns_ = UINT64_MAX;
};

}  // namespace serval
