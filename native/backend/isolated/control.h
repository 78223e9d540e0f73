// What the server and a model's process tell each other besides requests: loads, slots, ends.
// Packets on a pair of sockets, each a fixed record with descriptors beside it. Both ends; control
// plane, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/isolated/slot.h"

namespace serval::isolated {

enum class Control : uint32_t {
  Load = 1,  // to the process: model `id`, a blob of its spec; `value`: device + 1, 0 = no GPU
  Unload,    // to the process: model `id`
  Open,      // to the process: slot `value` of model `id`; page, request area, answer area
  Loaded,    // to the server: model `id`, a blob of its info
  Failed,    // to the server: model `id`, a blob of the error
  Page,      // to the process, first: its ProcessPage
  Forget,    // to the process: device memory `value`, which no request names any more
};

struct Packet {
  Control kind = Control::Load;
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

// False: the other end is gone, or takes nothing for seconds.
bool send_packet(int socket, const Packet& packet, std::span<const int> descriptors);
// Does not wait. A packet of another size is passed over (Nothing); one whose descriptors did not
// all come, as there is no room for them, has none.
Received receive_packet(int socket);

// A pair of connected sockets that no other process inherits. Errors: internal.
struct SocketPair {
  Descriptor ours, theirs;
};
Result<SocketPair> make_sockets();

}  // namespace serval::isolated
