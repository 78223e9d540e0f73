// The constants that a model's graphs share: loaded from their files once for all sessions, which
// read them in place. Control plane, the loading thread; must outlive the sessions.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "backend/onnx/class_maps.h"
#include "backend/onnx/contexts.h"
#include "backend/onnx/device_shapes.h"
#include "backend/onnxruntime/error.h"
#include "backend/onnxruntime/library.h"
#include "base/buffer.h"

namespace serval::ort {

// A model in the form in which the runtime gets it: its file, or `bytes` if they are not empty.
struct ReadModel {
  std::string bytes;
  bool custom_ops = false;             // it uses our operators
  ModelSpec weights;                   // its external data
  std::vector<std::string> locations;  // the model's name for the file of each weight
  std::vector<ClassOutput> classes;    // outputs that were maps
  std::string fusions_off;             // graph optimizers that would break it (onnx/fusions.h)
  std::vector<ContextNode> contexts;   // parts that providers compiled beforehand
  DeviceShapes shapes;
  RowsProof rows;
};

// Reads the model file at `path`: locates its external data, makes tensors of classifiers' maps,
// and inserts the guards that it needs. External data has to be in the folder of the file: a
// relative path without "..", and no link that leads out of it. Tensors that a session does not
// accept as initializers (in a body or an attribute, of a type that no client can send) are copied
// into the model's bytes.
// Errors: model_invalid naming the tensor, its file, the expected and the actual value.
Result<ReadModel> read_model(const std::string& path);

// Owns the memory. The runtime requires that: it does not accept a tensor that it allocated as an
// initializer.
class SharedWeights {
 public:
  explicit SharedWeights(const OrtRuntime& runtime) : runtime_(runtime) {}

  // Reads every weight of `spec`. Refuses content that does not match its CRC.
  // Errors: model_invalid naming the weight, the file, the expected and the actual value.
  Status read(const ModelSpec& spec);
  // Adds the weights of one graph to `options`, as its initializers.
  Status add_to(const ModelSpec& spec, const GraphSpec& graph, OrtSessionOptions* options) const;
  // Both, for the single session of `model`. If the library supports it, the session copies what it
  // needs, and drop_copied() frees the rest.
  Status read_all(const ReadModel& model, OrtSessionOptions* options);
  // Call it after that session was made. Kernels keep weights in their own layout, and the runtime
  // frees its originals, but not ours: the weights would be in memory twice.
  void drop_copied();
  // Whether the rows of a graph's signature are independent; inputs that requests may omit are
  // constant.
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
