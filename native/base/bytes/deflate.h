// Packs an answer into gzip, or the zlib format that HTTP calls "deflate". Packed answers only; any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/buffer.h"
#include "base/bytes/inflate.h"

namespace serval {

// Appends `plain` packed. `level`: zlib's, 1 to 9. False: memory is out, or it would come to more
// than `bytes_max` bytes, or `plain` has 4 GiB; `out` is as before then.
bool append_packed(Coding coding, uint32_t level, std::span<const uint8_t> plain, size_t bytes_max,
                   ByteBuffer& out);

}  // namespace serval
