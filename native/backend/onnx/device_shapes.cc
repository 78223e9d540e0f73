// Finds operators that are planned by shape, and the open dims of inputs.
#include "backend/onnx/device_shapes.h"

#include <algorithm>
#include <array>
#include <unordered_set>

namespace serval::ort {
namespace {

// The operators for which ONNX Runtime's CUDA provider asks cuDNN for a plan at each new shape.
// Source: onnxruntime/core/providers/cuda/nn/conv.cc and conv_transpose.cc.
constexpr std::array<std::string_view, 6> kPlannedOps = {
    "Conv",     "ConvTranspose", "FusedConv",
    "NhwcConv", "NhwcFusedConv", "ConvTransposeWithDynamicPads"};

std::string planned_op(Bytes model) {
  std::string found;
  const bool read = visit_nodes(model, [&found](Bytes node) {
    return for_fields(node, [&found](const WireField& field) {
      if (field.tag == bytes_tag(NodeProto::kOpType) && found.empty() &&
          std::ranges::find(kPlannedOps, text_of(field)) != kPlannedOps.end()) {
        found = text_of(field);
      }
      return true;
    });
  });
  return read ? found : std::string();
}

void note_dims(std::string_view name, std::span<const int64_t> dims, uint64_t element_bytes,
               DeviceShapes& shapes) {
  uint64_t bytes = element_bytes;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) {
      std::string& place = i == 0 ? shapes.open.batch : shapes.open.inner;
      if (place.empty()) place = name;
    } else if (i > 0 && __builtin_mul_overflow(bytes, static_cast<uint64_t>(dims[i]), &bytes)) {
      bytes = UINT64_MAX;
    }
  }
  if (__builtin_add_overflow(shapes.row_bytes, bytes, &shapes.row_bytes)) {
    shapes.row_bytes = UINT64_MAX;
  }
}

// Reads the inputs of a graph, of which older files repeat the initializers.
void read_inputs(Bytes graph, DeviceShapes& shapes) {
  std::unordered_set<std::string_view> initializers;
  bool read = for_fields(graph, [&](const WireField& field) {
    if (field.tag != bytes_tag(GraphProto::kInitializer)) return true;
    return for_fields(field.bytes, [&](const WireField& inner) {
      if (inner.tag == bytes_tag(TensorProto::kName)) initializers.insert(text_of(inner));
      return true;
    });
  });
  OpenDims& open = shapes.open;
  read = read && for_fields(graph, [&](const WireField& field) {
           OnnxValue value;
           if (field.tag != bytes_tag(GraphProto::kInput)) return true;
           if (!read_value(field.bytes, value)) return false;
           if (initializers.contains(value.name)) return true;
           if (value.dims)
             note_dims(value.name, *value.dims,
                       dtype_bytes(dtype_from_onnx(static_cast<int32_t>(value.type))), shapes);
           const bool shapeless = !value.dims || value.type == OnnxType::String;
           if (shapeless && open.inner.empty()) open.inner = value.name;
           return true;
         });
  if (!read && open.inner.empty()) open.inner = "?";  // the runtime refuses such a file
}

}  // namespace

DeviceShapes device_shapes(Bytes model) {
  DeviceShapes shapes{planned_op(model), {}};
  (void)for_fields(model, [&shapes](const WireField& field) {
    if (field.tag == bytes_tag(ModelProto::kGraph)) read_inputs(field.bytes, shapes);
    return true;
  });
  return shapes;
}

DeviceShapes device_shapes(Bytes model, const Signature& signature) {
  DeviceShapes shapes{planned_op(model), {}};
  for (const TensorSpec& input : signature.inputs) {
    note_dims(input.name, input.dims, dtype_bytes(input.dtype), shapes);
    const bool shapeless = input.unknown_rank || input.dtype == DType::Bytes;
    if (shapeless && shapes.open.inner.empty()) shapes.open.inner = input.name;
  }
  return shapes;
}

}  // namespace serval::ort
