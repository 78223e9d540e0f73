// Decompresses a request body or gRPC message (gzip, deflate) stepwise into a buffer, so that
// limits and budgets are enforced while it grows. Hot path, compressed bodies only; one thread at a
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
  // Borrows `packed`, at most 4 GiB, until it is done. `bytes_max`: limit of the decompressed size.
  // "deflate" is the zlib format; some clients send the raw stream, which is recognized by its
  // first byte.
  Inflater(Coding coding, std::span<const uint8_t> packed, uint64_t bytes_max);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Appends about `bytes` more to `out`, which must hold exactly the output of the previous steps.
  // Errors: body_too_large, malformed_body (truncated, corrupt, wrong trailer, bytes after its end;
  // in zlib's words), memory_full. Unusable after an error.
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
