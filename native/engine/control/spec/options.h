// Checks the options of ONNX Runtime that a model's configuration sets: each has to be in the table
// of base/generated/runtime_options.h, so that no configuration names a file of the server. Every
// load passes through here. Control plane, any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/model_spec.h"

namespace serval {

// Names of the options that the command line or the server itself set, for each provider.
using ServerOptions = std::vector<std::pair<std::string, std::vector<std::string>>>;

// Checks spec.session_config and the options of spec.providers that are not in `own`; replaces each
// path by its resolved target. Reads the file system for paths only. Errors: invalid_argument
// naming the option, with what was expected and what was found.
[[nodiscard]] Status check_options(ModelSpec& spec, const ServerOptions& own);

}  // namespace serval
