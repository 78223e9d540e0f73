// The kinds of stage in this folder. Load thread.
#include "tabular/models/kinds.h"

#include <vector>

namespace serval::tabular {

std::span<const StageKind> spark_model_kinds() {
  static const std::vector<StageKind> all = [] {
    std::vector<StageKind> made;
    for (const auto kinds : {linear_kinds(), classify_kinds(), curve_kinds(), layer_kinds(),
                             cluster_kinds(), recommend_kinds(), topic_kinds(),
                             contribution_kinds(), kernel_kinds(), neighbor_kinds()}) {
      made.insert(made.end(), kinds.begin(), kinds.end());
    }
    return made;
  }();
  return all;
}

}  // namespace serval::tabular
