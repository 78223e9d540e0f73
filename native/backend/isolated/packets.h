// The messages between the server and a model's process other than requests: loads, channels, ends.
// Packets over a socket pair, each a fixed record with optional descriptors. Both ends; control
// plane, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/isolated/channel.h"

namespace serval::isolated {

enum class PacketKind : uint32_t {
  Load = 1,  // to the process: model `id`, a blob of its spec; `value`: device + 1, 0 = no GPU
  Unload,    // to the process: model `id`
  Open,      // to the process: channel `value` of model `id`; page, request area, answer area
  Loaded,    // to the server: model `id`, a blob of its info
  Failed,    // to the server: model `id`, a blob of the error
  Page,      // to the process, sent first: its ProcessPage
  Forget,    // to the process: device memory `value`, which no request uses any more
};

struct Packet {
  PacketKind kind = PacketKind::Load;
  uint32_t id = 0;
  uint64_t value = 0;
};

inline constexpr size_t kDescriptorsMax = 3;
inline constexpr size_t kBlobBytesMax = 1u << 30;

struct Received {
  enum class What : uint8_t { Packet, Nothing, Ended } what = What::Nothing;
  Packet packet;
  std::vector<Descriptor> descriptors;
};

// False: the other end has closed, or has accepted nothing for seconds.
bool send_packet(int socket, const Packet& packet, std::span<const int> descriptors);
// Does not wait. A packet of another size is skipped (Nothing); one whose descriptors did not all
// arrive, for lack of space, is returned without any.
Received receive_packet(int socket);

// A connected socket pair that no other process inherits. Errors: internal.
struct SocketPair {
  Descriptor ours, theirs;
};
Result<SocketPair> make_sockets();

}  // namespace serval::isolated
