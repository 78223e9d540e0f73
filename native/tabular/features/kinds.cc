// The kinds of stage in this folder. Load thread.
#include "tabular/features/kinds.h"

#include <vector>

namespace serval::tabular {

std::span<const StageKind> feature_kinds() {
  static const std::vector<StageKind> all = [] {
    std::vector<StageKind> made;
    for (const auto kinds :
         {string_kinds(), number_kinds(), assembly_kinds(), scaler_kinds(), indexer_kinds(),
          product_kinds(), project_kinds(), token_kinds(), count_kinds()}) {
      made.insert(made.end(), kinds.begin(), kinds.end());
    }
    return made;
  }();
  return all;
}

}  // namespace serval::tabular
