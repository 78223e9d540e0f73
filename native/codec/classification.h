// The classification extension: the k largest elements of an output as text. Hot path; pure.
// Source: Triton's classification extension (v2-protocol.md 2).
#pragma once

#include <span>
#include <string>

#include "base/buffer.h"
#include "base/tensor.h"

namespace serval {

// Replaces `output` by BYTES "value:index" or "value:index:label", the largest value first (equal
// values: the lower index first). With `batch_dim` the first dim stays and the others are taken
// together: [batch, k]; without: [k]. k is cut to the number of elements. Text and views live in
// `arena`. `labels` by index, may be shorter or empty; an empty label is left out. Values as "%f"
// prints them; NaN ("nan") comes last.
// Errors: invalid_argument (BYTES or BOOL output: names it), internal (memory; bytes that do not
// fit the shape).
Status classify_output(std::string_view name, uint32_t k, bool batch_dim,
                       std::span<const std::string> labels, Arena& arena, TensorView& output);

}  // namespace serval
