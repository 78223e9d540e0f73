// Unpacks a compressed request body or gRPC message (gzip, deflate) piece by piece into a buffer,
// so that limits and budgets hold while it grows. Hot path, compressed bodies only; one thread at a
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/buffer.h"
#include "base/error.h"

namespace serval {

using Coding = fb::PackedCoding;

class Inflater {
 public:
  // Borrows `packed`, at most 4 GiB, until it is done. `bytes_max`: what may come out.
  // "deflate" is the zlib format; some clients send the bare stream, whose first byte differs.
  Inflater(Coding coding, std::span<const uint8_t> packed, uint64_t bytes_max);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Appends about `bytes` more to `out`, which holds what came before and nothing else.
  // Errors: body_too_large, malformed_body (cut, broken, wrong trailer, bytes behind its end; the
  // words are zlib's), memory_full. After one it is of no use.
  Status step(ByteBuffer& out, size_t bytes);
  bool done() const { return done_; }

 private:
  struct Stream;
  Status ended();
  Error malformed(const char* reason) const;

  const Coding coding_;
  const uint64_t bytes_max_;
  std::unique_ptr<Stream> stream_;
  bool done_ = false;
};

}  // namespace serval
