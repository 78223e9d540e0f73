// A given shape against the declared one, for messages and checks. Pure; any thread.
#pragma once

#include <string>

#include "base/signature.h"

namespace serval {

// "[-1,4]".
std::string dims_text(const TensorSpec& spec);

// Whether the shape has the declared rank and dims; false too where the rank is not known.
bool fits_declared(const TensorSpec& spec, const Shape& shape);

}  // namespace serval
