// A request's tensors that lie in shared memory: found and pinned when it is decoded, checked when
// it has run, written when it is answered. Hot path of requests that name a region; any thread.
// Source: Triton's system and CUDA shared memory extensions, and their texts.
#pragma once

#include <span>

#include "base/buffer.h"
#include "codec/request.h"
#include "engine/shm/regions.h"

namespace serval {

// Whether a request names memory of a GPU: finding its inputs may wait for the device, which no
// listener's thread does. `regions` null: there are none.
bool names_device(const SharedRegions* regions, const DecodedRequest& request);

// Whether a tensor of it lies, or goes, where only a GPU looks: it is in no batch with others.
bool is_on_device(const DecodedRequest& request);

// Pins the regions of all `request.shared` and gives those inputs their elements. Elements whose
// bits may be anything (floats, integers of 8 and 16 bits) stay where they lie when they are
// aligned. What kernels look at before they rely on it (indices and divisors of 32 and 64 bits,
// BOOL, lengths of BYTES) is copied into `arena` first: the client may write while it is read.
// Memory of a GPU: numbers stay there where the model takes them (`takes_device`); all else is
// copied into `arena`.
// `regions` null: there are none.
// Errors: invalid_argument (unknown region, offset and size against it and its file, the tensor's
// size); memory_full; CUDA's.
Status attach_shared(const SharedRegions* regions, const Signature& signature, bool takes_device,
                     Arena& arena, DecodedRequest& request);

// Whether what the request read and wrote was there all the time. Errors: invalid_argument.
Status check_shared(const DecodedRequest& request);

// The error of a failed run: memory that was removed while it ran, or else `failed` itself.
Status blame_shared(const DecodedRequest& request, Status failed);

// The request has run: checks what it read, and writes outputs[i] of those request.outputs[i] that
// go into a region, BYTES with their lengths.
// What a model has written to its place itself stays.
// Errors: invalid_argument where one does not fit the size it was given; memory_full; CUDA's; those
// of check_shared().
Status write_shared(const DecodedRequest& request, const Signature& signature,
                    std::span<const TensorView> outputs);

}  // namespace serval
