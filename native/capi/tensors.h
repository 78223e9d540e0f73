// Turns the inputs and the names of outputs of a call into what a backend runs. Hot path; any
// thread. Views borrow the caller's memory and the run's arena.
#pragma once

#include "capi/model.h"

namespace serval::capi {

// Fills run.decoded for a model of tensors. Errors: invalid_argument naming the input, what was
// expected and what was given; memory_full.
Status read_tensors(const Call& call, const ModelShapes& shapes, Run& run);

// The same for a tabular model. Errors: also those of the codec: body_too_large.
Status read_columns(const Call& call, const TableSchema& table, const Signature& signature,
                    Run& run);

}  // namespace serval::capi
