// The table of the stage kinds of PMML's model elements. Load thread.
#include "tabular/pmml/models/kinds.h"

namespace serval::tabular {

std::span<const StageKind> pmml_model_kinds() {
  static constexpr StageKind kKinds[] = {
      {stages::pmml_anomaly::kind, pmml::make_anomaly},
      {stages::pmml_association::kind, pmml::make_association},
      {stages::pmml_clustering::kind, pmml::make_clustering},
      {stages::pmml_gaussian_process::kind, pmml::make_gaussian_process},
      {stages::pmml_general_regression::kind, pmml::make_general_regression},
      {stages::pmml_naive_bayes::kind, pmml::make_naive_bayes},
      {stages::pmml_nearest_neighbor::kind, pmml::make_nearest_neighbor},
      {stages::pmml_neural_network::kind, pmml::make_neural_network},
      {stages::pmml_regression::kind, pmml::make_regression},
      {stages::pmml_rule_value::kind, pmml::make_rule_value},
      {stages::pmml_support_vectors::kind, pmml::make_support_vectors},
  };
  return kKinds;
}

}  // namespace serval::tabular
