// Checks shared by several decoders: element counts against shapes, bytes against dtypes. Hot path,
// any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/tensor.h"

namespace serval {

// Errors: invalid_argument ("... expected N bytes (shape [..] of FP32), got M").
Status check_raw_size(uint64_t bytes, DType dtype, const Shape& shape, std::string_view input);

// Fills out.dtype and out.shape for a raw, fixed-size tensor and makes it a view of `raw`, or a
// copy in `arena` if `raw` is not aligned to its element. Counts the bytes (base/copies.h). Refuses
// Bool bytes other than 0 and 1.
// Errors: those of check_raw_size(); invalid_argument (Bool).
Status raw_fixed_tensor(std::span<const uint8_t> raw, DType dtype, const Shape& shape,
                        std::string_view input, class Arena& arena, TensorView& out);

}  // namespace serval
