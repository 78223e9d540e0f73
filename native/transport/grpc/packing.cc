// See packing.h. zlib, statically linked. Packed answers only; any thread.
#include "transport/grpc/packing.h"

#include <zlib.h>

#include <algorithm>

namespace serval {

namespace {

constexpr size_t kPieceBytes = 64 * 1024;
constexpr int kGzipBits = MAX_WBITS + 16;
constexpr int kMemoryLevel = 8;  // zlib's own default

// A stream that is ended whatever happens.
struct Deflater {
  z_stream z{};
  bool open = false;

  Deflater(MessageCoding coding, uint32_t level) {
    const int bits = coding == MessageCoding::Gzip ? kGzipBits : MAX_WBITS;
    open = deflateInit2(&z, static_cast<int>(level), Z_DEFLATED, bits, kMemoryLevel,
                        Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~Deflater() {
    if (open) deflateEnd(&z);
  }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t";
  const size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

}  // namespace

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

// gzip before deflate: they pack alike, and some read only the one (grpc-go).
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
  if (coding == MessageCoding::Identity || level == 0) return false;
  // What zlib counts; gRPC's messages have no more either.
  if (message.empty() || message.size() > UINT32_MAX) return false;
  Deflater deflater(coding, std::min<uint32_t>(level, Z_BEST_COMPRESSION));
  if (!deflater.open) return false;
  z_stream& z = deflater.z;
  z.next_in = const_cast<uint8_t*>(message.data());  // zlib only reads it
  z.avail_in = static_cast<uInt>(message.size());
  const size_t begin = out.size();
  const size_t bytes_max = message.size() - 1;
  int code = Z_OK;
  while (code == Z_OK && out.size() - begin < bytes_max) {
    const size_t room = std::min(kPieceBytes, bytes_max - (out.size() - begin));
    uint8_t* place = out.room(room);
    if (place == nullptr) break;
    z.next_out = place;
    z.avail_out = static_cast<uInt>(room);
    code = deflate(&z, Z_FINISH);
    out.set_end(z.next_out);
  }
  if (code == Z_STREAM_END) return true;
  out.truncate(begin);
  return false;
}

}  // namespace serval
