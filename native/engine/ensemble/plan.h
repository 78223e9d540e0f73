// The plan of an ensemble: which tensors each step reads and makes, in an order in which they can
// run. Control plane: made once per load, immutable then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/model_spec.h"
#include "engine/model/model.h"

namespace serval {

inline constexpr size_t kNoEnsembleTensor = SIZE_MAX;

struct PlannedStep {
  std::shared_ptr<Model> model;
  std::string text;  // for errors: "step 2 (model 'x', version 3)"
  // The ensemble's tensor of each input of the model's first signature, or kNoEnsembleTensor; for a
  // tabular model of each name.
  std::vector<size_t> inputs;
  std::vector<std::string> names;  // of a tabular model: the fields that are connected
  std::vector<uint32_t> outputs;   // indices of the outputs that are connected
  std::vector<size_t> made;        // the ensemble's tensor of each of them
  bool is_queued = false;          // its requests go through the model's queue
};

// Tensors are numbered: first the inputs of the ensemble's signature, then what the steps make.
struct EnsemblePlan {
  std::vector<PlannedStep> steps;  // each after those whose tensors it reads
  std::vector<size_t> outputs;     // the tensor of each output of the signature
  size_t tensors = 0;
};

// Whether requests of a model go through its queue although a thread waits for them: to be batched,
// because runs change its state, because it runs on a device or in a separate process.
bool runs_in_queue(Model& model);

// `models[i]`: the model of step i. Errors: model_invalid naming the step: an input or output that
// its model does not have, a required input that is not connected, a tensor that nothing makes or
// two steps make, a datatype or a shape that does not agree, steps that wait for each other.
Result<EnsemblePlan> plan_ensemble(const ModelSpec& spec,
                                   const std::vector<std::shared_ptr<Model>>& models);

}  // namespace serval
