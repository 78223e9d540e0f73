// Values of inputs that the server computes from the shapes of a batch's requests. Hot path (models
// with ragged inputs); pure except for the memory it is given. Thread: the one that runs the model.
#pragma once

#include <span>

#include "base/buffer.h"
#include "base/generated/engine_structs.h"
#include "base/tensor.h"

namespace serval {

// The limit of the numbers of one such input.
inline constexpr uint32_t kBatchInputNumbersMax = 1u << 24;

// Makes the input that `what` describes. sources[i]: the shape of its source in request i; item
// shapes need a first dimension, which is the rows. Counts are [requests] (one more with a zero in
// front), item shapes [rows, rank - 1] or flat, the largest count is the shape of a tensor of
// zeros. The view borrows `memory` until its next use. Errors: invalid_argument (a number that the
// datatype cannot hold exactly, too many numbers), memory_full.
// Source: Triton's backend_input_collector.cc.
Status make_batch_input(const BatchInput& what, std::span<const Shape> sources, ByteBuffer& memory,
                        TensorView& out);

}  // namespace serval
