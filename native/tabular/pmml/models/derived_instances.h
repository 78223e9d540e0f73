// Fields of training instances that the document derives from others (isTransformed="false"). They
// are computed once, at load, by the stages that compute them for a request. Load thread.
#pragma once

#include <vector>

#include "tabular/stage.h"

namespace serval::tabular::pmml {

struct DerivedField {
  size_t input = 0;            // of the stage
  std::vector<double> values;  // by instance: numbers, or ids in the plan's dictionary
};

// Runs the block "derive" over `count` instances, whose plan fields "given_columns" hold
// "given_values" (field by field); "derived_columns" are the values of "derived_inputs". Empty if
// the stage has no such block, or after spec.fail().
std::vector<DerivedField> derived_instances(StageSpec& spec, size_t count);

}  // namespace serval::tabular::pmml
