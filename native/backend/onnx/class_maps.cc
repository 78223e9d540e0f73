// Rewrites classifiers that end with ZipMap.
#include "backend/onnx/class_maps.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/bytes/utf8.h"
#include "base/limits.h"

namespace serval::ort {
namespace {

// Protobuf reads no message over 2 GB.
constexpr size_t kModelBytesMax = size_t{1900} << 20;
constexpr uint32_t kGraphTag = wire_tag(ModelProto::kGraph, WireType::Bytes);
constexpr uint32_t kNodeTag = wire_tag(GraphProto::kNode, WireType::Bytes);
constexpr uint32_t kOutputTag = wire_tag(GraphProto::kOutput, WireType::Bytes);
constexpr uint32_t kValueTag = wire_tag(GraphProto::kValueInfo, WireType::Bytes);

bool is_zip(const OnnxNode& node) {
  return node.op == "ZipMap" && node.domain == "ai.onnx.ml" && node.inputs.size() == 1 &&
         node.outputs.size() == 1;
}

bool is_identity(const OnnxNode& node) {
  return node.op == "Identity" && node.is_onnx() && node.inputs.size() == 1 &&
         node.outputs.size() == 1;
}

// Reads names and operator of a node; skips its attributes, which hold whole forests.
bool read_head(Bytes bytes, OnnxNode& node) {
  node.bytes = bytes;
  return for_fields(bytes, [&node](const WireField& field) {
    if (field.type() != WireType::Bytes) return true;
    switch (field.number()) {
      case NodeProto::kInput: node.inputs.push_back(text_of(field)); break;
      case NodeProto::kOutput: node.outputs.push_back(text_of(field)); break;
      case NodeProto::kName: node.name = text_of(field); break;
      case NodeProto::kOpType: node.op = text_of(field); break;
      case NodeProto::kDomain: node.domain = text_of(field); break;
      default: break;
    }
    return true;
  });
}

// The classes in the order of the tensor's columns; empty if the node names none or names them
// twice, which the runtime refuses, or if they cannot be sent.
std::vector<std::string> labels_of(const OnnxNode& zip) {
  OnnxNode node;
  std::vector<std::string> labels;
  if (!read_node(zip.bytes, node)) return {};
  const OnnxAttribute* numbers = node.attribute("classlabels_int64s");
  const OnnxAttribute* texts = node.attribute("classlabels_strings");
  if (numbers != nullptr && !numbers->integers.empty()) {
    for (const int64_t number : numbers->integers) labels.push_back(std::to_string(number));
  }
  if (texts == nullptr) return labels;
  if (!labels.empty()) return {};
  const bool read = for_fields(texts->bytes, [&labels](const WireField& field) {
    if (field.tag == bytes_tag(AttributeProto::kStrings)) labels.emplace_back(text_of(field));
    return true;
  });
  const bool good = std::all_of(labels.begin(), labels.end(), [](const std::string& label) {
    return label.size() <= kNameBytesMax && is_valid_utf8(label);
  });
  if (!read || !good) labels.clear();
  return labels;
}

// Known properties of the maps of one ZipMap.
struct Zip {
  std::string_view tensor;  // its input
  std::vector<std::string> labels;
  bool stays = false;  // another operator uses the maps
};

class Unzipper {
 public:
  // False: there is nothing to rewrite.
  bool read(Bytes graph) {
    const bool done = for_fields(graph, [this](const WireField& field) {
      if (field.tag == kOutputTag) {
        OnnxValue value;
        if (!read_value(field.bytes, value)) return false;
        outputs_.push_back(value.name);
      }
      if (field.tag == kValueTag) {
        OnnxValue value;
        if (!read_value(field.bytes, value)) return false;
        if (value.type != OnnxType::Unknown) types_[value.name] = value.type_bytes;
      }
      return field.tag != kNodeTag || add(field.bytes);
    });
    if (!done) return false;
    return std::any_of(outputs_.begin(), outputs_.end(),
                       [this](std::string_view name) { return found(name) != nullptr; });
  }

  std::string write(Bytes graph) const {
    OnnxWriter out;
    (void)for_fields(graph, [&](const WireField& field) {
      OnnxNode node;
      OnnxValue value;
      if (field.tag == kNodeTag && read_head(field.bytes, node) && is_zip(node) &&
          found(node.outputs[0]) != nullptr) {
        out.bytes(field.number(), identity(node));
        return true;
      }
      const bool is_value = field.tag == kOutputTag || field.tag == kValueTag;
      const Zip* zip = is_value && read_value(field.bytes, value) ? found(value.name) : nullptr;
      if (zip == nullptr) out.field(field);
      else if (field.tag == kOutputTag) out.bytes(field.number(), output(value.name, *zip));
      return true;  // other statements about the maps no longer hold
    });
    return out.take();
  }

  std::vector<ClassOutput> outputs() const {
    std::vector<ClassOutput> list;
    for (const std::string_view name : outputs_) {
      if (const Zip* zip = found(name)) list.push_back({std::string(name), zip->labels});
    }
    return list;
  }

 private:
  // Nodes are listed in execution order. Source: onnx IR.md "Graphs".
  bool add(Bytes bytes) {
    OnnxNode node;
    if (!read_head(bytes, node)) return false;
    if (is_zip(node)) {
      by_name_[node.outputs[0]] = zips_.size();
      zips_.push_back({node.inputs[0], labels_of(node)});
      zips_.back().stays = zips_.back().labels.empty();
      return true;
    }
    for (const std::string_view input : node.inputs) {
      const auto known = by_name_.find(input);
      if (known == by_name_.end()) continue;
      if (is_identity(node)) by_name_[node.outputs[0]] = known->second;
      else zips_[known->second].stays = true;
    }
    return true;
  }

  const Zip* found(std::string_view name) const {
    const auto known = by_name_.find(name);
    if (known == by_name_.end() || zips_[known->second].stays) return nullptr;
    return &zips_[known->second];
  }

  static std::string identity(const OnnxNode& node) {
    OnnxWriter out;
    out.bytes(NodeProto::kInput, node.inputs[0]).bytes(NodeProto::kOutput, node.outputs[0]);
    return out.bytes(NodeProto::kName, node.name).bytes(NodeProto::kOpType, "Identity").take();
  }

  // A ValueInfoProto. ZipMap accepts floats of one row or of several rows.
  std::string output(std::string_view name, const Zip& zip) const {
    OnnxWriter out;
    out.bytes(ValueInfoProto::kName, name);
    const auto known = types_.find(zip.tensor);
    if (known != types_.end()) return out.bytes(ValueInfoProto::kType, known->second).take();
    OnnxWriter shape;
    shape.bytes(TensorShapeProto::kDim, std::string_view());
    shape.bytes(TensorShapeProto::kDim, OnnxWriter()
                                            .integer(TensorShapeProto::Dimension::kDimValue,
                                                     static_cast<int64_t>(zip.labels.size()))
                                            .str());
    OnnxWriter tensor;
    tensor.integer(TypeProto::Tensor::kElemType, static_cast<int64_t>(OnnxType::Float))
        .bytes(TypeProto::Tensor::kShape, shape.str());
    return out
        .bytes(ValueInfoProto::kType,
               OnnxWriter().bytes(TypeProto::kTensorType, tensor.str()).str())
        .take();
  }

  std::vector<std::string_view> outputs_;
  std::map<std::string_view, Bytes> types_;     // TypeProtos of inner tensors
  std::map<std::string_view, size_t> by_name_;  // of maps, index into zips_
  std::vector<Zip> zips_;
};

}  // namespace

UnzippedModel unzip_outputs(Bytes model) {
  UnzippedModel unzipped;
  Bytes graph;
  size_t graphs = 0;
  const bool read = for_fields(model, [&](const WireField& field) {
    if (field.tag != kGraphTag) return true;
    graph = field.bytes;
    ++graphs;
    return true;
  });
  Unzipper unzipper;
  if (!read || graphs != 1 || model.size() > kModelBytesMax || !unzipper.read(graph)) {
    return unzipped;
  }
  OnnxWriter out;
  (void)for_fields(model, [&](const WireField& field) {
    if (field.tag == kGraphTag) out.bytes(field.number(), unzipper.write(graph));
    else out.field(field);
    return true;
  });
  unzipped.bytes = out.take();
  unzipped.outputs = unzipper.outputs();
  return unzipped;
}

}  // namespace serval::ort
