// Guards against operators whose kernels in ONNX Runtime end the process: a model that has some is
// rewritten before a session is made of it, so that operators of ours (operators/guards) stand in
// front of them or in their place. Control plane, the loading thread.
// docs/explanation/robustness.md says which operators, and what is not guarded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/onnx/model.h"
#include "base/error.h"

namespace serval::ort {

enum class Divisions : uint8_t {
  Guard,
  // The importer has lowered integer divisions so that they never meet 0, or the smallest integer
  // and -1 (ts/importers/tensorflow/ops/arithmetic/division.ts).
  AreSafe,
};

struct GuardedModel {
  std::string bytes;  // empty: the model needs no guard
  int guards = 0;
  bool custom_ops = false;  // it has operators of ours, guards included
};

// The operators that a guard is known for, for the documentation's test.
std::vector<std::string> guarded_operators();

// Rewrites `model` where it has guarded operators that its types and constants do not show to be
// safe. Errors: model_invalid, where it has some and cannot be read, or would grow too large.
Result<GuardedModel> guard_model(Bytes model, Divisions divisions);

}  // namespace serval::ort
