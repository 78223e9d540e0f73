// Implements the copies of a traced request's tensors.
#include "engine/observe/traced_tensors.h"

#include <algorithm>
#include <utility>

#include "codec/bytes_tensor.h"

namespace serval {

namespace {

// The datatype of the copy; Invalid: its elements have no such form.
DType traced_dtype(const TensorView& view) {
  if (is_ragged(view) || view.device != nullptr) return DType::Invalid;
  switch (view.dtype) {
    case DType::String: return DType::Bytes;
    case DType::Date:
    case DType::Timestamp: return DType::Int64;
    case DType::Vector: return DType::Fp64;
    case DType::Decimal: return DType::Invalid;
    default: return view.dtype;
  }
}

TracedTensor traced(const TensorSpec& spec, bool output, const TensorView& view, size_t& left) {
  TracedTensor copy;
  copy.name = spec.name;
  copy.output = output;
  const std::span<const int64_t> dims = view.shape.dims();
  copy.dims.assign(dims.begin(), dims.end());
  const DType dtype = traced_dtype(view);
  copy.dtype = dtype == DType::Invalid ? view.dtype : dtype;
  const uint64_t bytes = dtype == DType::Invalid ? 0 : raw_tensor_size(view);
  if (dtype == DType::Invalid || bytes > left) {
    copy.left_out = true;
    return copy;
  }
  left -= bytes;
  copy.data.resize(bytes);
  if (bytes > 0) (void)write_raw_tensor(copy.data.data(), view);
  if (view.states != nullptr && view.shape.rank() > 0) {
    const auto rows = static_cast<size_t>(std::max<int64_t>(0, view.shape[0]));
    copy.missing.assign(view.states, view.states + rows);
  }
  return copy;
}

}  // namespace

void copy_traced(const Signature& signature, const DecodedRequest& decoded,
                 std::span<const TensorView> outputs, Trace& trace) {
  trace.tensors.clear();
  size_t left = kTracedBytesMax;
  const size_t inputs = std::min(decoded.inputs.size(), signature.inputs.size());
  for (size_t i = 0; i < inputs; ++i) {
    if (decoded.inputs[i].dtype == DType::Invalid) continue;  // an optional input
    trace.tensors.push_back(traced(signature.inputs[i], false, decoded.inputs[i], left));
  }
  const size_t count = std::min(outputs.size(), decoded.outputs.size());
  for (size_t i = 0; i < count; ++i) {
    const size_t index = decoded.outputs[i].index;
    if (index >= signature.outputs.size()) continue;
    trace.tensors.push_back(traced(signature.outputs[index], true, outputs[i], left));
  }
}

}  // namespace serval
