// A model that is served but not loaded: its requests wait in its queue until the loaded model
// takes its place, or the load fails. Control plane; `asked` on the hot path of the first request.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/model/model.h"

namespace serval {

// Receives the handles of absent models that have requests. Any thread.
class AbsentModels {
 public:
  // A request waits for the model; not called again before Model::refuse_all().
  virtual void asked(uint32_t handle) = 0;

 protected:
  ~AbsentModels() = default;
};

// Returns a model of the name, version and queue of `spec` that waits for the loaded one.
std::shared_ptr<Model> make_absent_model(uint32_t handle, const ModelSpec& spec,
                                         ModelServices services, AbsentModels& absent);

}  // namespace serval
