// The inputs and outputs of a model as the C interface describes them. Control plane, any thread.
#pragma once

#include <vector>

#include "capi/model.h"

namespace serval::capi {

// `table`: the schema of a tabular model, else null.
std::vector<SignatureInfo> describe(const std::vector<Signature>& signatures,
                                    const TableSchema* table);

// "'a', 'b'": names for an error, not more than fit a sentence.
std::string names_text(const std::vector<TensorSpec>& specs);

}  // namespace serval::capi
