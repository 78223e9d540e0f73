// The stage kinds of PMML's model elements, one file each; kinds.cc lists them. Load thread.
#pragma once

#include <memory>

#include "tabular/stage.h"

namespace serval::tabular::pmml {

std::unique_ptr<Stage> make_anomaly(StageSpec& spec);
std::unique_ptr<Stage> make_association(StageSpec& spec);
std::unique_ptr<Stage> make_rule_value(StageSpec& spec);
std::unique_ptr<Stage> make_clustering(StageSpec& spec);
std::unique_ptr<Stage> make_gaussian_process(StageSpec& spec);
std::unique_ptr<Stage> make_general_regression(StageSpec& spec);
std::unique_ptr<Stage> make_naive_bayes(StageSpec& spec);
std::unique_ptr<Stage> make_nearest_neighbor(StageSpec& spec);
std::unique_ptr<Stage> make_neural_network(StageSpec& spec);
std::unique_ptr<Stage> make_regression(StageSpec& spec);
std::unique_ptr<Stage> make_support_vectors(StageSpec& spec);

}  // namespace serval::tabular::pmml
