// Chooses a coding for compressed gRPC responses and compresses them. Hot path, compressed
// responses only; any thread.
#include "transport/grpc/packing.h"

#include <algorithm>

#include "base/bytes/deflate.h"
#include "base/bytes/views.h"

namespace serval {

std::string_view name_of(MessageCoding coding) {
  switch (coding) {
    case MessageCoding::Gzip: return "gzip";
    case MessageCoding::Deflate: return "deflate";
    case MessageCoding::Identity: break;
  }
  return "identity";
}

std::optional<MessageCoding> coding_named(std::string_view name) {
  for (const auto coding : {MessageCoding::Identity, MessageCoding::Gzip, MessageCoding::Deflate}) {
    if (name == name_of(coding)) return coding;
  }
  return std::nullopt;
}

// gzip before deflate: they compress equally well, and some clients only read gzip (grpc-go).
MessageCoding best_coding(std::string_view accepted) {
  MessageCoding best = MessageCoding::Identity;
  while (!accepted.empty()) {
    const size_t comma = std::min(accepted.find(','), accepted.size());
    const std::optional<MessageCoding> coding = coding_named(trimmed(accepted.substr(0, comma)));
    if (coding == MessageCoding::Gzip) return MessageCoding::Gzip;
    if (coding == MessageCoding::Deflate) best = MessageCoding::Deflate;
    accepted.remove_prefix(std::min(comma + 1, accepted.size()));
  }
  return best;
}

bool pack_message(MessageCoding coding, uint32_t level, std::span<const uint8_t> message,
                  ByteBuffer& out) {
  if (coding == MessageCoding::Identity || message.empty()) return false;
  const Coding packed = coding == MessageCoding::Gzip ? Coding::Gzip : Coding::Deflate;
  return append_packed(packed, level, message, message.size() - 1, out);
}

}  // namespace serval
