// Replaces Serval's operators by ONNX's for GPUs.
#include "backend/onnx/device_form.h"

#include <initializer_list>
#include <utility>

namespace serval::ort {
namespace {

constexpr int64_t kInt64 = static_cast<int64_t>(OnnxType::Int64);

// Replaces our nodes by ONNX's, one by one; counts them.
class DeviceForm {
 public:
  explicit DeviceForm(IndexChecks checks) : checks_(checks) {}

  int replaced() const { return replaced_; }

  bool graph(Bytes graph, OnnxWriter& out) {
    return for_fields(graph, [&](const WireField& field) {
      if (field.tag != wire_tag(GraphProto::kNode, WireType::Bytes)) {
        out.field(field);
        return true;
      }
      OnnxNode node;
      if (!read_node(field.bytes, node)) return false;
      if (node.domain == "serval" && replace(node, out)) {
        ++replaced_;
        return true;
      }
      std::string changed;
      if (!bodies(node, changed)) return false;
      out.bytes(GraphProto::kNode, changed.empty() ? node.bytes : bytes_of(changed));
      return true;
    });
  }

 private:
  using Names = std::initializer_list<std::string_view>;

  static void add(OnnxWriter& out, std::string_view op, std::string_view name, Names inputs,
                  Names outputs, std::initializer_list<std::string> attributes) {
    OnnxWriter made;
    for (const std::string_view input : inputs) made.bytes(NodeProto::kInput, input);
    for (const std::string_view output : outputs) made.bytes(NodeProto::kOutput, output);
    made.bytes(NodeProto::kName, name).bytes(NodeProto::kOpType, op);
    for (const std::string& attribute : attributes) made.bytes(NodeProto::kAttribute, attribute);
    out.bytes(GraphProto::kNode, made.str());
  }

  bool replace(const OnnxNode& node, OnnxWriter& out) {
    const auto& [in, to] = std::pair(node.inputs, node.outputs);
    if (node.op == "WithoutNan" && in.size() == 1) {
      add(out, "Identity", node.name, {in[0]}, {to[0]}, {});
      return true;
    }
    const bool is_check = node.op == "CheckIndices" || node.op == "CheckTuples";
    if (is_check && checks_ == IndexChecks::Drop && in.size() == 2) {
      add(out, "Identity", node.name, {in[1]}, {to[0]}, {});
      return true;
    }
    if ((node.op == "ReduceMax" || node.op == "ReduceMin") && in.size() == 2) {
      add(out, node.op, node.name, {in[1], in[0]}, {to[0]},
          {integer_attribute("keepdims", node.integer("keepdims", 1)),
           integer_attribute("noop_with_empty_axes", 1)});
      return true;
    }
    if (node.op != "TopK" || in.size() != 2 || to.size() != 2) return false;
    const std::string name = "serval_device_" + std::to_string(replaced_);
    add(out, "Cast", name + "_k", {in[0]}, {name + "_k"}, {integer_attribute("to", kInt64)});
    add(out, "TopK", node.name, {in[1], name + "_k"}, {to[0], name + "_i"},
        {integer_attribute("axis", -1), integer_attribute("sorted", node.integer("sorted", 1))});
    const int64_t type = node.integer("index_type", kInt64);
    add(out, "Cast", name + "_i", {name + "_i"}, {to[1]}, {integer_attribute("to", type)});
    return true;
  }

  // Returns the node with its bodies changed; empty if nothing in them changes.
  bool bodies(const OnnxNode& node, std::string& changed) {
    const int before = replaced_;
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
        OnnxWriter made;
        if (!graph(inner.bytes, made)) return false;
        attribute.bytes(inner.number(), made.str());
        return true;
      });
      out.bytes(NodeProto::kAttribute, attribute.str());
      return done;
    });
    if (replaced_ != before) changed = out.take();
    return read;
  }

  const IndexChecks checks_;
  int replaced_ = 0;
};

}  // namespace

std::string device_form(Bytes model, IndexChecks checks) {
  DeviceForm form(checks);
  OnnxWriter out;
  const bool read = for_fields(model, [&](const WireField& field) {
    if (field.tag != wire_tag(ModelProto::kGraph, WireType::Bytes)) {
      out.field(field);
      return true;
    }
    OnnxWriter graph;
    if (!form.graph(field.bytes, graph)) return false;
    out.bytes(field.number(), graph.str());
    return true;
  });
  return read && form.replaced() > 0 ? out.take() : std::string();
}

}  // namespace serval::ort
