// Compressed messages: which codings there are, what a client takes, packing of answers.
// (Unpacking: base/bytes/inflate.h.) Pure; any thread.
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
// The coding of a grpc-encoding header; nothing where it is not known.
std::optional<MessageCoding> coding_named(std::string_view name);
// What answers are best packed with for a client with this grpc-accept-encoding.
MessageCoding best_coding(std::string_view accepted);

// Appends `message` packed (Deflate is the zlib format). False: memory is out, or it would not be
// shorter than `message`; `out` is as before then.
bool pack_message(MessageCoding coding, uint32_t level, std::span<const uint8_t> message,
                  ByteBuffer& out);

}  // namespace serval
