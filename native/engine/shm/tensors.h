// A request's tensors that lie in shared memory: found and pinned when it is decoded, checked when
// it has run, written when it is answered. Hot path of requests that name a region; any thread.
// Source: Triton's system shared memory extension, and its texts.
#pragma once

#include <span>

#include "base/buffer.h"
#include "codec/request.h"
#include "engine/shm/regions.h"

namespace serval {

// Pins the regions of all `request.shared` and gives those inputs their elements. Elements whose
// bits may be anything (floats, integers of 8 and 16 bits) stay where they lie when they are
// aligned. What kernels look at before they rely on it (indices and divisors of 32 and 64 bits,
// BOOL, lengths of BYTES) is copied into `arena` first: the client may write while it is read.
// `regions` null: there are none.
// Errors: invalid_argument (unknown region, offset and size against it and its file, the tensor's
// size); memory_full.
Status attach_shared(const SharedRegions* regions, const Signature& signature, Arena& arena,
                     DecodedRequest& request);

// Whether what the request read and wrote was there all the time. Errors: invalid_argument.
Status check_shared(const DecodedRequest& request);

// What a request is answered whose run failed: with memory that went away under it, or as it was.
Status blame_shared(const DecodedRequest& request, Status failed);

// The request has run: checks what it read, and writes outputs[i] of those request.outputs[i] that
// go into a region, BYTES with their lengths.
// Errors: invalid_argument where one does not fit the size it was given; those of check_shared().
Status write_shared(const DecodedRequest& request, const Signature& signature,
                    std::span<const TensorView> outputs);

}  // namespace serval
