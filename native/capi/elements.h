// The elements of one input. Hot path; any thread.
#pragma once

#include "base/buffer.h"
#include "base/tensor.h"
#include "capi/serval.h"

namespace serval::capi {

// "input 'x'"
std::string input_place(const serval_tensor& given);

// Checks the name, the datatype's number and the shape, and returns the latter two. `ragged`: the
// last of two dims may be -1. Errors: invalid_argument.
Status read_head(const serval_tensor& given, size_t index, bool ragged, DType& dtype, Shape& shape);

// Fills `out` with exactly `shape.elements()` elements. Copies nothing but numbers that are not
// aligned; text becomes views. Errors: invalid_argument, memory_full.
Status read_elements(const serval_tensor& given, DType dtype, const Shape& shape, Arena& arena,
                     TensorView& out);

}  // namespace serval::capi
