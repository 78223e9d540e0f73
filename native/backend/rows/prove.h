// Determines from a model's graph whether the rows of a batch are independent: the proof that
// requests of different callers may be run together. Runs nothing. Control plane, the loading
// thread; pure. docs/guides/batching.md says what is supported, rule.h how it works.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/onnx/model.h"
#include "base/signature.h"

namespace serval::rows {

// The bytes of a constant that is in another file; nullopt: unknown. Only called for small
// integers.
using ReadConstant = std::function<std::optional<ort::Bytes>(std::string_view name)>;

// A tensor of a signature, by its name in the graph.
struct GraphTensor {
  std::string name;
  const TensorSpec* spec = nullptr;
};

struct Question {
  ort::Bytes model;                 // a ModelProto
  std::vector<GraphTensor> inputs;  // inputs of every request, with rows on the first axis
  std::vector<std::string> outputs;
  ReadConstant read_constant;  // may be empty
};

// Proved: row i of every output depends on row i of the inputs alone, and the output's first axis
// is that of the rows.
RowsProof prove(const Question& question);
// The same for a model whose graph declares its own inputs and outputs.
RowsProof prove_model(ort::Bytes model, const ReadConstant& read_constant);

}  // namespace serval::rows
