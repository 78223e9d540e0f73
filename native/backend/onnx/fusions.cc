// Lists the unsafe optimizers and finds the models that they would break.
#include "backend/onnx/fusions.h"

#include <algorithm>

#include "backend/onnx/types.h"

namespace serval::ort {
namespace {

bool is_double(const OnnxTensor& tensor) { return tensor.type == OnnxType::Double; }

bool attribute_is_double(const OnnxAttribute& attribute) {
  OnnxTensor tensor;
  if (attribute.tensor && read_tensor(*attribute.tensor, tensor) && is_double(tensor)) return true;
  const bool names_type =
      attribute.name == "to" || attribute.name == "dtype" || attribute.name == "output_dtype";
  return names_type && attribute.integer == static_cast<int64_t>(OnnxType::Double);
}

// Whether a graph or (by its fields) a function declares any value of type double. True if it
// cannot be read.
bool mentions_double(Bytes graph, uint32_t node_field, uint32_t value_field) {
  bool found = false;
  const bool read = for_fields(graph, [&](const WireField& field) {
    const auto is = [&field](uint32_t number) {
      return field.tag == wire_tag(number, WireType::Bytes);
    };
    const bool is_graph = node_field == GraphProto::kNode;
    if (is(node_field)) {
      OnnxNode node;
      if (!read_node(field.bytes, node)) return false;
      for (const OnnxAttribute& attribute : node.attributes) {
        found |= attribute_is_double(attribute);
        if (attribute.graph)
          found |= mentions_double(*attribute.graph, GraphProto::kNode, GraphProto::kValueInfo);
        for (const Bytes body : attribute.graphs) {
          found |= mentions_double(body, GraphProto::kNode, GraphProto::kValueInfo);
        }
      }
    } else if (is_graph && is(GraphProto::kInitializer)) {
      OnnxTensor tensor;
      found |= !read_tensor(field.bytes, tensor) || is_double(tensor);
    } else if (is(value_field) ||
               (is_graph && (is(GraphProto::kInput) || is(GraphProto::kOutput)))) {
      OnnxValue value;
      found |= !read_value(field.bytes, value) || value.type == OnnxType::Double;
    }
    return true;
  });
  return found || !read;
}

// Marks the listed fusions that apply to a model's nodes.
class Search {
 public:
  explicit Search(OnnxFunctions& functions) : functions_(functions) {}

  void graph(Bytes graph, const OnnxTypes* outer) {
    OnnxTypes types = outer == nullptr ? OnnxTypes(functions_) : OnnxTypes(outer);
    unreadable_ |= !types.add_graph(graph) || !nodes(graph, GraphProto::kNode, types);
  }
  void function(Bytes function) {
    OnnxTypes types(functions_);
    if (!types.add_function(function)) {
      unreadable_ = true;
      return;
    }
    functions_.add_inputs(function, types);
    unreadable_ |= !nodes(function, FunctionProto::kNode, types);
  }
  std::string names() const {
    std::string names;
    const std::span<const UnsafeFusion> all = unsafe_fusions();
    for (size_t i = 0; i < all.size(); ++i) {
      if (!marked_[i] && !unreadable_) continue;
      if (!names.empty()) names += ';';
      names += all[i].optimizer;
    }
    return names;
  }

 private:
  bool nodes(Bytes graph, uint32_t node_field, OnnxTypes& types) {
    return for_fields(graph, [&](const WireField& field) {
      if (field.tag != wire_tag(node_field, WireType::Bytes)) return true;
      OnnxNode node;
      if (!read_node(field.bytes, node)) return false;
      for (const OnnxAttribute& attribute : node.attributes) {
        if (attribute.graph) this->graph(*attribute.graph, &types);
        for (const Bytes body : attribute.graphs) this->graph(body, &types);
      }
      types.add_node(node);
      look_at(node, types);
      return true;
    });
  }

  // A value of unknown type may be double.
  void look_at(const OnnxNode& node, const OnnxTypes& types) {
    if (!node.is_onnx() || !node.has_input(0)) return;
    const OnnxType type = types.type_of(node.inputs[0]);
    if (type != OnnxType::Double && type != OnnxType::Unknown) return;
    const std::span<const UnsafeFusion> all = unsafe_fusions();
    for (size_t i = 0; i < all.size(); ++i) {
      const auto& operators = all[i].operators;
      marked_[i] =
          marked_[i] || std::find(operators.begin(), operators.end(), node.op) != operators.end();
    }
  }

  OnnxFunctions& functions_;
  std::vector<bool> marked_ = std::vector<bool>(unsafe_fusions().size(), false);
  bool unreadable_ = false;
};

}  // namespace

std::span<const UnsafeFusion> unsafe_fusions() {
  static const std::vector<UnsafeFusion> list = {
      {"SimplifiedLayerNormFusion",
       {"ReduceMean"},
       "drops the epsilon of an RMS normalization: the default, 1e-5, counts"},
      {"LayerNormFusionL1", {"ReduceMean"}, "rounds epsilon to a float"},
      {"LayerNormFusionL2", {"ReduceMean"}, "rounds epsilon to a float"},
      {"QuickGeluFusion", {"Sigmoid"}, "x * Sigmoid(x) becomes a node without a kernel"},
      {"MatMulScaleFusion", {"MatMul"}, "rounds a factor to a float"},
      {"FuseReluClip", {"Relu", "Clip"}, "fails on bounds of double"},
  };
  return list;
}

std::string fusions_to_disable(Bytes model) {
  bool found = false;
  const bool read = for_fields(model, [&](const WireField& field) {
    if (field.tag == wire_tag(ModelProto::kGraph, WireType::Bytes)) {
      found |= mentions_double(field.bytes, GraphProto::kNode, GraphProto::kValueInfo);
    } else if (field.tag == wire_tag(ModelProto::kFunctions, WireType::Bytes)) {
      found |= mentions_double(field.bytes, FunctionProto::kNode, FunctionProto::kValueInfo);
    }
    return true;
  });
  OnnxFunctions functions;
  if (!found || !read || !functions.read(model)) return {};
  Search search(functions);
  (void)for_fields(model, [&](const WireField& field) {
    if (field.tag == wire_tag(ModelProto::kGraph, WireType::Bytes)) {
      search.graph(field.bytes, nullptr);
    } else if (field.tag == wire_tag(ModelProto::kFunctions, WireType::Bytes)) {
      search.function(field.bytes);
    }
    return true;
  });
  return search.names();
}

}  // namespace serval::ort
