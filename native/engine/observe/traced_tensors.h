// Copies the inputs and outputs of a traced request into its trace, if the rule asks for them: the
// level TENSORS. Traced requests; any thread. Source: Triton's docs/user_guide/trace.md.
#pragma once

#include <span>

#include "base/signature.h"
#include "codec/request.h"
#include "engine/request/trace.h"

namespace serval {

// Limit of the elements' bytes in one trace; tensors beyond it have a name and a shape only.
inline constexpr size_t kTracedBytesMax = 256u << 10;

void copy_traced(const Signature& signature, const DecodedRequest& decoded,
                 std::span<const TensorView> outputs, Trace& trace);

// `outputs[i]` belongs to decoded.outputs[i]. `trace`: null if the request is not traced.
inline void trace_tensors(const Signature& signature, const DecodedRequest& decoded,
                          std::span<const TensorView> outputs, Trace* trace) {
  if (trace == nullptr || !trace->has_tensors) [[likely]]
    return;
  copy_traced(signature, decoded, outputs, *trace);
}

}  // namespace serval
