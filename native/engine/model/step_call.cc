// Steps of ensembles: tensors to a decoded request, and outputs to tensors. Hot path; the thread
// that runs the step.
#include "engine/model/step_call.h"

#include <utility>

#include "base/memory/tensor_copy.h"
#include "codec/table/table.h"
#include "engine/cache/cached_outputs.h"
#include "engine/model/model.h"

namespace serval {

namespace {

Error no_memory_for_results() {
  return make_error(ErrorCode::MemoryFull, "no memory for the results of a step");
}

bool copy_view(Arena& arena, TensorView& view) {
  auto* place = arena.allocate_array<uint8_t>(copy_bytes(view));
  if (place == nullptr) return false;
  copy_tensor(view, place);
  return true;
}

}  // namespace

void StepCall::keep(Replica& replica, std::unique_ptr<BackendScratch> scratch) {
  replica_ = &replica;
  scratch_ = std::move(scratch);
}

void StepCall::release() {
  results.clear();
  cached_.reset();
  arena_.reset();
  if (scratch_ == nullptr) return;
  scratch_->release_outputs();
  replica_->give_scratch(std::move(scratch_));
}

// Hot path: decode (ensembles).
Status decode_step(const StepCall& call, const Model& model, Arena& arena,
                   DecodedRequest& decoded) {
  decoded.clear();
  for (const uint32_t index : call.outputs) decoded.outputs.push_back({index});
  if (model.table() != nullptr) {
    return decode_table_tensors(call.names, call.inputs, *model.table(), arena, decoded);
  }
  decoded.inputs.assign(call.inputs.begin(), call.inputs.end());
  return {};
}

// Hot path: encode (ensembles).
Status encode_step(const Model& model, const DecodedRequest& decoded,
                   std::span<const TensorView> outputs, StepCall& call) {
  call.results.clear();
  if (model.table() != nullptr) {
    Status made = make_table_tensors(*model.table(), model.signatures()[0], decoded, outputs,
                                     call.arena(), call.results);
    if (!made.ok()) return made;
  } else {
    call.results.assign(outputs.begin(), outputs.end());
  }
  if (call.borrows) return {};
  for (TensorView& view : call.results) {
    if (!copy_view(call.arena(), view)) return no_memory_for_results();
  }
  return {};
}

}  // namespace serval
