// The kinds of stage in this folder. Load thread.
#include "tabular/stage.h"

namespace serval::tabular {

std::span<const StageKind> sql_kinds() { return {}; }

}  // namespace serval::tabular
