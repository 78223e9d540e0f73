// The outputs of a run in the form of the C interface. Hot path; any thread.
#pragma once

#include "capi/model.h"

namespace serval::capi {

// Fills run.outputs after a run of a model of tensors. Copies no numbers; texts become one block.
// Errors: backend_failed, memory_full.
Status write_tensors(const ModelShapes& shapes, Run& run);

// The same for a tabular model: dates and decimals as the protocols write them.
Status write_columns(const TableSchema& table, const Signature& signature, Run& run);

// Copies the outputs that are in the memory of an input, which the caller may change or free.
// Errors: memory_full.
Status keep_outputs(std::span<const serval_tensor> inputs, Run& run);

}  // namespace serval::capi
