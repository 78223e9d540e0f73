// Groups of operators that are stricter than ONNX's, for operators.cc. Control plane.
#pragma once

#include <vector>

#include "operators/operator.h"

namespace serval::operators {

std::vector<OperatorType> comparison_operators();
std::vector<OperatorType> extreme_operators();
std::vector<OperatorType> index_check_operators();
std::vector<OperatorType> normalize_operators();
std::vector<OperatorType> pool_operators();
std::vector<OperatorType> require_operators();
std::vector<OperatorType> top_k_operators();

}  // namespace serval::operators
