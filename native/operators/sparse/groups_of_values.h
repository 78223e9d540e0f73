// Operators that compare two sparse tensors group by group: edit distances and sets. Control plane.
#pragma once

#include <vector>

#include "operators/operator.h"

namespace serval::operators {

std::vector<OperatorType> sparse_group_operators();

}  // namespace serval::operators
