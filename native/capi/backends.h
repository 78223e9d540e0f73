// The backends of this process, one set for each ONNX Runtime library. Control plane, any thread.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace serval::capi {

// Shared by the models that were loaded with it. The tabular backend uses the runtime's.
struct Backends {
  std::unique_ptr<Backend> onnxruntime, tabular, null;

  // The backend that a model's specification names. Errors: unimplemented.
  Result<Backend*> find(const std::string& name) const;
};

// Returns the backends for a library's path; "" = $SERVAL_ORT_LIBRARY, else libonnxruntime.so.1 in
// the folder of this library. The library itself is opened by the first load that needs it.
std::shared_ptr<const Backends> acquire_backends(std::string library);

}  // namespace serval::capi
