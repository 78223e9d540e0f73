// Whether the rows of a batch keep apart in a model, read from its graph: the proof that requests
// of different callers may be run together. Nothing is run. Control plane, the loading thread;
// pure. docs/guides/batching.md says what is followed, rule.h how.
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

// The bytes of a constant that is in another file; nullopt: not known. It may be called for small
// integers only.
using ReadConstant = std::function<std::optional<ort::Bytes>(std::string_view name)>;

// A tensor of a signature, as the graph names it.
struct GraphTensor {
  std::string name;
  const TensorSpec* spec = nullptr;
};

struct Question {
  ort::Bytes model;                 // a ModelProto
  std::vector<GraphTensor> inputs;  // that every request has: rows on the first axis
  std::vector<std::string> outputs;
  ReadConstant read_constant;  // may be empty
};

// Proved: row i of every output depends on row i of the inputs alone, and is its own first axis.
RowsProof prove(const Question& question);
// The same of a model whose graph says itself what its inputs and outputs are.
RowsProof prove_model(ort::Bytes model, const ReadConstant& read_constant);

}  // namespace serval::rows
