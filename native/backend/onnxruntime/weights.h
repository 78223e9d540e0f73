// The constants that a model's graphs share: read from their files into memory, once for all
// sessions, which read them there. Control plane, the loading thread; must outlive the sessions.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/onnx/class_maps.h"
#include "backend/onnx/contexts.h"
#include "backend/onnxruntime/error.h"
#include "backend/onnxruntime/library.h"
#include "base/buffer.h"

namespace serval::ort {

// A model as the runtime gets it: from its file, or from `bytes` where those are not empty.
struct ReadModel {
  std::string bytes;
  bool custom_ops = false;             // it has operators of ours
  ModelSpec weights;                   // its external data
  std::vector<std::string> locations;  // what the model calls the file of each weight
  std::vector<ClassOutput> classes;    // outputs that were maps
  std::string fusions_off;             // graph optimizers that would spoil it (onnx/fusions.h)
  std::vector<ContextNode> contexts;   // what providers compiled beforehand
  RowsProof rows;
};

// Reads the model file at `path`: finds its external data, makes tensors of classifiers' maps, and
// puts in the guards that it needs.
// External data lies in the folder of the file: a relative path without "..", no link out of it.
// What a session cannot be given as an initializer (a tensor in a body or an attribute, a type that
// no client sends) is put into the model's bytes.
// Errors: model_invalid naming the tensor, its file, what was expected and found.
Result<ReadModel> read_model(const std::string& path);

// Owns the memory. The runtime insists on that: it takes no tensor of its own as an initializer.
class SharedWeights {
 public:
  explicit SharedWeights(const OrtRuntime& runtime) : runtime_(runtime) {}

  // Reads every weight of `spec`. Content that a CRC does not fit is refused.
  // Errors: model_invalid naming the weight, the file, what was expected and found.
  Status read(const ModelSpec& spec);
  // Gives `options` the weights of one graph, as its initializers.
  Status add_to(const ModelSpec& spec, const GraphSpec& graph, OrtSessionOptions* options) const;
  // Both, for the one session of `model`. Where the library can, the session copies what it needs,
  // and drop_copied() frees the rest.
  Status read_all(const ReadModel& model, OrtSessionOptions* options);
  // To be called when that session is made. Kernels keep weights in an order of their own, and the
  // runtime frees what they need no longer, but not what is ours: it would be held twice.
  void drop_copied();
  // Whether the rows of a graph's signature keep apart; what requests may leave out is constant.
  RowsProof prove_rows(const ModelSpec& spec, const GraphSpec& graph) const;
  const OrtValue* at(uint32_t index) const { return values_[index].get(); }
  int64_t bytes() const { return bytes_; }

 private:
  Status read_one(const Weight& weight, int file, const std::string& path);
  Status read_files(const ReadModel& model, OrtSessionOptions* options);
  const OrtRuntime& runtime_;
  std::vector<ValueHandle> values_;  // by index, over blocks_
  std::vector<ByteBuffer> blocks_;
  int64_t bytes_ = 0;
  bool copied_ = false;
};

}  // namespace serval::ort
