// Guards against operators whose ONNX Runtime kernels can crash the process: a model that contains
// some is rewritten before its session is created, so that our operators (operators/guards) run
// before them or replace them. Control plane, the loading thread. docs/explanation/robustness.md
// lists the operators, and what is not guarded.
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
  bool custom_ops = false;  // it uses our operators, including guards
};

// The operators that have a guard, for the documentation's test.
std::vector<std::string> guarded_operators();

// Rewrites `model` if it has guarded operators that its types and constants do not prove safe.
// Errors: model_invalid, if it has some and cannot be read, or would grow too large.
Result<GuardedModel> guard_model(Bytes model, Divisions divisions);

}  // namespace serval::ort
