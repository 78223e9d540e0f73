// The functions of this folder. Load thread.
#include "tabular/expression.h"

namespace serval::tabular {

std::span<const Function> sql_functions() { return {}; }

}  // namespace serval::tabular
