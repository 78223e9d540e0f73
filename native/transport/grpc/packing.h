// Compressed messages: the supported codings, the choice of one that a client accepts, compression
// of responses. (Decompression: base/bytes/inflate.h.) Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/buffer.h"

namespace serval {

enum class MessageCoding : uint8_t { Identity, Gzip, Deflate };

inline constexpr std::string_view kAcceptedCodings = "identity,deflate,gzip";

std::string_view name_of(MessageCoding coding);
// The coding that a grpc-encoding header names; nothing if it is unknown.
std::optional<MessageCoding> coding_named(std::string_view name);
// The best coding for responses to a client that sent this grpc-accept-encoding.
MessageCoding best_coding(std::string_view accepted);

// Appends the compressed `message` (Deflate is the zlib format). False: out of memory, or the
// result would not be shorter than `message`; `out` is then unchanged.
bool pack_message(MessageCoding coding, uint32_t level, std::span<const uint8_t> message,
                  ByteBuffer& out);

}  // namespace serval
