// Signature and metadata of a loaded session, read once at load. Control plane, the loading thread.
#pragma once

#include "backend/backend.h"
#include "backend/onnxruntime/library.h"

namespace serval::ort {

// Our dtype for an element type; Invalid if there is none.
DType dtype_of(ONNXTensorElementDataType type);
// Defined for all our dtypes (Invalid gives UNDEFINED). Hot path, any thread.
ONNXTensorElementDataType element_type_of(DType dtype);

// The session's inputs and outputs as signature "serving_default". A library before 1.24 cannot
// distinguish a scalar from a tensor of unknown rank: both are reported as unknown_rank, so that no
// valid request is refused here; the runtime checks again. Inputs with a default in the graph, or
// of the type optional(tensor), come last (may_be_absent). Outputs that are not tensors (sequence,
// map, optional, sparse) are omitted, which adds a sentence to `notes`. Errors: model_invalid
// naming the tensor and its type, if an input, or every output, is not a tensor, or an element type
// or rank is unsupported.
Result<Signature> read_signature(const OrtRuntime& runtime, const OrtSession& session,
                                 std::vector<std::string>& notes);

// Fills producer, graph_name, description, domain, model_version and metadata (keys in byte order).
// Errors: model_invalid.
Status read_metadata(const OrtRuntime& runtime, const OrtSession& session, BackendModelInfo& info);

}  // namespace serval::ort
