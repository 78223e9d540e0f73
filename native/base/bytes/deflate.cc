// Compresses with zlib, statically linked.
#include "base/bytes/deflate.h"

#include <zlib.h>

#include <algorithm>

namespace serval {

namespace {

constexpr size_t kPieceBytes = 64 * 1024;
constexpr int kGzipBits = MAX_WBITS + 16;
constexpr int kMemoryLevel = 8;  // zlib's default

// A reusable stream per thread: creating one costs more than compressing a short response.
class Deflater {
 public:
  Deflater() = default;
  ~Deflater() { end(); }
  Deflater(const Deflater&) = delete;
  Deflater& operator=(const Deflater&) = delete;

  // Null: out of memory.
  z_stream* begin(Coding coding, uint32_t level) {
    if (level_ == level && deflateReset(&z_) == Z_OK) return &z_;
    end();
    z_ = {};
    const int bits = coding == Coding::Gzip ? kGzipBits : MAX_WBITS;
    const bool made = deflateInit2(&z_, static_cast<int>(level), Z_DEFLATED, bits, kMemoryLevel,
                                   Z_DEFAULT_STRATEGY) == Z_OK;
    level_ = made ? level : 0;
    return made ? &z_ : nullptr;
  }

 private:
  void end() {
    if (level_ != 0) deflateEnd(&z_);
    level_ = 0;
  }

  z_stream z_{};
  uint32_t level_ = 0;  // 0 = no stream yet
};

}  // namespace

bool append_packed(Coding coding, uint32_t level, std::span<const uint8_t> plain, size_t bytes_max,
                   ByteBuffer& out) {
  if (level == 0 || plain.size() > UINT32_MAX) return false;  // the range of zlib's counters
  static thread_local Deflater gzip, zlib;
  Deflater& deflater = coding == Coding::Gzip ? gzip : zlib;
  z_stream* z = deflater.begin(coding, std::min<uint32_t>(level, Z_BEST_COMPRESSION));
  if (z == nullptr) return false;
  z->next_in = const_cast<uint8_t*>(plain.data());  // zlib does not write to it
  z->avail_in = static_cast<uInt>(plain.size());
  const size_t begin = out.size();
  int code = Z_OK;
  while (code == Z_OK && out.size() - begin < bytes_max) {
    const size_t room = std::min(kPieceBytes, bytes_max - (out.size() - begin));
    uint8_t* place = out.room(room);
    if (place == nullptr) break;
    z->next_out = place;
    z->avail_out = static_cast<uInt>(room);
    code = deflate(z, Z_FINISH);
    out.set_end(z->next_out);
  }
  if (code == Z_STREAM_END) return true;
  out.truncate(begin);
  return false;
}

}  // namespace serval
