// Tensor elements of V2 JSON for the plain decoder, which words errors. Any thread.
#pragma once

#include "base/tensor.h"
#include "codec/v2/json_walk.h"

namespace serval::v2 {

// Fills tensor.data or tensor.strings from the value of "data". tensor.dtype and tensor.shape are
// set; the shape has a product. `list`: the value's text. `input` names the tensor in errors.
// Errors: invalid_argument naming the input, the element, the expected and the given value.
Status read_elements(std::string_view list, std::string_view input, Arena& arena,
                     TensorView& tensor);

}  // namespace serval::v2
