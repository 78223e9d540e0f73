// Infers types and shapes of a graph's values. Source: the operators' schemas
// (onnx/docs/Operators.md).
#include "backend/onnx/types.h"

#include <algorithm>
#include <utility>

namespace serval::ort {
namespace {

using Names = std::initializer_list<std::string_view>;

bool any_of(Names names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The type of an operator's first output, if it does not depend on the inputs.
OnnxType fixed_type(std::string_view op) {
  if (any_of({"Shape", "Size", "NonZero", "ArgMax", "ArgMin", "NonMaxSuppression", "StringSplit"},
             op)) {
    return OnnxType::Int64;
  }
  if (any_of({"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor",
              "Not", "IsNaN", "IsInf"},
             op)) {
    return OnnxType::Bool;
  }
  if (any_of({"MatMulInteger", "ConvInteger"}, op)) return OnnxType::Int32;
  if (op == "DynamicQuantizeLinear") return OnnxType::Uint8;
  return OnnxType::Unknown;
}

// The index of the input that determines the first output's type, -1 if unknown. All operators of
// ONNX that are not listed here or above take their type from the first input, if that is a float:
// those that turn floats into something else are listed.
int type_input(const OnnxNode& node) {
  const std::string_view op = node.op;
  if (any_of({"Where", "CastLike", "DequantizeLinear"}, op)) return 1;
  if (op == "OneHot") return 2;
  if (op == "QuantizeLinear") return node.has_input(2) ? 2 : -1;
  if (any_of({"QLinearMatMul", "QLinearConv"}, op)) return 7;
  if (any_of({"If",
              "Loop",
              "Scan",
              "SequenceMap",
              "Optional",
              "OptionalGetElement",
              "OptionalHasElement",
              "SequenceAt",
              "SequenceConstruct",
              "SequenceEmpty",
              "SequenceErase",
              "SequenceInsert",
              "SequenceLength",
              "SplitToSequence",
              "ConcatFromSequence",
              "Multinomial",
              "RandomNormal",
              "RandomUniform",
              "EyeLike",
              "RandomNormalLike",
              "RandomUniformLike",
              "Bernoulli",
              "TfIdfVectorizer",
              "BitCast",
              "HannWindow",
              "HammingWindow",
              "BlackmanWindow",
              "MelWeightMatrix",
              "ImageDecoder",
              "StringConcat",
              "RegexFullMatch",
              "StringNormalizer"},
             op)) {
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
  // Any other value attribute is an attribute of the enclosing function.
  const bool is_float = node.op == "ConstantOfShape" && node.attribute("value") == nullptr;
  return is_float ? OnnxType::Float : OnnxType::Unknown;
}

// The dims of the output of `node` for an input of `dims`; nothing if they are unknown.
std::optional<std::vector<int64_t>> transposed(const OnnxNode& node,
                                               const std::vector<int64_t>& dims) {
  const OnnxAttribute* perm = node.attribute("perm");
  if (perm == nullptr) return std::vector<int64_t>(dims.rbegin(), dims.rend());
  if (perm->integers.size() != dims.size()) return std::nullopt;
  std::vector<int64_t> out;
  for (const int64_t axis : perm->integers) {
    if (axis < 0 || axis >= static_cast<int64_t>(dims.size())) return std::nullopt;
    out.push_back(dims[static_cast<size_t>(axis)]);
  }
  return out;
}

// `shape`: the target of a Reshape, -1 for the remaining size and 0 for a copied dim.
std::optional<std::vector<int64_t>> reshaped(const OnnxNode& node, const std::vector<int64_t>& dims,
                                             std::vector<int64_t> shape) {
  int64_t left = 1;
  for (const int64_t dim : dims) {
    if (dim < 1 || __builtin_mul_overflow(left, dim, &left)) return std::nullopt;
  }
  int64_t* open = nullptr;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && i < dims.size() && node.integer("allowzero", 0) == 0) shape[i] = dims[i];
    if (shape[i] == -1 && open == nullptr) {
      open = &shape[i];
    } else if (shape[i] < 1 || left % shape[i] != 0) {
      return std::nullopt;
    } else {
      left /= shape[i];
    }
  }
  if (open != nullptr) *open = left;
  else if (left != 1) return std::nullopt;
  return shape;
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

// A ValueInfoProto. The runtime checks a request against the shape of a graph's input; what a model
// declares of other values is not checked by anyone.
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
      case GraphProto::kInput: return add_declared(field, outer_ == nullptr);
      case GraphProto::kOutput:
      case GraphProto::kValueInfo: return add_declared(field, false);
      case GraphProto::kInitializer: {
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
    if (field.tag != wire_tag(FunctionProto::kValueInfo, WireType::Bytes)) return true;
    return add_declared(field, false);
  });
}

void OnnxTypes::add_type(std::string_view name, OnnxType type) {
  if (name.empty() || type == OnnxType::Unknown) return;
  KnownValue& known = values_[name];
  if (known.type == OnnxType::Unknown) known.type = type;
}

// Adds the outputs of a node with a body, by the types declared for the body's outputs.
void OnnxTypes::add_outputs_of(const OnnxNode& node, Bytes body, size_t skipped) {
  size_t index = 0;
  (void)for_fields(body, [&](const WireField& field) {
    if (field.tag != wire_tag(GraphProto::kOutput, WireType::Bytes)) return true;
    OnnxValue value;
    if (!read_value(field.bytes, value)) return false;
    const size_t place = index++;
    if (place >= skipped && place - skipped < node.outputs.size()) {
      add_type(node.outputs[place - skipped], value.type);
    }
    return true;
  });
}

// Weights reach their operator through these: those of quantized models, those of other types, and
// TensorFlow's, whose channels are last.
std::optional<std::vector<int64_t>> OnnxTypes::dims_of(const OnnxNode& node) const {
  const KnownValue* from = node.has_input(0) ? find(node.inputs[0]) : nullptr;
  if (from == nullptr || !from->dims) return std::nullopt;
  if (any_of({"Cast", "Identity", "QuantizeLinear", "DequantizeLinear"}, node.op)) {
    return from->dims;
  }
  if (node.op == "Transpose") return transposed(node, *from->dims);
  if (node.op != "Reshape" || !node.has_input(1)) return std::nullopt;
  const KnownValue* shape = find(node.inputs[1]);
  std::vector<int64_t> wanted;
  const bool known = shape != nullptr && shape->constant && read_integers(*shape->constant, wanted);
  return known ? reshaped(node, *from->dims, std::move(wanted)) : std::nullopt;
}

void OnnxTypes::add_node(const OnnxNode& node) {
  if (functions_.has(node)) {
    const std::vector<OnnxType> types = functions_.outputs_of_call(node, *this);
    for (size_t i = 0; i < std::min(types.size(), node.outputs.size()); ++i) {
      add_type(node.outputs[i], types[i]);
    }
    return;
  }
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
  if (std::optional<std::vector<int64_t>> dims = dims_of(node)) {
    values_[node.outputs[0]].dims = std::move(dims);
  }
  for (const OnnxAttribute& attribute : node.attributes) {
    OnnxTensor tensor;
    if (op != "Constant" || !attribute.tensor || !read_tensor(*attribute.tensor, tensor)) continue;
    KnownValue& known = values_[node.outputs[0]];
    known.dims = tensor.dims;
    known.constant = std::move(tensor);
  }
  // The further outputs of these operators have the first one's type.
  if (!any_of({"Split", "LSTM", "GRU", "RNN", "BatchNormalization"}, op)) return;
  for (size_t i = 1; i < node.outputs.size(); ++i) add_type(node.outputs[i], type);
}

namespace {

// Limits on following calls; above them nothing is known of functions.
constexpr size_t kRunsMax = 10'000, kTypeDepthMax = 64;

}  // namespace

std::string OnnxFunctions::key_of(std::string_view domain, std::string_view name,
                                  std::string_view overload) {
  std::string key(domain == "ai.onnx" ? "" : domain);
  return key.append(1, '\0').append(name).append(1, '\0').append(overload);
}

bool OnnxFunctions::read_function(Bytes bytes, Function& function, std::string& key) {
  std::string_view domain, name, overload;
  function.bytes = bytes;
  const bool read = for_fields(bytes, [&](const WireField& field) {
    if (field.type() != WireType::Bytes) return true;
    switch (field.number()) {
      case FunctionProto::kName: name = text_of(field); break;
      case FunctionProto::kDomain: domain = text_of(field); break;
      case FunctionProto::kOverload: overload = text_of(field); break;
      case FunctionProto::kInput: function.inputs.push_back(text_of(field)); break;
      case FunctionProto::kOutput: function.outputs.push_back(text_of(field)); break;
      default: break;
    }
    return true;
  });
  key = key_of(domain, name, overload);
  return read;
}

bool OnnxFunctions::add(Bytes bytes) {
  Function function;
  std::string key;
  if (!read_function(bytes, function, key)) return false;
  const auto [at, is_new] = functions_.try_emplace(std::move(key), std::move(function));
  at->second.twice |= !is_new;
  return true;
}

bool OnnxFunctions::read(Bytes model) {
  const bool read = for_fields(model, [this](const WireField& field) {
    return field.tag != wire_tag(ModelProto::kFunctions, WireType::Bytes) || add(field.bytes);
  });
  if (!read || functions_.empty()) return read;
  const bool followed = for_fields(model, [this](const WireField& field) {
    if (field.tag != wire_tag(ModelProto::kGraph, WireType::Bytes)) return true;
    OnnxTypes types(*this);
    return types.add_graph(field.bytes) && follow(field.bytes, GraphProto::kNode, types);
  });
  follows_ = false;
  return followed && readable_;
}

bool OnnxFunctions::follow(Bytes graph, uint32_t node_field, OnnxTypes& types) {
  return for_fields(graph, [&](const WireField& field) {
    if (field.tag != wire_tag(node_field, WireType::Bytes)) return true;
    OnnxNode node;
    if (!read_node(field.bytes, node)) return false;
    const auto follow_body = [&](Bytes body) {
      OnnxTypes inner(&types);
      return inner.add_graph(body) && follow(body, GraphProto::kNode, inner);
    };
    for (const OnnxAttribute& attribute : node.attributes) {
      if (attribute.graph && !follow_body(*attribute.graph)) return false;
      for (const Bytes body : attribute.graphs) {
        if (!follow_body(body)) return false;
      }
    }
    types.add_node(node);
    return true;
  });
}

std::vector<OnnxType> OnnxFunctions::outputs_of_call(const OnnxNode& node, const OnnxTypes& types) {
  Function& function = functions_.at(key_of(node));
  std::vector<OnnxType> inputs(function.inputs.size(), OnnxType::Unknown);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (node.has_input(i)) inputs[i] = types.type_of(node.inputs[i]);
  }
  if (follows_ && !function.called) {
    function.called = true;
    function.given = inputs;
  } else if (follows_) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (function.given[i] != inputs[i]) function.given[i] = OnnxType::Unknown;
    }
  }
  const std::vector<OnnxType>& outputs = run(function, inputs);
  // A function with an operator's name: the runtime chooses which of the two runs.
  return node.is_onnx() || function.twice ? std::vector<OnnxType>() : outputs;
}

// A function that is called recursively (which the runtime refuses) has outputs of unknown type.
const std::vector<OnnxType>& OnnxFunctions::run(Function& function,
                                                const std::vector<OnnxType>& inputs) {
  const std::vector<OnnxType> unknown(function.outputs.size(), OnnxType::Unknown);
  const auto [known, is_new] = function.known.try_emplace(inputs, unknown);
  if (!is_new) return known->second;
  if (++runs_ > kRunsMax || depth_ == kTypeDepthMax) {
    gave_up_ = true;
    return known->second;
  }
  ++depth_;
  OnnxTypes types(*this);
  bool read = types.add_function(function.bytes);
  for (size_t i = 0; i < inputs.size(); ++i) types.add_type(function.inputs[i], inputs[i]);
  read = read && follow(function.bytes, FunctionProto::kNode, types);
  readable_ &= read;
  --depth_;
  for (size_t i = 0; read && i < unknown.size(); ++i) {
    known->second[i] = types.type_of(function.outputs[i]);
  }
  return known->second;
}

void OnnxFunctions::add_inputs(Bytes bytes, OnnxTypes& types) const {
  Function read;
  std::string key;
  if (gave_up_ || !read_function(bytes, read, key)) return;
  const auto found = functions_.find(key);
  if (found == functions_.end() || !found->second.called || found->second.twice) return;
  const Function& function = found->second;
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    types.add_type(function.inputs[i], function.given[i]);
  }
}

}  // namespace serval::ort
