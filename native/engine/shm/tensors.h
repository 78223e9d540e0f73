// A request's tensors in shared memory: found and pinned when it is decoded, checked after its run,
// written when the response is encoded. Hot path of requests that name a region; any thread.
// Source: Triton's system and CUDA shared memory extensions, and their texts.
#pragma once

#include <span>

#include "base/buffer.h"
#include "codec/request.h"
#include "engine/shm/regions.h"

namespace serval {

// Returns whether a request names GPU memory: finding its inputs may wait for the device, which a
// listener's thread must not do. `regions` null: there are none.
bool names_device(const SharedRegions* regions, const DecodedRequest& request);

// Returns whether an input or output stays in GPU memory: then it is not batched with other
// requests.
bool is_on_device(const DecodedRequest& request);

// Pins the regions of all `request.shared` and gives those inputs their elements. Elements of which
// every bit pattern is valid (floats, integers of 8 and 16 bits) are used in place if they are
// aligned. Elements that kernels check before they rely on them (indices and divisors of 32 and 64
// bits, BOOL, lengths of BYTES) are copied into `arena` first: the client may write while they are
// read. GPU memory: numbers stay there if the model accepts them (`takes_device`); all else is
// copied into `arena`. `regions` null: there are none. Errors: invalid_argument (unknown region,
// offset and size against it and its file, the tensor's size); memory_full; CUDA's.
Status attach_shared(const SharedRegions* regions, const Signature& signature, bool takes_device,
                     Arena& arena, DecodedRequest& request);

// Checks that the memory that the request read and wrote existed throughout. Errors:
// invalid_argument.
Status check_shared(const DecodedRequest& request);

// Returns the error of a failed run: memory that was removed while it ran, or else `failed` itself.
Status blame_shared(const DecodedRequest& request, Status failed);

// Called after the run: checks the memory that the request read, and writes outputs[i] of those
// request.outputs[i] that go into a region, BYTES with their lengths. Outputs that the model has
// written to their place itself are left as they are. Errors: invalid_argument if one does not fit
// the size it was given; memory_full; CUDA's; those of check_shared().
Status write_shared(const DecodedRequest& request, const Signature& signature,
                    std::span<const TensorView> outputs);

}  // namespace serval
