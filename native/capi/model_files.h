// Reads what a path holds: an ONNX file, or a folder that `serval compile` wrote. Control plane,
// any thread.
#pragma once

#include <string>

#include "base/error.h"
#include "base/model_spec.h"

namespace serval::capi {

// A compiled folder has this file: kSpecMagic, then the bytes of a fb::ModelSpec whose paths are
// relative to the folder. ts/cli/compile writes it.
inline constexpr const char* kSpecFile = "model.serval";
inline constexpr std::string_view kSpecMagic{"serval model 1\n\0", 16};

// Returns the specification, with absolute paths.
// Errors: model_invalid naming the path; invalid_argument (the specification's members).
Result<ModelSpec> read_spec(const std::string& path);

}  // namespace serval::capi
