// Converts typed contents (InferTensorContents) to tensors. Hot path, any thread.
#pragma once

#include "base/signature.h"
#include "codec/v2/wire_read.h"

namespace serval {

// Converts the typed contents of `input` to `out` (sets dtype, shape and data). `elements`: the
// required number, which is the product of input.shape unless the model is tabular; `dtype`: the
// type in memory; errors name the input's datatype. FP32 and FP64 in one packed run stay views of
// the message if aligned; everything else is written into `arena`, never more elements than the
// message holds. Errors: invalid_argument naming the input: a contents field of another dtype, a
// count other than `elements`, a value out of the dtype's range (with its index), FP16 and BF16
// (raw only). Source: the published V2 protocol's InferTensorContents; v2-protocol.md 1.4, 10.
Status decode_wire_typed(const WireInput& input, DType dtype, uint64_t elements, Arena& arena,
                         TensorView& out);

}  // namespace serval
