// The table of the stage kinds of PMML's model elements. Load thread.
#include "tabular/pmml/models/kinds.h"

namespace serval::tabular {

std::span<const StageKind> pmml_model_kinds() {
  static constexpr StageKind kKinds[] = {
      {"pmml.anomaly", pmml::make_anomaly},
      {"pmml.association", pmml::make_association},
      {"pmml.clustering", pmml::make_clustering},
      {"pmml.gaussian_process", pmml::make_gaussian_process},
      {"pmml.general_regression", pmml::make_general_regression},
      {"pmml.naive_bayes", pmml::make_naive_bayes},
      {"pmml.nearest_neighbor", pmml::make_nearest_neighbor},
      {"pmml.neural_network", pmml::make_neural_network},
      {"pmml.regression", pmml::make_regression},
      {"pmml.rule_value", pmml::make_rule_value},
      {"pmml.support_vectors", pmml::make_support_vectors},
  };
  return kKinds;
}

}  // namespace serval::tabular
