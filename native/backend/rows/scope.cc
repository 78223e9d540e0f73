// Evaluates a graph from the first node to the last, with values by name. Control plane; pure.
#include "backend/rows/scope.h"

#include <algorithm>
#include <exception>

#include "backend/rows/fold.h"

namespace serval::rows {
namespace {

using ort::Bytes;
using ort::for_fields;
using ort::OnnxNode;
using ort::OnnxTensor;
using ort::text_of;

// Deeper bodies and longer models are not analysed.
constexpr size_t kDepthMax = 32, kNodesMax = 2'000'000;

std::string node_text(const OnnxNode& node) {
  const std::string op =
      (node.is_onnx() ? "" : std::string(node.domain) + ".") + std::string(node.op);
  if (!node.name.empty()) return "node '" + std::string(node.name) + "' (" + op + ")";
  const std::string output = node.outputs.empty() ? "" : std::string(node.outputs[0]);
  return "node of '" + output + "' (" + op + ")";
}

Value mixed(const OnnxNode& node, const Why& why) {
  return Value::mixed(std::make_shared<Why>(Why{why.couples, node_text(node) + ": " + why.text}));
}

bool is_integer(ort::OnnxType type) {
  using ort::OnnxType;
  switch (type) {
    case OnnxType::Int8:
    case OnnxType::Uint8:
    case OnnxType::Int16:
    case OnnxType::Uint16:
    case OnnxType::Int32:
    case OnnxType::Uint32:
    case OnnxType::Int64:
    case OnnxType::Uint64:
    case OnnxType::Bool: return true;
    default: return false;
  }
}

// One level deeper during its lifetime.
class Level {
 public:
  explicit Level(size_t& depth) : depth_(++depth) {}
  ~Level() { --depth_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  size_t& depth_;
};

// A longer text during its lifetime.
class Longer {
 public:
  Longer(std::string& text, const std::string& more) : text_(text), size_(text.size()) {
    text_ += more;
  }
  ~Longer() { text_.resize(size_); }
  Longer(const Longer&) = delete;
  Longer& operator=(const Longer&) = delete;

 private:
  std::string& text_;
  const size_t size_;
};

// Reads an OperatorSetIdProto.
void read_opset(Bytes bytes, Opsets& opsets) {
  std::string_view domain;
  int64_t version = 0;
  (void)for_fields(bytes, [&](const WireField& field) {
    if (field.tag == bytes_tag(ort::OperatorSetIdProto::kDomain)) domain = text_of(field);
    if (field.number() == ort::OperatorSetIdProto::kVersion)
      version = static_cast<int64_t>(field.value);
    return true;
  });
  if (domain == "ai.onnx") domain = "";
  opsets[domain] = std::max(opsets[domain], version);
}

std::string function_key(std::string_view domain, std::string_view name,
                         std::string_view overload) {
  std::string key(domain == "ai.onnx" ? "" : domain);
  return key.append(1, '\0').append(name).append(1, '\0').append(overload);
}

}  // namespace

bool Walk::open(Bytes model) {
  return for_fields(model, [this](const WireField& field) {
    if (field.tag == bytes_tag(ort::ModelProto::kGraph)) graph_ = field.bytes;
    if (field.tag == bytes_tag(ort::ModelProto::kOpsetImport)) read_opset(field.bytes, opsets_);
    return field.tag != bytes_tag(ort::ModelProto::kFunctions) || read_function(field.bytes);
  });
}

bool Walk::read_function(Bytes bytes) {
  Function function;
  function.bytes = bytes;
  std::string_view name, domain, overload;
  const bool read = for_fields(bytes, [&](const WireField& field) {
    switch (field.tag) {
      case bytes_tag(ort::FunctionProto::kName): name = text_of(field); break;
      case bytes_tag(ort::FunctionProto::kDomain): domain = text_of(field); break;
      case bytes_tag(ort::FunctionProto::kOverload): overload = text_of(field); break;
      case bytes_tag(ort::FunctionProto::kInput): function.inputs.push_back(text_of(field)); break;
      case bytes_tag(ort::FunctionProto::kOutput):
        function.outputs.push_back(text_of(field));
        break;
      case bytes_tag(ort::FunctionProto::kOpsetImport):
        read_opset(field.bytes, function.opsets);
        break;
      default: break;
    }
    return true;
  });
  functions_.emplace(function_key(domain, name, overload), std::move(function));
  return read;
}

bool Walk::run_model(std::unordered_map<std::string_view, Value> inputs) {
  top_.values = std::move(inputs);
  top_.opsets = &opsets_;
  return run_graph(graph_, ort::GraphProto::kNode, top_, nullptr);
}

// Reads integers if there are few; requests a constant that is in another file.
Value Walk::constant(const OnnxTensor& tensor) {
  const OnnxTensor& kept = tensors_.emplace_back(tensor);
  Value value = Value::same(Dims(kept.dims.begin(), kept.dims.end()));
  value.tensor = &kept;
  int64_t count = 1;
  for (const int64_t dim : kept.dims) {
    if (dim < 0 || dim > static_cast<int64_t>(kCellsMax)) return value;
    count *= dim;
    if (count > static_cast<int64_t>(kCellsMax)) return value;
  }
  if (!is_integer(kept.type)) return value;
  OnnxTensor readable = kept;
  if (kept.external) {
    std::optional<Bytes> raw;
    if (read_constant_) raw = read_constant_(kept.name);
    if (!raw) return value;
    readable.external = false;
    readable.raw = *raw;
  }
  if (readable.type == ort::OnnxType::Bool) readable.type = ort::OnnxType::Uint8;
  std::vector<int64_t> numbers;
  if (!read_integers(readable, numbers)) return value;
  if (static_cast<int64_t>(numbers.size()) != count) return value;
  value.cells = Dims(numbers.begin(), numbers.end());
  return value;
}

bool Walk::run_graph(Bytes graph, uint32_t node_field, Scope& scope,
                     std::vector<std::string_view>* outputs) {
  const bool is_function = node_field == ort::FunctionProto::kNode;
  std::vector<OnnxNode> nodes;
  const bool read = for_fields(graph, [&](const WireField& field) {
    if (field.tag == bytes_tag(node_field)) {
      return read_node(field.bytes, nodes.emplace_back());
    }
    if (is_function) return true;
    if (field.tag == bytes_tag(ort::GraphProto::kInitializer)) {
      OnnxTensor tensor;
      if (!read_tensor(field.bytes, tensor)) return false;
      scope.values.try_emplace(tensor.name, constant(tensor));
    }
    if (field.tag ==
        bytes_tag(ort::GraphProto::kSparseInitializer)) {  // its values are a named tensor
      (void)for_fields(field.bytes, [&](const WireField& inner) {
        OnnxTensor tensor;
        if (inner.tag == bytes_tag(proto::onnx::SparseTensorProto::kValues) &&
            read_tensor(inner.bytes, tensor)) {
          scope.values.try_emplace(tensor.name, Value::same());
        }
        return true;
      });
    }
    ort::OnnxValue value;
    if (field.tag == bytes_tag(ort::GraphProto::kOutput) && outputs != nullptr) {
      if (!read_value(field.bytes, value)) return false;
      outputs->push_back(value.name);
    }
    return true;
  });
  if (!read) return false;
  // Nodes of the bodies keep their bytes, so that they can be run again.
  for (const OnnxNode& node : nodes) run_node(node, scope);
  return true;
}

void Walk::set_outputs(const OnnxNode& node, Scope& scope, const Value& value) {
  for (const std::string_view name : node.outputs) {
    if (!name.empty()) scope.values.insert_or_assign(name, value);
  }
}

void Walk::run_node(const OnnxNode& node, Scope& scope) {
  if (++nodes_ > kNodesMax) {
    return set_outputs(node, scope, mixed(node, {false, "the model has too many nodes"}));
  }
  std::vector<const Value*> inputs;
  for (const std::string_view name : node.inputs) {
    const Value* value = name.empty() ? nullptr : scope.find(name);
    if (value == nullptr && !name.empty()) {
      return set_outputs(node, scope,
                         mixed(node, {false, "unknown value '" + std::string(name) + "'"}));
    }
    if (value != nullptr && value->kind == Kind::Mixed) return set_outputs(node, scope, *value);
    inputs.push_back(value);
  }
  if (node.op == "Constant" && node.is_onnx()) {
    const ort::OnnxAttribute* value = node.attribute("value");
    OnnxTensor tensor;
    if (value != nullptr && value->tensor && read_tensor(*value->tensor, tensor)) {
      return set_outputs(node, scope, constant(tensor));
    }
    Value out;
    if (const ort::OnnxAttribute* one = node.attribute("value_int")) {
      out = Value::integers({}, {one->integer});
    } else if (const ort::OnnxAttribute* list = node.attribute("value_ints")) {
      const auto size = static_cast<int64_t>(list->integers.size());
      out = Value::integers({size}, Dims(list->integers.begin(), list->integers.end()));
    } else if (node.attribute("value_float") || node.attribute("value_string")) {
      out = Value::same(Dims());
    }
    return set_outputs(node, scope, out);
  }
  const auto function = functions_.find(function_key(node.domain, node.op, node.overload));
  try {
    if (function != functions_.end()) return run_function(node, function->second, scope, inputs);
    run_rule(node, scope, inputs);
  } catch (const Stop& stop) {
    // An error from a body already names its node.
    const bool named = stop.why.text.starts_with("node ");
    set_outputs(node, scope,
                named ? Value::mixed(std::make_shared<Why>(stop.why)) : mixed(node, stop.why));
  } catch (const std::exception& problem) {
    set_outputs(node, scope, mixed(node, {false, problem.what()}));
  }
}

// Finds the values of the enclosing graph that a node's bodies read.
const Value* Walk::captured(const OnnxNode& node, const Scope& scope) const {
  const Value* found = nullptr;
  const std::function<void(Bytes)> look = [&](Bytes graph) {
    (void)for_fields(graph, [&](const WireField& field) {
      OnnxNode inner;
      if (field.tag != bytes_tag(ort::GraphProto::kNode)) return true;
      if (!read_node(field.bytes, inner)) return true;
      for (const std::string_view name : inner.inputs) {
        const Value* value = scope.find(name);
        if (value != nullptr && value->varies()) found = value;
      }
      for (const ort::OnnxAttribute& attribute : inner.attributes) {
        if (attribute.graph) look(*attribute.graph);
      }
      return true;
    });
  };
  for (const ort::OnnxAttribute& attribute : node.attributes) {
    if (attribute.graph) look(*attribute.graph);
    for (const Bytes graph : attribute.graphs) look(graph);
  }
  return found;
}

std::string Walk::place_of(const OnnxNode& node) const {
  return calls_ + "node " + std::to_string(reinterpret_cast<uintptr_t>(node.bytes.data()));
}

namespace {

bool all_same(const std::vector<const Value*>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(),
                     [](const Value* value) { return value == nullptr || !value->varies(); });
}

bool has_body(const OnnxNode& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(),
                     [](const auto& one) { return one.graph || !one.graphs.empty(); });
}

void need_known_kinds(const Rule& rule, const std::vector<const Value*>& inputs) {
  for (const Value* value : inputs) {
    if (value == nullptr) continue;
    if (value->kind == Kind::Counts && !rule.takes_counts) {
      couples("the result depends on the number of rows");
    }
    const bool numbers = value->kind == Kind::Numbers || value->kind == Kind::Columns;
    if (numbers && !rule.takes_numbers) couples("it computes with numbers of rows");
    const bool pieces = value->kind == Kind::Pieces || value->kind == Kind::Extents;
    if (pieces && !rule.takes_pieces) {
      couples("the number of entries of an input depends on the values of all rows");
    }
  }
}

}  // namespace

void Walk::run_rule(const OnnxNode& node, Scope& scope, const std::vector<const Value*>& inputs) {
  const Rule* rule = find_rule(node.domain, node.op);
  if (rule != nullptr && rule->random) couples(rule->says);
  if (rule == nullptr || rule->apply == nullptr) {
    const bool constant_bodies = !has_body(node) || captured(node, scope) == nullptr;
    if (all_same(inputs) && constant_bodies) return set_outputs(node, scope, Value::same());
    if (rule != nullptr) couples(rule->says);
    unproven("no rule proves that this operator keeps rows independent");
  }
  std::vector<Value> outputs;
  try {
    outputs = cases_of(node, scope, *rule, inputs);
  } catch (const Stop& reason) {
    // The output of constants is a constant, even if its shape is unknown.
    if (!all_same(inputs) || has_body(node)) stop(reason);
    return set_outputs(node, scope, Value::same());
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].empty()) continue;
    if (outputs[i].kind == Kind::Mixed && !outputs[i].why->text.starts_with("node ")) {
      outputs[i] = mixed(node, *outputs[i].why);
    }
    scope.values.insert_or_assign(node.outputs[i], std::move(outputs[i]));
  }
}

// An operator that refuses its inputs in one case has no result in it, so only the other cases can
// occur. Cases of several inputs are tried in all combinations, because it is unknown which occur
// together.
std::vector<Value> Walk::cases_of(const OnnxNode& node, Scope& scope, const Rule& rule,
                                  const std::vector<const Value*>& inputs) {
  constexpr size_t kCasesMax = 3;
  std::vector<size_t> open;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr && inputs[i]->instead != nullptr) open.push_back(i);
  }
  if (open.empty() || rule.takes_either) return outputs_of(node, scope, rule, inputs);
  if (open.size() > kCasesMax) unproven("too many inputs have several cases");
  std::vector<Value> plain;
  plain.reserve(open.size());
  for (const size_t at : open) plain.emplace_back(*inputs[at]).instead = nullptr;
  std::optional<std::vector<Value>> found;
  for (size_t choice = 0; choice < (size_t{1} << open.size()); ++choice) {
    std::vector<const Value*> chosen = inputs;
    for (size_t k = 0; k < open.size(); ++k) {
      const bool other = ((choice >> k) & 1) != 0;
      chosen[open[k]] = other ? inputs[open[k]]->instead.get() : &plain[k];
    }
    std::vector<Value> outputs;
    try {
      outputs = outputs_of(node, scope, rule, chosen);
    } catch (const Stop& reason) {
      if (!reason.refused) stop(reason);
      continue;
    }
    for (size_t i = 0; found && i < outputs.size(); ++i) {
      const Value& before = (*found)[i];
      if (outputs[i].kind == Kind::Mixed) continue;
      const std::string where = place_of(node) + " output " + std::to_string(i);
      outputs[i] =
          before.kind == Kind::Mixed ? before : joined(symbols_, before, outputs[i], where);
    }
    found = std::move(outputs);
  }
  if (!found) unproven("it refuses its inputs in every case");
  return *std::move(found);
}

std::vector<Value> Walk::outputs_of(const OnnxNode& node, Scope& scope, const Rule& rule,
                                    const std::vector<const Value*>& inputs) {
  need_known_kinds(rule, inputs);
  const auto opset = scope.opsets->find(node.is_onnx() ? "" : node.domain);
  const RunBody body = [this, &scope](Bytes graph, std::vector<Value> values) {
    return run_body(graph, std::move(values), scope);
  };
  const int64_t version = opset == scope.opsets->end() ? 1 : opset->second;
  Call call(node, version, inputs, symbols_, body, place_of(node));
  const bool constant = all_same(inputs) && !has_body(node);
  try {
    rule.apply(call);
  } catch (const Stop& reason) {
    if (!constant || reason.refused) stop(reason);
    return std::vector<Value>(node.outputs.size());
  }
  std::vector<Value> outputs;
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    const std::optional<Value>& value = call.outputs()[i];
    if (value || constant || node.outputs[i].empty()) {
      outputs.push_back(value.value_or(Value::same()));
      continue;
    }
    const Why why{false,
                  "no rule proves that output " + std::to_string(i) + " keeps rows independent"};
    outputs.push_back(mixed(node, why));
  }
  return outputs;
}

std::vector<Value> Walk::run_body(Bytes graph, std::vector<Value> inputs, const Scope& around) {
  const Level level(depth_);
  if (depth_ > kDepthMax) unproven("bodies are nested too deeply");
  Scope scope;
  scope.outer = &around;
  scope.opsets = around.opsets;
  std::vector<std::string_view> names, outputs;
  bool read = for_fields(graph, [&](const WireField& field) {
    ort::OnnxValue value;
    if (field.tag != bytes_tag(ort::GraphProto::kInput)) return true;
    if (!read_value(field.bytes, value)) return false;
    names.push_back(value.name);
    return true;
  });
  if (names.size() < inputs.size()) unproven("the body has too few inputs");
  for (size_t i = 0; i < inputs.size(); ++i) scope.values.emplace(names[i], std::move(inputs[i]));
  read = read && run_graph(graph, ort::GraphProto::kNode, scope, &outputs);
  if (!read) unproven("the body cannot be read");
  std::vector<Value> values;
  for (const std::string_view name : outputs) {
    const Value* value = scope.find(name);
    if (value == nullptr) unproven("the body does not define '" + std::string(name) + "'");
    values.push_back(*value);
  }
  return values;
}

// A call of one of the model's own functions: runs its nodes, with the call's attributes
// substituted.
void Walk::run_function(const OnnxNode& node, const Function& function, Scope& scope,
                        const std::vector<const Value*>& inputs) {
  const Level level(depth_);
  if (depth_ > kDepthMax) unproven("functions call each other too deeply");
  const Longer calls(calls_, place_of(node) + " ");
  Scope inner;
  inner.opsets = &function.opsets;
  for (size_t i = 0; i < function.inputs.size() && i < inputs.size(); ++i) {
    if (inputs[i] != nullptr) inner.values.emplace(function.inputs[i], *inputs[i]);
  }
  std::vector<OnnxNode> nodes;
  const bool read = for_fields(function.bytes, [&](const WireField& field) {
    return field.tag != bytes_tag(ort::FunctionProto::kNode) ||
           read_node(field.bytes, nodes.emplace_back());
  });
  if (!read) unproven("the function cannot be read");
  for (OnnxNode& one : nodes) {
    for (std::string_view& name : one.inputs) {  // an input that the call omits
      const auto at = std::find(function.inputs.begin(), function.inputs.end(), name);
      if (at != function.inputs.end() && inner.find(name) == nullptr) name = {};
    }
    std::vector<ort::OnnxAttribute> attributes;
    for (const ort::OnnxAttribute& attribute : one.attributes) {
      if (attribute.reference.empty()) {
        attributes.push_back(attribute);
        continue;
      }
      const ort::OnnxAttribute* given = node.attribute(attribute.reference);
      if (given == nullptr) unproven("the call omits an attribute of the function");
      ort::OnnxAttribute& made = attributes.emplace_back(*given);
      made.name = attribute.name;
    }
    one.attributes = std::move(attributes);
    run_node(one, inner);
  }
  for (size_t i = 0; i < node.outputs.size() && i < function.outputs.size(); ++i) {
    const Value* value = inner.find(function.outputs[i]);
    if (value == nullptr)
      unproven("the function does not define '" + std::string(function.outputs[i]) + "'");
    if (!node.outputs[i].empty()) scope.values.insert_or_assign(node.outputs[i], *value);
  }
}

}  // namespace serval::rows
