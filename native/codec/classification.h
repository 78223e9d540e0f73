// The classification extension: the k largest elements of an output as text. Hot path; pure.
// Source: Triton's classification extension (v2-protocol.md 2).
#pragma once

#include <span>
#include <string>

#include "base/buffer.h"
#include "base/tensor.h"

namespace serval {

// Replaces `output` by BYTES "value:index" or "value:index:label", the largest value first (equal
// values: the lower index first). With `batch_dim` the first dimension is kept and the others are
// flattened: [batch, k]; without: [k]. k is limited to the number of elements. Text and views are
// allocated from `arena`. `labels` are by index and may be shorter or empty; an empty label is
// omitted. Values are printed as by "%f"; NaN ("nan") comes last.
// Errors: invalid_argument (BYTES or BOOL output: names it), internal (out of memory; bytes that do
// not match the shape).
Status classify_output(std::string_view name, uint32_t k, bool batch_dim,
                       std::span<const std::string> labels, Arena& arena, TensorView& output);

}  // namespace serval
