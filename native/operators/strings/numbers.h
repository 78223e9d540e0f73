// Numbers read from text as TensorFlow reads them. Hot path; pure.
#pragma once

#include <string>

#include "base/dtype.h"

namespace serval::operators {

// Reads all of `text` (surrounding blanks allowed) as FP32, FP64, INT32 or INT64 into `to`
// (dtype_bytes of it, any alignment). Floats may be hexadecimal, infinite ("inf", "infinity"), not
// a number; too large ones become infinite. False: not such a number, or an integer out of range.
bool parse_number(const std::string& text, DType dtype, uint8_t* to);

}  // namespace serval::operators
