// An open model and its runs. Runs are on the hot path, opening is on the control plane. Any
// thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "capi/backends.h"
#include "capi/serval.h"
#include "codec/request.h"
#include "engine/model/shapes.h"

namespace serval::capi {

class Model;

// One output in the form of serval_tensor. Borrows the run's memory.
struct Output {
  const char* name = "";
  DType dtype = DType::Invalid;
  Shape shape;
  const void* data = nullptr;
  size_t bytes = 0;
  const uint64_t* offsets = nullptr;
  const uint32_t* lengths = nullptr;
  const uint8_t* missing = nullptr;
};

// The memory of one run, which is a result once it has succeeded. Reused by later runs of the
// model. One thread at a time.
struct Run {
  std::shared_ptr<Model> model;  // while it is in use
  std::unique_ptr<BackendScratch> scratch;
  Arena arena;
  DecodedRequest decoded;
  std::vector<uint32_t> output_indices;
  std::vector<Output> outputs;
};

// The arguments of serval_infer(), checked for null pointers.
struct Call {
  size_t signature = 0;
  std::span<const serval_tensor> inputs;
  std::span<const char* const> outputs;
};

// An input or output as serval_tensor_info describes it.
struct TensorInfo {
  std::string name;
  DType dtype = DType::Invalid;
  bool any_rank = false, optional = false;
  std::vector<int64_t> dims;
};

struct SignatureInfo {
  std::string name;
  std::vector<TensorInfo> inputs, outputs;
};

class Model : public std::enable_shared_from_this<Model> {
 public:
  // Loads the model of a path; see serval_open(). `threads`: 0 = the shared pool.
  static Result<std::shared_ptr<Model>> open(const std::string& path, const std::string& library,
                                             int threads);

  Model(std::shared_ptr<const Backends> backends, std::shared_ptr<BackendModel> backend,
        ModelShapes shapes);

  const std::vector<SignatureInfo>& infos() const { return infos_; }
  const std::vector<Signature>& signatures() const { return shapes_.signatures(); }
  const ModelShapes& shapes() const { return shapes_; }
  const TableSchema* table() const { return backend_->info().table.get(); }

  // Runs the model once; the result's outputs are filled. See serval_infer().
  Result<std::unique_ptr<Run>> infer(const Call& call);
  // Takes back the memory of a run.
  void give(std::unique_ptr<Run> run);

 private:
  std::unique_ptr<Run> take();
  Status infer_into(const Call& call, Run& run);

  const std::shared_ptr<const Backends> backends_;  // outlives backend_
  const std::shared_ptr<BackendModel> backend_;
  const ModelShapes shapes_;
  const std::vector<SignatureInfo> infos_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Run>> spare_;  // guarded by mutex_
};

}  // namespace serval::capi
