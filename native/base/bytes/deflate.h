// Compresses a response to gzip, or to the zlib format that HTTP calls "deflate". Compressed
// responses only; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/bytes/inflate.h"

namespace serval {

// Appends the compressed `plain`. `level`: zlib's, 1 to 9. False: out of memory, or the result
// would exceed `bytes_max` bytes, or `plain` has 4 GiB; `out` is then unchanged.
bool append_packed(Coding coding, uint32_t level, std::span<const uint8_t> plain, size_t bytes_max,
                   ByteBuffer& out);

}  // namespace serval
