// Checks of the options of ONNX Runtime that a model's configuration sets: each has to be in the
// table of base/generated/runtime_options.h, so that no configuration names a file of the server.
// Every load goes through here. Control plane, any thread.
#pragma once

#include <string>

#include "base/error.h"
#include "base/model_spec.h"

namespace serval {

// Checks spec.session_config and the options of spec.providers that the server did not set itself;
// replaces each path by the one that it leads to. Reads the file system for paths only.
// Errors: invalid_argument naming the option, with what was expected and what came.
[[nodiscard]] Status check_options(ModelSpec& spec);

}  // namespace serval
