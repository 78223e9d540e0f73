// What a loaded session says of itself: signature and metadata, read once at load. Control plane,
// the loading thread.
#pragma once

#include "backend/backend.h"
#include "backend/onnxruntime/library.h"

namespace serval::ort {

// Our dtype of an element type; Invalid where we have none.
DType dtype_of(ONNXTensorElementDataType type);
// Total over our dtypes (Invalid gives UNDEFINED). Hot path, any thread.
ONNXTensorElementDataType element_type_of(DType dtype);

// The session's inputs and outputs as signature "serving_default". A library before 1.24 cannot
// tell a scalar from a tensor of unknown rank: both are then given as unknown_rank, so that no good
// request is refused here; the runtime checks again. Inputs with a default in the graph stand last
// (may_be_absent). Outputs that are no tensors (sequence, map, optional, sparse) are left out,
// which `notes` gets a sentence of. Errors: model_invalid naming the tensor and its type, where an
// input, or every output, is no tensor, or an element type or rank is not ours.
Result<Signature> read_signature(const OrtRuntime& runtime, const OrtSession& session,
                                 std::vector<std::string>& notes);

// Fills producer, graph_name, description, domain, model_version and metadata (keys in byte order).
// Errors: model_invalid.
Status read_metadata(const OrtRuntime& runtime, const OrtSession& session, BackendModelInfo& info);

}  // namespace serval::ort
