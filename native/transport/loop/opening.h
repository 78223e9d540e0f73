// A connection whose protocol is still unknown: completes the TLS handshake, reads the first bytes,
// then passes its channel to a connection of the right protocol. The listener's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "transport/loop/connection.h"

namespace serval {

class ListenerThread;

class OpeningConnection final : public Connection {
 public:
  OpeningConnection(ListenerThread& thread, std::unique_ptr<Channel> channel);
  ~OpeningConnection() override;

  bool begin() override;
  void readable() override;
  void writable() override { readable(); }
  void flush() override {}
  void due(uint64_t now_ns) override;
  void retire(bool stops) override;
  void end() override { die(); }
  // A client that has sent nothing may still send a request until no response is pending.
  void look(bool idle, uint64_t now_ns) override;
  uint64_t cut() override;
  void look_at_unsent(bool, uint64_t) override {}
  uint32_t waiting_calls() const override { return 0; }

 private:
  // False: the handshake continues later, or has failed.
  bool shake_hands();
  void look_at_first(std::span<const uint8_t> bytes);
  template <typename Protocol, typename... Arguments>
  void become(std::span<const uint8_t> first, Arguments... arguments);
  void die();

  ListenerThread& thread_;
  std::string peer_;            // set during a TLS handshake
  std::vector<uint8_t> first_;  // first bytes, possibly HTTP/2's preface
  uint64_t accepted_ns_;
  uint64_t shaken_ns_ = 0;  // when the handshake ended; 0 = not yet
  bool leaving_ = false;
};

}  // namespace serval
