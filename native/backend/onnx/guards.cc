// Finds the nodes that need a guard and inserts it.
#include "backend/onnx/guards.h"

#include <algorithm>
#include <utility>

#include "backend/onnx/types.h"

namespace serval::ort {
namespace {

constexpr std::string_view kGuardDomain = "serval";
// Protobuf reads no message over 2 GB; the difference is for what guards add.
constexpr size_t kGuardedBytesMax = 1900u << 20;

// A guarded operator: the inputs that its rule checks (the first one passes through the guard), and
// when it needs one.
struct Guarded {
  std::string_view op;
  std::vector<uint8_t> inputs;
  bool (*is_safe)(const OnnxNode& node, const OnnxTypes& types);
};

bool filled(const OnnxNode& node, const OnnxTypes& types, size_t index) {
  if (!node.has_input(index)) return true;
  const KnownValue* known = types.find(node.inputs[index]);
  return known != nullptr && known->is_filled();
}

bool data_is_filled(const OnnxNode& node, const OnnxTypes& types) { return filled(node, types, 0); }

bool both_are_filled(const OnnxNode& node, const OnnxTypes& types) {
  return filled(node, types, 0) && filled(node, types, 1);
}

// A convolution's channels are those of the weights: a request's cannot be 0 if theirs are not.
bool weights_are_filled(const OnnxNode& node, const OnnxTypes& types) {
  return filled(node, types, node.op == "QLinearConv" ? 3 : 1);
}

bool indices_are_filled(const OnnxNode& node, const OnnxTypes& types) {
  return filled(node, types, 1);
}

bool has_no_axis(const OnnxNode& node, const OnnxTypes& types) {
  return node.attribute("axis") == nullptr || data_is_filled(node, types);
}

bool has_no_blocks(const OnnxNode& node, const OnnxTypes& types) {
  return node.integer("block_size", 0) == 0 || both_are_filled(node, types);
}

// The runtime's own shape inference checked lists in the model when it loaded.
bool lists_are_constant(const OnnxNode& node, const OnnxTypes& types) {
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const KnownValue* known = node.has_input(i) ? types.find(node.inputs[i]) : nullptr;
    if (node.has_input(i) && (known == nullptr || !known->constant)) return false;
  }
  return true;
}

bool never(const OnnxNode&, const OnnxTypes&) { return false; }

const std::vector<Guarded>& table() {
  static const std::vector<Guarded> rows = {
      {"TopK", {0}, data_is_filled},
      {"LSTM", {0}, data_is_filled},
      {"GRU", {0}, data_is_filled},
      {"RNN", {0}, data_is_filled},
      {"Unique", {0}, has_no_axis},
      {"Conv", {0, 1}, weights_are_filled},
      {"ConvInteger", {0, 1}, weights_are_filled},
      {"QLinearConv", {0, 3}, weights_are_filled},
      {"ConvTranspose", {0, 1}, both_are_filled},
      {"QuantizeLinear", {0, 1}, has_no_blocks},
      {"DequantizeLinear", {1, 0}, has_no_blocks},
      {"Attention", {0, 1, 2}, never},
      {"MultiHeadAttention", {0, 1, 2}, never},
      {"GroupQueryAttention", {0, 1, 2}, never},
      {"Resize", {0, 1, 2, 3}, lists_are_constant},
      {"Upsample", {0, 1}, lists_are_constant},
      {"DFT", {0, 1, 2}, never},
      {"STFT", {0, 1, 2, 3}, never},
      {"ArrayFeatureExtractor", {1}, indices_are_filled},
  };
  return rows;
}

const Guarded* find_row(const OnnxNode& node) {
  const bool known = node.domain == "com.microsoft" || node.domain == "ai.onnx.ml";
  if (!node.is_onnx() && !known) return nullptr;
  for (const Guarded& row : table()) {
    if (row.op == node.op) return &row;
  }
  return nullptr;
}

// Before opset 10 the number of elements is an attribute.
bool is_top_k_of_input(const OnnxNode& node) {
  return node.op == "TopK" && node.has_input(0) && node.has_input(1);
}

bool is_division(const OnnxNode& node) {
  return node.is_onnx() && (node.op == "Div" || node.op == "Mod");
}

// StringNormalizer's kernel needs a locale of the machine, en_US.UTF-8 if the node names none; ours
// needs none (operators/strict/normalize.cc). A function's stop words that are a parameter of its
// call can't be passed on.
bool is_normalizer(const OnnxNode& node) {
  if (!node.is_onnx() || node.op != "StringNormalizer") return false;
  const OnnxAttribute* words = node.attribute("stopwords");
  bool refers = false;
  const bool read = words == nullptr || for_fields(words->bytes, [&](const WireField& field) {
                      refers |=
                          field.tag == wire_tag(AttributeProto::kRefAttrName, WireType::Bytes);
                      return true;
                    });
  return read && !refers;
}

// Whether the model shows that a division never meets 0, or the smallest integer and -1.
bool division_is_safe(const OnnxNode& node, const OnnxTypes& types) {
  if (node.inputs.size() != 2) return true;  // the runtime refuses it
  for (const std::string_view input : node.inputs) {
    const OnnxType type = types.type_of(input);
    if (is_floating(type)) return true;
  }
  const KnownValue* divisor = types.find(node.inputs[1]);
  if (divisor == nullptr || !divisor->constant) return false;
  std::vector<int64_t> values;
  if (!read_integers(*divisor->constant, values)) return false;
  return std::none_of(values.begin(), values.end(),
                      [](int64_t value) { return value == 0 || value == -1; });
}

// The result of scanning a model's nodes.
struct Findings {
  bool guarded = false, custom_ops = false, unreadable = false;
};

// Scans the nodes of a graph or (field 7) a function, and those of their bodies.
void look(Bytes graph, uint32_t node_field, Divisions divisions, Findings& findings) {
  bool found = false;
  const bool read = for_fields(graph, [&](const WireField& field) {
    if (field.tag != wire_tag(node_field, WireType::Bytes)) return true;
    OnnxNode node;
    if (!read_node(field.bytes, node)) return false;
    found |= find_row(node) != nullptr || is_normalizer(node) ||
             (divisions == Divisions::Guard && is_division(node));
    findings.custom_ops |= node.domain == kGuardDomain;
    for (const OnnxAttribute& attribute : node.attributes) {
      if (attribute.graph) look(*attribute.graph, GraphProto::kNode, divisions, findings);
      for (const Bytes body : attribute.graphs) {
        look(body, GraphProto::kNode, divisions, findings);
      }
    }
    return true;
  });
  findings.guarded |= found;
  findings.unreadable |= !read;
}

std::string netstring(std::string_view text) {
  return std::to_string(text.size()) + ":" + std::string(text);
}

class Rewriter {
 public:
  Rewriter(Divisions divisions, OnnxFunctions& functions)
      : divisions_(divisions), functions_(functions) {}

  int guards() const { return guards_; }

  // Rewrites a GraphProto or a FunctionProto. False: it cannot be read.
  bool rewrite_graph(Bytes graph, const OnnxTypes* outer, OnnxWriter& out) {
    OnnxTypes types = outer == nullptr ? OnnxTypes(functions_) : OnnxTypes(outer);
    return types.add_graph(graph) &&
           rewrite_nodes(graph, GraphProto::kNode, GraphProto::kValueInfo, types, out);
  }
  bool rewrite_function(Bytes function, OnnxWriter& out) {
    OnnxTypes types(functions_);
    const int before = guards_;
    if (!types.add_function(function)) return false;
    functions_.add_inputs(function, types);
    if (!rewrite_nodes(function, FunctionProto::kNode, FunctionProto::kValueInfo, types, out)) {
      return false;
    }
    if (guards_ != before) out.bytes(FunctionProto::kOpsetImport, opset());
    return true;
  }
  static std::string opset() {
    return OnnxWriter()
        .bytes(OperatorSetIdProto::kDomain, kGuardDomain)
        .integer(OperatorSetIdProto::kVersion, 1)
        .take();
  }

 private:
  bool rewrite_nodes(Bytes graph, uint32_t node_field, uint32_t value_field, OnnxTypes& types,
                     OnnxWriter& out) {
    return for_fields(graph, [&](const WireField& field) {
      if (field.tag != wire_tag(node_field, WireType::Bytes)) {
        out.field(field);
        return true;
      }
      OnnxNode node;
      if (!read_node(field.bytes, node)) return false;
      std::string bodies;  // the node, if a graph in it was changed
      if (!rewrite_bodies(node, types, bodies)) return false;
      types.add_node(node);
      if (divisions_ == Divisions::Guard && is_division(node) && !division_is_safe(node, types)) {
        out.bytes(node_field, division(node));
        return true;
      }
      if (is_normalizer(node)) {
        out.bytes(node_field, normalizer(node));
        return true;
      }
      const Guarded* row = find_row(node);
      if (row != nullptr && !row->is_safe(node, types)) {
        if (is_top_k_of_input(node)) surround(node, kTopK, node_field, out);
        else if (node.op == "ArrayFeatureExtractor") surround(node, kFeatures, node_field, out);
        else guard(node, *row, node_field, value_field, types, out);
      } else if (bodies.empty()) {
        out.bytes(node_field, node.bytes);
      } else {
        out.bytes(node_field, bodies);
      }
      return true;
    });
  }

  bool rewrite_bodies(const OnnxNode& node, const OnnxTypes& types, std::string& changed) {
    const int before = guards_;
    bool has_bodies = false;
    for (const OnnxAttribute& attribute : node.attributes) {
      has_bodies |= attribute.graph || !attribute.graphs.empty();
    }
    if (!has_bodies) return true;
    OnnxWriter out;
    const bool read = for_fields(node.bytes, [&](const WireField& field) {
      if (field.tag != wire_tag(NodeProto::kAttribute, WireType::Bytes)) {
        out.field(field);
        return true;
      }
      OnnxWriter attribute;
      const bool done = for_fields(field.bytes, [&](const WireField& inner) {
        const bool body = inner.tag == wire_tag(AttributeProto::kG, WireType::Bytes) ||
                          inner.tag == wire_tag(AttributeProto::kGraphs, WireType::Bytes);
        if (!body) {
          attribute.field(inner);
          return true;
        }
        OnnxWriter graph;
        if (!rewrite_graph(inner.bytes, &types, graph)) return false;
        attribute.bytes(inner.number(), graph.str());
        return true;
      });
      out.bytes(NodeProto::kAttribute, attribute.str());
      return done;
    });
    if (guards_ != before) changed = out.take();
    return read;
  }

  // Replaces the division by our equivalent operator.
  std::string division(const OnnxNode& node) {
    ++guards_;
    OnnxWriter out;
    for (const std::string_view name : node.inputs) out.bytes(NodeProto::kInput, name);
    for (const std::string_view name : node.outputs) out.bytes(NodeProto::kOutput, name);
    out.bytes(NodeProto::kName, node.name)
        .bytes(NodeProto::kOpType, node.op == "Div" ? "IntegerDivide" : "IntegerModulo");
    out.bytes(NodeProto::kAttribute, text_attribute("serval_node", name_of(node)));
    if (node.op == "Mod")
      out.bytes(NodeProto::kAttribute, integer_attribute("fmod", node.integer("fmod", 0)));
    return out.bytes(NodeProto::kDomain, kGuardDomain).take();
  }

  // Replaces the normalizer by our equivalent operator.
  std::string normalizer(const OnnxNode& node) {
    ++guards_;
    OnnxWriter out;
    for (const std::string_view name : node.inputs) out.bytes(NodeProto::kInput, name);
    for (const std::string_view name : node.outputs) out.bytes(NodeProto::kOutput, name);
    out.bytes(NodeProto::kName, node.name).bytes(NodeProto::kOpType, "NormalizeStrings");
    for (const OnnxAttribute& attribute : node.attributes) {
      if (attribute.name != "stopwords") {
        out.bytes(NodeProto::kAttribute, attribute.bytes);
        continue;
      }
      std::string words;
      (void)for_fields(attribute.bytes, [&](const WireField& field) {
        if (field.tag == wire_tag(AttributeProto::kStrings, WireType::Bytes)) {
          words += netstring(text_of(field));
        }
        return true;
      });
      out.bytes(NodeProto::kAttribute, text_attribute("stopwords", words));
    }
    return out.bytes(NodeProto::kDomain, kGuardDomain).take();
  }

  // A node without a name is identified by its first output.
  static std::string_view name_of(const OnnxNode& node) {
    return node.name.empty() && !node.outputs.empty() ? node.outputs[0] : node.name;
  }

  // Writes the guard of a node, followed by the node.
  void guard(const OnnxNode& node, const Guarded& row, uint32_t node_field, uint32_t value_field,
             const OnnxTypes& types, OnnxWriter& out) {
    std::vector<int64_t> places;
    for (const uint8_t input : row.inputs) {
      if (node.has_input(input)) places.push_back(input);
    }
    if (places.empty()) {
      out.bytes(node_field, node.bytes);
      return;
    }
    std::rotate(places.begin(), places.begin() + 1, places.end());  // the guarded input is last
    const size_t through = static_cast<size_t>(places.back());
    const std::string output = "serval_guarded_" + std::to_string(++guards_);
    OnnxWriter made;
    std::string names;
    for (const int64_t place : places) {
      made.bytes(NodeProto::kInput, node.inputs[static_cast<size_t>(place)]);
      names += netstring(node.inputs[static_cast<size_t>(place)]);
    }
    made.bytes(NodeProto::kOutput, output)
        .bytes(NodeProto::kName, output)
        .bytes(NodeProto::kOpType, "Checked" + std::to_string(places.size()));
    for (const OnnxAttribute& attribute : node.attributes) {
      if (!attribute.graph && attribute.graphs.empty())
        made.bytes(NodeProto::kAttribute, attribute.bytes);
    }
    made.bytes(NodeProto::kAttribute, text_attribute("serval_operator", node.op));
    made.bytes(NodeProto::kAttribute, text_attribute("serval_node", name_of(node)));
    made.bytes(NodeProto::kAttribute, text_attribute("serval_inputs", names));
    made.bytes(NodeProto::kAttribute, integers_attribute("serval_places", places));
    out.bytes(node_field, made.bytes(NodeProto::kDomain, kGuardDomain).str());
    out.bytes(node_field, renamed(node, through, output, {}));
    // The model's statement about the shape also applies to the guard's output.
    const KnownValue* known = types.find(node.inputs[through]);
    if (known == nullptr || known->type_bytes.empty()) return;
    out.bytes(value_field, OnnxWriter()
                               .bytes(ValueInfoProto::kName, output)
                               .bytes(ValueInfoProto::kType, known->type_bytes)
                               .str());
  }

  // A node that has a result for zero rows which its kernel cannot compute: its second input is
  // changed before, and its outputs after (operators/guards/no_rows.cc).
  struct Surrounding {
    std::string_view before, behind;
    bool sees_data;  // the operator before it also gets the node's first input
  };
  static constexpr Surrounding kTopK = {"TopKCount", "TopKShape", true};
  static constexpr Surrounding kFeatures = {"SomeIndices", "NoFeatures", false};

  void surround(const OnnxNode& node, const Surrounding& kind, uint32_t node_field,
                OnnxWriter& out) {
    const std::string prefix = "serval_guarded_" + std::to_string(++guards_);
    const std::string axis = integer_attribute("axis", node.integer("axis", -1));
    const auto add = [&](OnnxWriter& made, std::string_view name, std::string_view op) {
      made.bytes(NodeProto::kName, name)
          .bytes(NodeProto::kOpType, op)
          .bytes(NodeProto::kAttribute, axis)
          .bytes(NodeProto::kDomain, kGuardDomain);
      out.bytes(node_field, made.str());
    };
    OnnxWriter before;
    if (kind.sees_data) before.bytes(NodeProto::kInput, node.inputs[0]);
    add(before.bytes(NodeProto::kInput, node.inputs[1]).bytes(NodeProto::kOutput, prefix), prefix,
        kind.before);
    std::vector<std::string> outputs;
    for (const std::string_view name : node.outputs) {
      outputs.push_back(name.empty() ? "" : prefix + "_" + std::to_string(outputs.size()));
    }
    out.bytes(node_field, renamed(node, 1, prefix, outputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].empty()) continue;
      OnnxWriter behind;
      behind.bytes(NodeProto::kInput, node.inputs[1])
          .bytes(NodeProto::kInput, outputs[i])
          .bytes(NodeProto::kOutput, node.outputs[i]);
      add(behind, outputs[i], kind.behind);
    }
  }

  // Returns the node with one input renamed, and with its outputs renamed if names are given.
  static std::string renamed(const OnnxNode& node, size_t index, std::string_view input,
                             const std::vector<std::string>& outputs) {
    OnnxWriter out;
    size_t inputs_seen = 0, outputs_seen = 0;
    (void)for_fields(node.bytes, [&](const WireField& field) {
      const bool is_input = field.tag == wire_tag(NodeProto::kInput, WireType::Bytes);
      const bool is_output = field.tag == wire_tag(NodeProto::kOutput, WireType::Bytes);
      if (is_input && inputs_seen++ == index) out.bytes(NodeProto::kInput, input);
      else if (is_output && !outputs.empty()) out.bytes(field.number(), outputs[outputs_seen++]);
      else out.field(field);
      return true;
    });
    return out.take();
  }

  const Divisions divisions_;
  OnnxFunctions& functions_;
  int guards_ = 0;
};

Error refused(std::string why) {
  return make_error(
      ErrorCode::ModelInvalid,
      "the model has operators that require guards (docs/explanation/robustness.md), but " +
          std::move(why));
}

Findings look(Bytes model, Divisions divisions) {
  Findings findings;
  const bool read = for_fields(model, [&](const WireField& field) {
    if (field.tag == wire_tag(ModelProto::kGraph, WireType::Bytes)) {
      look(field.bytes, GraphProto::kNode, divisions, findings);
    } else if (field.tag == wire_tag(ModelProto::kFunctions, WireType::Bytes)) {
      look(field.bytes, FunctionProto::kNode, divisions, findings);
    }
    return true;
  });
  findings.unreadable |= !read;
  return findings;
}

}  // namespace

std::vector<std::string> guarded_operators() {
  std::vector<std::string> names = {"Div", "Mod", "StringNormalizer"};
  for (const Guarded& row : table()) names.emplace_back(row.op);
  return names;
}

Result<GuardedModel> guard_model(Bytes model, Divisions divisions) {
  GuardedModel guarded;
  const Findings findings = look(model, divisions);
  guarded.custom_ops = findings.custom_ops;
  // An unreadable model is left to the runtime, which refuses it.
  if (!findings.guarded) return guarded;
  if (findings.unreadable) return refused("cannot be read");
  if (model.size() > kGuardedBytesMax) return refused("is too large to add the guards");
  OnnxFunctions functions;
  if (!functions.read(model)) return refused("cannot be read");
  Rewriter rewriter(divisions, functions);
  OnnxWriter out;
  const bool read = for_fields(model, [&](const WireField& field) {
    OnnxWriter inner;
    if (field.tag == wire_tag(ModelProto::kGraph, WireType::Bytes)) {
      if (!rewriter.rewrite_graph(field.bytes, nullptr, inner)) return false;
    } else if (field.tag == wire_tag(ModelProto::kFunctions, WireType::Bytes)) {
      if (!rewriter.rewrite_function(field.bytes, inner)) return false;
    } else {
      out.field(field);
      return true;
    }
    out.bytes(field.number(), inner.str());
    return true;
  });
  if (!read) return refused("cannot be read");
  if (rewriter.guards() == 0) return guarded;
  out.bytes(ModelProto::kOpsetImport, Rewriter::opset());
  guarded.bytes = out.take();
  guarded.guards = rewriter.guards();
  guarded.custom_ops = true;
  return guarded;
}

}  // namespace serval::ort
