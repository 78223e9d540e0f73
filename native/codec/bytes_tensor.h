// BYTES elements in raw form: for each, a 4-byte little-endian length and the bytes. Hot path.
// Shared by the binary tensor data extension and gRPC raw contents.
#pragma once

#include <span>
#include <string_view>

#include "base/buffer.h"
#include "base/tensor.h"

namespace serval {

// Fills `out.strings` with views of `raw` (the array is allocated from `arena`). `elements` is the
// product of the shape. `input` names the tensor in errors.
// Errors: invalid_argument when lengths overrun, elements are missing or bytes are left over.
Status decode_raw_bytes(std::span<const uint8_t> raw, uint64_t elements, std::string_view input,
                        Arena& arena, TensorView& out);

// Size of the raw form in bytes.
uint64_t raw_bytes_size(const TensorView& tensor);
// Writes the raw form of any tensor (fixed-size: a copy) at `out`; returns the end.
uint8_t* write_raw_tensor(uint8_t* out, const TensorView& tensor);
// Size of any tensor's raw form in bytes.
uint64_t raw_tensor_size(const TensorView& tensor);

}  // namespace serval
