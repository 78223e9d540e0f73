// Decompresses with zlib, statically linked.
#include "base/bytes/inflate.h"

#include <zlib.h>

#include <string>

namespace serval {

namespace {

constexpr size_t kPieceBytes = 64 * 1024;
constexpr int kGzipBits = MAX_WBITS + 16;
constexpr int kRawBits = -MAX_WBITS;
// Compression method 8 in the low half of a zlib stream's first byte. Source: RFC 1950 2.2.
constexpr uint8_t kZlibMethod = 8;

const char* name_of(Coding coding) { return coding == Coding::Gzip ? "gzip" : "deflate"; }

int window_bits(Coding coding, std::span<const uint8_t> packed) {
  if (coding == Coding::Gzip) return kGzipBits;
  return !packed.empty() && (packed[0] & 0x0f) == kZlibMethod ? MAX_WBITS : kRawBits;
}

}  // namespace

struct Inflater::Stream {
  z_stream z{};
  bool open = false;
};

Inflater::Inflater(Coding coding, std::span<const uint8_t> packed, uint64_t bytes_max)
    : coding_(coding), bytes_max_(bytes_max), stream_(std::make_unique<Stream>()) {
  z_stream& z = stream_->z;
  z.next_in = const_cast<uint8_t*>(packed.data());  // zlib does not write to it
  z.avail_in = static_cast<uInt>(packed.size());
  stream_->open = inflateInit2(&z, window_bits(coding, packed)) == Z_OK;
}

Inflater::~Inflater() {
  if (stream_->open) inflateEnd(&stream_->z);
}

Error Inflater::malformed(const char* reason) const {
  return malformed_body(std::string("request body is not valid ") + name_of(coding_) + ": " +
                        reason);
}

// A stream has ended: further gzip members may follow. Source: RFC 1952 2.2.
Status Inflater::ended() {
  z_stream& z = stream_->z;
  if (z.avail_in == 0) {
    done_ = true;
    return {};
  }
  if (coding_ == Coding::Gzip && z.next_in[0] != 0) {
    inflateReset(&z);
    return {};
  }
  return malformed((std::to_string(z.avail_in) + " bytes after its end").c_str());
}

Status Inflater::step(ByteBuffer& out, size_t bytes) {
  const Error no_memory = make_error(ErrorCode::MemoryFull,
                                     "no memory for a request body of more than " +
                                         std::to_string(out.size()) + " bytes after decompression");
  if (!stream_->open) return no_memory;
  z_stream& z = stream_->z;
  const size_t begin = out.size();
  while (!done_ && out.size() - begin < bytes) {
    // One extra byte shows that the limit is exceeded.
    const uint64_t left = bytes_max_ - out.size();
    const auto room = static_cast<size_t>(left < kPieceBytes ? left + 1 : kPieceBytes);
    uint8_t* place = out.room(room);
    if (place == nullptr) return no_memory;
    z.next_out = place;
    z.avail_out = static_cast<uInt>(room);
    const int code = inflate(&z, Z_NO_FLUSH);
    out.set_end(z.next_out);
    if (out.size() > bytes_max_) {
      return make_error(ErrorCode::BodyTooLarge,
                        "request body is over the limit of " + std::to_string(bytes_max_) +
                            " bytes after decompression (" + name_of(coding_) + ")");
    }
    switch (code) {
      case Z_STREAM_END:
        if (Status end = ended(); !end.ok()) return end;
        break;
      case Z_OK:
      case Z_BUF_ERROR:
        if (z.avail_in == 0 && z.avail_out != 0) return malformed("unexpected end of file");
        break;
      case Z_NEED_DICT: return malformed("Missing dictionary");
      case Z_MEM_ERROR: return no_memory;
      default: return malformed(z.msg != nullptr ? z.msg : "corrupt stream");
    }
  }
  return {};
}

}  // namespace serval
