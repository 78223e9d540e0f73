// A run of a model as a step of an ensemble: tensors instead of bytes. Hot path; the thread that
// runs it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "base/buffer.h"
#include "codec/request.h"

namespace serval {

class CachedOutputs;
class Model;
class Replica;

struct StepCall {
  // Written by the caller, borrowed until the call has ended. The model's first signature runs.
  // `inputs`: for a model of tensors one per input, in the shapes that its clients send, an absent
  // one has DType::Invalid; for a tabular model those that `names` names.
  std::span<const TensorView> inputs;
  std::span<const std::string_view> names;
  std::span<const uint32_t> outputs;  // indices of the wanted outputs
  // Whether the results are views of the run's own memory, which then lives until release().
  // Otherwise they are copied: another thread reuses that memory.
  bool borrows = false;

  // One per wanted output, as the model's clients see it. Valid until release().
  std::vector<TensorView> results;

  StepCall() = default;
  ~StepCall() { release(); }
  StepCall(const StepCall&) = delete;
  StepCall& operator=(const StepCall&) = delete;

  // Takes the scratch with the outputs of a run that succeeded.
  void keep(Replica& replica, std::unique_ptr<BackendScratch> scratch);
  // Takes the outputs of the response cache that the results are views of.
  void keep(std::shared_ptr<const CachedOutputs> cached) { cached_ = std::move(cached); }
  // Ends the results.
  void release();
  // The memory of copied and converted results.
  Arena& arena() { return arena_; }

 private:
  Replica* replica_ = nullptr;  // of scratch_
  std::unique_ptr<BackendScratch> scratch_;
  std::shared_ptr<const CachedOutputs> cached_;
  Arena arena_;
};

// The tensors of the call as a decoded request. Errors: those of the codecs, and
// invalid_argument.
Status decode_step(const StepCall& call, const Model& model, Arena& arena, DecodedRequest& decoded);
// Fills the results from the outputs of a run, in the shapes of clients. Errors:
// backend_failed, unimplemented (a missing value that is not a float), memory_full.
Status encode_step(const Model& model, const DecodedRequest& decoded,
                   std::span<const TensorView> outputs, StepCall& call);

}  // namespace serval
