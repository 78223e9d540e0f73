// See onnx_types.h. Source: the operators' schemas (onnx/docs/Operators.md).
#include "backend/onnx_types.h"

#include <algorithm>
#include <utility>

namespace serval::ort {
namespace {

using Names = std::initializer_list<std::string_view>;

bool any_of(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Operators whose first output is of this type, whatever goes in.
OnnxType fixed_type(std::string_view op) {
  if (any_of({"Shape", "Size", "NonZero", "ArgMax", "ArgMin", "NonMaxSuppression", "StringSplit"},
             op)) {
    return OnnxType::Int64;
  }
  if (any_of({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor",
              "Not", "IsNaN", "IsInf"}, op)) {
    return OnnxType::Bool;
  }
  if (any_of({"MatMulInteger", "ConvInteger"}, op)) return OnnxType::Int32;
  if (op == "DynamicQuantizeLinear") return OnnxType::Uint8;
  return OnnxType::Unknown;
}

// The input that the first output's type is that of, -1 where none is known to be. All operators
// of ONNX that are not named here or above take their type from the first input, if that is a
// float: those that turn floats into something else are named.
int type_input(const OnnxNode& node) {
  const std::string_view op = node.op;
  if (any_of({"Where", "CastLike", "DequantizeLinear"}, op)) return 1;
  if (op == "OneHot") return 2;
  if (op == "QuantizeLinear") return node.has_input(2) ? 2 : -1;
  if (any_of({"QLinearMatMul", "QLinearConv"}, op)) return 7;
  if (any_of({"If", "Loop", "Scan", "SequenceMap", "Optional", "OptionalGetElement",
              "OptionalHasElement", "SequenceAt", "SequenceConstruct", "SequenceEmpty",
              "SequenceErase", "SequenceInsert", "SequenceLength", "SplitToSequence",
              "ConcatFromSequence", "Multinomial", "RandomNormal", "RandomUniform", "EyeLike",
              "RandomNormalLike", "RandomUniformLike", "Bernoulli", "TfIdfVectorizer", "BitCast",
              "HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix", "ImageDecoder",
              "StringConcat", "RegexFullMatch", "StringNormalizer"}, op)) {
    return -1;
  }
  return 0;
}

OnnxType attribute_type(const OnnxNode& node, std::string_view name, OnnxType fallback) {
  return static_cast<OnnxType>(node.integer(name, static_cast<int64_t>(fallback)));
}

OnnxType constant_type(const OnnxNode& node) {
  for (const OnnxAttribute& attribute : node.attributes) {
    OnnxTensor tensor;
    if (attribute.name == "value" && attribute.tensor && read_tensor(*attribute.tensor, tensor)) {
      return tensor.type;
    }
    if (any_of({"value_float", "value_floats"}, attribute.name)) return OnnxType::Float;
    if (any_of({"value_int", "value_ints"}, attribute.name)) return OnnxType::Int64;
    if (any_of({"value_string", "value_strings"}, attribute.name)) return OnnxType::String;
  }
  return node.op == "ConstantOfShape" ? OnnxType::Float : OnnxType::Unknown;
}

}  // namespace

bool KnownValue::is_filled() const {
  return dims && std::all_of(dims->begin(), dims->end(), [](int64_t dim) { return dim > 0; });
}

const KnownValue* OnnxTypes::find(std::string_view name) const {
  for (const OnnxTypes* scope = this; scope != nullptr; scope = scope->outer_) {
    const auto found = scope->values_.find(name);
    if (found != scope->values_.end()) return &found->second;
  }
  return nullptr;
}

// A ValueInfoProto. The runtime holds a request to the shape of a graph's input; what a model says
// of other values is not checked by anyone.
bool OnnxTypes::add_declared(const WireField& field, bool fixed) {
  OnnxValue value;
  if (!read_value(field.bytes, value)) return false;
  KnownValue& known = values_[value.name];
  known.type = value.type;
  known.type_bytes = value.type_bytes;
  if (fixed) known.dims = std::move(value.dims);
  return true;
}

bool OnnxTypes::add_graph(Bytes graph) {
  return for_fields(graph, [this](const WireField& field) {
    if (field.type() != WireType::Bytes) return true;
    switch (field.number()) {
      case onnx_field::kGraphInput: return add_declared(field, outer_ == nullptr);
      case onnx_field::kGraphOutput:
      case onnx_field::kGraphValueInfo: return add_declared(field, false);
      case onnx_field::kGraphInitializer: {
        OnnxTensor tensor;
        if (!read_tensor(field.bytes, tensor)) return false;
        KnownValue& known = values_[tensor.name];
        known.type = tensor.type;
        known.dims = tensor.dims;
        known.constant = std::move(tensor);
        return true;
      }
      default: return true;
    }
  });
}

bool OnnxTypes::add_function(Bytes function) {
  return for_fields(function, [this](const WireField& field) {
    if (field.tag != wire_tag(onnx_field::kFunctionValueInfo, WireType::Bytes)) return true;
    return add_declared(field, false);
  });
}

void OnnxTypes::add_type(std::string_view name, OnnxType type) {
  if (name.empty() || type == OnnxType::Unknown) return;
  KnownValue& known = values_[name];
  if (known.type == OnnxType::Unknown) known.type = type;
}

// The outputs of a node with a body, by the types that the body's outputs are declared with.
void OnnxTypes::add_outputs_of(const OnnxNode& node, Bytes body, size_t skipped) {
  size_t index = 0;
  (void)for_fields(body, [&](const WireField& field) {
    if (field.tag != wire_tag(onnx_field::kGraphOutput, WireType::Bytes)) return true;
    OnnxValue value;
    if (!read_value(field.bytes, value)) return false;
    const size_t place = index++;
    if (place >= skipped && place - skipped < node.outputs.size()) {
      add_type(node.outputs[place - skipped], value.type);
    }
    return true;
  });
}

void OnnxTypes::add_node(const OnnxNode& node) {
  if (!node.is_onnx() || node.outputs.empty()) return;
  const std::string_view op = node.op;
  for (const OnnxAttribute& attribute : node.attributes) {
    if (attribute.graph) add_outputs_of(node, *attribute.graph, op == "Loop" ? 1 : 0);
  }
  OnnxType type = fixed_type(op);
  if (op == "Constant" || op == "ConstantOfShape") {
    type = constant_type(node);
  } else if (op == "Cast") {
    type = attribute_type(node, "to", OnnxType::Unknown);
  } else if (any_of({"RandomNormal", "RandomUniform"}, op)) {
    type = attribute_type(node, "dtype", OnnxType::Float);
  } else if (type == OnnxType::Unknown) {
    const int input = type_input(node);
    if (input >= 0 && node.has_input(static_cast<size_t>(input))) {
      type = type_of(node.inputs[static_cast<size_t>(input)]);
    }
  }
  add_type(node.outputs[0], type);
  // Weights of quantized models and of other types reach their operator through these.
  if (any_of({"Cast", "Identity", "QuantizeLinear", "DequantizeLinear"}, op) && node.has_input(0)) {
    const KnownValue* from = find(node.inputs[0]);
    if (from != nullptr && from->dims) {
      const std::vector<int64_t> dims = *from->dims;  // values_ may move
      values_[node.outputs[0]].dims = dims;
    }
  }
  for (const OnnxAttribute& attribute : node.attributes) {
    OnnxTensor tensor;
    if (op != "Constant" || !attribute.tensor || !read_tensor(*attribute.tensor, tensor)) continue;
    KnownValue& known = values_[node.outputs[0]];
    known.dims = tensor.dims;
    known.constant = std::move(tensor);
  }
  // Further outputs of the first one's type: those of these operators.
  if (!any_of({"Split", "LSTM", "GRU", "RNN", "BatchNormalization"}, op)) return;
  for (size_t i = 1; i < node.outputs.size(); ++i) add_type(node.outputs[i], type);
}

}  // namespace serval::ort
