// Typed contents (InferTensorContents) to tensors. Hot path, any thread.
#pragma once

#include "base/signature.h"
#include "codec/v2/wire_read.h"

namespace serval {

// Converts the typed contents of `input` to `out` (dtype, shape and data are set). `elements`: how
// many there must be, which is the product of input.shape unless the model is tabular; `dtype`:
// what their memory is like, for which errors have the datatype that the input names. FP32 and FP64
// that came in one packed run stay views of the message when aligned; everything else is written
// into `arena`, never more elements than the message holds. Errors: invalid_argument naming the
// input: a contents field of another dtype, a count that is not `elements`, a value out of the
// dtype's range (with its index), FP16 and BF16 (raw only). Source: seed 001 "InferTensorContents";
// v2-protocol.md 1.4, 10.
Status decode_wire_typed(const WireInput& input, DType dtype, uint64_t elements, Arena& arena,
                         TensorView& out);

}  // namespace serval
