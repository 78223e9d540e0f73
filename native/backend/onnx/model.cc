// Reads an ONNX file field by field.
#include "backend/onnx/model.h"

#include <charconv>
#include <cstring>
#include <utility>

namespace serval::ort {
namespace {

constexpr uint32_t varint_tag(uint32_t number) { return wire_tag(number, WireType::Varint); }

// Reads a repeated int64: individual values, or packed.
bool add_integers(const WireField& field, std::vector<int64_t>& values) {
  if (field.type() == WireType::Varint) {
    values.push_back(static_cast<int64_t>(field.value));
    return true;
  }
  if (field.type() != WireType::Bytes) return true;
  WireFault fault;
  WireReader reader(field.bytes, field.bytes.data(), fault);
  while (!reader.at_end()) {
    uint64_t value = 0;
    if (!reader.read_varint(value)) return false;
    values.push_back(static_cast<int64_t>(value));
  }
  return true;
}

template <typename T>
void add_raw(Bytes raw, std::vector<int64_t>& values) {
  for (size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, raw.data() + at, sizeof value);
    values.push_back(static_cast<int64_t>(value));
  }
}

bool read_attribute(Bytes bytes, OnnxAttribute& attribute) {
  attribute.bytes = bytes;
  return for_fields(bytes, [&attribute](const WireField& field) {
    switch (field.tag) {
      case bytes_tag(AttributeProto::kName): attribute.name = text_of(field); break;
      case varint_tag(AttributeProto::kI):
        attribute.integer = static_cast<int64_t>(field.value);
        break;
      case bytes_tag(AttributeProto::kS): attribute.text = text_of(field); break;
      case bytes_tag(AttributeProto::kT): attribute.tensor = field.bytes; break;
      case bytes_tag(AttributeProto::kG): attribute.graph = field.bytes; break;
      case varint_tag(AttributeProto::kInts):
      case bytes_tag(AttributeProto::kInts): return add_integers(field, attribute.integers);
      case bytes_tag(AttributeProto::kTensors): attribute.tensors.push_back(field.bytes); break;
      case bytes_tag(AttributeProto::kGraphs): attribute.graphs.push_back(field.bytes); break;
      case varint_tag(AttributeProto::kType):
        attribute.type = static_cast<int32_t>(field.value);
        break;
      case bytes_tag(AttributeProto::kRefAttrName): attribute.reference = text_of(field); break;
      default: break;
    }
    return true;
  });
}

// Reads a StringStringEntryProto of external_data.
bool read_external(Bytes bytes, OnnxTensor& tensor) {
  std::string_view key, value;
  const bool read = for_fields(bytes, [&](const WireField& field) {
    if (field.tag == bytes_tag(proto::onnx::StringStringEntryProto::kKey)) key = text_of(field);
    if (field.tag == bytes_tag(proto::onnx::StringStringEntryProto::kValue)) value = text_of(field);
    return true;
  });
  if (key == "location") tensor.location = value;
  if (key != "offset" && key != "length") return read;
  uint64_t& number = key == "offset" ? tensor.offset : tensor.length;
  const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (problem != std::errc() || end != value.data() + value.size()) tensor.bad_entry = key;
  return read;
}

// Reads a TensorShapeProto.
bool read_shape(Bytes bytes, OnnxValue& value) {
  value.dims.emplace();
  return for_fields(bytes, [&value](const WireField& field) {
    if (field.tag != bytes_tag(TensorShapeProto::kDim)) return true;
    int64_t& dim = value.dims->emplace_back(-1);
    std::string_view& symbol = value.symbols.emplace_back();
    return for_fields(field.bytes, [&](const WireField& inner) {
      if (inner.tag == varint_tag(TensorShapeProto::Dimension::kDimValue))
        dim = static_cast<int64_t>(inner.value);
      if (inner.tag == bytes_tag(TensorShapeProto::Dimension::kDimParam)) symbol = text_of(inner);
      return true;
    });
  });
}

bool read_type(Bytes bytes, OnnxValue& value) {
  value.type_bytes = bytes;
  return for_fields(bytes, [&value](const WireField& field) {
    if (field.tag != bytes_tag(TypeProto::kTensorType)) return true;  // not a dense tensor
    return for_fields(field.bytes, [&value](const WireField& inner) {
      if (inner.tag == varint_tag(TypeProto::Tensor::kElemType))
        value.type = static_cast<OnnxType>(inner.value);
      return inner.tag != bytes_tag(TypeProto::Tensor::kShape) || read_shape(inner.bytes, value);
    });
  });
}

// The messages that lead from a model to its tensors.
enum class Part : uint8_t { Other, Model, Graph, Body, Function, Node, Attribute, Tensor, Value };

Part part_of(Part whole, uint32_t field) {
  switch (whole) {
    case Part::Model:
      if (field == ModelProto::kGraph) return Part::Graph;
      return field == ModelProto::kFunctions ? Part::Function : Part::Other;
    case Part::Graph:
      if (field == GraphProto::kInitializer) return Part::Tensor;
      return field == GraphProto::kNode ? Part::Node : Part::Other;
    case Part::Body:
      if (field == GraphProto::kInitializer) return Part::Value;
      return field == GraphProto::kNode ? Part::Node : Part::Other;
    case Part::Function: return field == FunctionProto::kNode ? Part::Node : Part::Other;
    case Part::Node: return field == NodeProto::kAttribute ? Part::Attribute : Part::Other;
    case Part::Attribute:
      if (field == AttributeProto::kT || field == AttributeProto::kTensors) {
        return Part::Value;
      }
      return field == AttributeProto::kG || field == AttributeProto::kGraphs ? Part::Body
                                                                             : Part::Other;
    case Part::Tensor:
    case Part::Value:
    case Part::Other: return Part::Other;
  }
  return Part::Other;
}

class ExternalWalk {
 public:
  ExternalWalk(const UseExternal& use, bool writes) : use_(use), writes_(writes) {}

  bool message(Bytes bytes, Part part, OnnxWriter& out) {
    if (part == Part::Tensor || part == Part::Value) {
      return tensor(bytes, part == Part::Tensor, out);
    }
    return for_fields(bytes, [&](const WireField& field) {
      const Part inner =
          field.type() == WireType::Bytes ? part_of(part, field.number()) : Part::Other;
      if (inner == Part::Other) {
        if (writes_) out.field(field);
        return true;
      }
      OnnxWriter below;
      if (!message(field.bytes, inner, below)) return false;
      if (writes_) out.bytes(field.number(), below.str());
      return true;
    });
  }

 private:
  bool tensor(Bytes bytes, bool initializer, OnnxWriter& out) {
    OnnxTensor tensor;
    if (!read_tensor(bytes, tensor)) return false;
    std::string raw;
    const ExternalUse use = tensor.external ? use_(tensor, initializer, raw) : ExternalUse::Keep;
    if (use == ExternalUse::Fail) return false;
    if (!writes_) return true;
    (void)for_fields(bytes, [&](const WireField& field) {
      const bool external = field.number() == TensorProto::kExternalData ||
                            field.number() == TensorProto::kDataLocation;
      if (use == ExternalUse::Keep || !external) out.field(field);
      return true;
    });
    if (use == ExternalUse::Inline) out.bytes(TensorProto::kRawData, raw);
    return true;
  }

  const UseExternal& use_;
  const bool writes_;
};

}  // namespace

bool read_node(Bytes bytes, OnnxNode& node) {
  node.bytes = bytes;
  return for_fields(bytes, [&node](const WireField& field) {
    switch (field.tag) {
      case bytes_tag(NodeProto::kInput): node.inputs.push_back(text_of(field)); break;
      case bytes_tag(NodeProto::kOutput): node.outputs.push_back(text_of(field)); break;
      case bytes_tag(NodeProto::kName): node.name = text_of(field); break;
      case bytes_tag(NodeProto::kOpType): node.op = text_of(field); break;
      case bytes_tag(NodeProto::kAttribute):
        return read_attribute(field.bytes, node.attributes.emplace_back());
      case bytes_tag(NodeProto::kDomain): node.domain = text_of(field); break;
      case bytes_tag(NodeProto::kOverload): node.overload = text_of(field); break;
      default: break;
    }
    return true;
  });
}

bool read_tensor(Bytes bytes, OnnxTensor& tensor) {
  tensor.bytes = bytes;
  return for_fields(bytes, [&tensor](const WireField& field) {
    switch (field.tag) {
      case varint_tag(TensorProto::kDims):
      case bytes_tag(TensorProto::kDims): return add_integers(field, tensor.dims);
      case varint_tag(TensorProto::kDataType):
        tensor.type = static_cast<OnnxType>(field.value);
        break;
      case bytes_tag(TensorProto::kName): tensor.name = text_of(field); break;
      case bytes_tag(TensorProto::kRawData): tensor.raw = field.bytes; break;
      case bytes_tag(TensorProto::kExternalData): return read_external(field.bytes, tensor);
      case varint_tag(TensorProto::kDataLocation):
        tensor.external = field.value == TensorProto::DataLocation::kExternal;
        break;
      default: break;
    }
    return true;
  });
}

bool read_value(Bytes bytes, OnnxValue& value) {
  return for_fields(bytes, [&value](const WireField& field) {
    if (field.tag == bytes_tag(ValueInfoProto::kName)) value.name = text_of(field);
    return field.tag != bytes_tag(ValueInfoProto::kType) || read_type(field.bytes, value);
  });
}

bool read_integers(const OnnxTensor& tensor, std::vector<int64_t>& values) {
  if (tensor.external) return false;
  switch (tensor.type) {
    case OnnxType::Int8: add_raw<int8_t>(tensor.raw, values); break;
    case OnnxType::Uint8: add_raw<uint8_t>(tensor.raw, values); break;
    case OnnxType::Int16: add_raw<int16_t>(tensor.raw, values); break;
    case OnnxType::Uint16: add_raw<uint16_t>(tensor.raw, values); break;
    case OnnxType::Int32: add_raw<int32_t>(tensor.raw, values); break;
    case OnnxType::Uint32: add_raw<uint32_t>(tensor.raw, values); break;
    case OnnxType::Int64:
    case OnnxType::Uint64: add_raw<int64_t>(tensor.raw, values); break;
    default: return false;
  }
  return for_fields(tensor.bytes, [&values](const WireField& field) {
    const uint32_t number = field.number();
    const bool has_integers = number == TensorProto::kInt32Data ||
                              number == TensorProto::kInt64Data ||
                              number == TensorProto::kUint64Data;
    return !has_integers || add_integers(field, values);
  });
}

WireWriter OnnxWriter::room(uint64_t count) {
  const size_t begin = bytes_.size();
  bytes_.resize(begin + count);
  return {reinterpret_cast<uint8_t*>(bytes_.data()) + begin};
}

namespace {

// Limit on nested bodies; protobuf's own decoders stop at as many messages.
constexpr int kBodiesMax = 100;

class NodeWalk {
 public:
  explicit NodeWalk(const std::function<bool(Bytes)>& visit) : visit_(visit) {}

  bool nodes(Bytes graph, uint32_t node_field) {
    if (depth_ == kBodiesMax) return true;
    ++depth_;
    const bool read = for_fields(graph, [this, node_field](const WireField& field) {
      return field.tag != bytes_tag(node_field) || node(field.bytes);
    });
    --depth_;
    return read;
  }

 private:
  bool node(Bytes bytes) {
    return visit_(bytes) && for_fields(bytes, [this](const WireField& field) {
             return field.tag != bytes_tag(NodeProto::kAttribute) || bodies(field.bytes);
           });
  }
  bool bodies(Bytes attribute) {
    return for_fields(attribute, [this](const WireField& field) {
      const bool is_graph = field.tag == bytes_tag(AttributeProto::kG) ||
                            field.tag == bytes_tag(AttributeProto::kGraphs);
      return !is_graph || nodes(field.bytes, GraphProto::kNode);
    });
  }

  const std::function<bool(Bytes)>& visit_;
  int depth_ = 0;
};

}  // namespace

bool visit_nodes(Bytes model, const std::function<bool(Bytes node)>& visit) {
  NodeWalk walk(visit);
  return for_fields(model, [&walk](const WireField& field) {
    if (field.tag == bytes_tag(ModelProto::kGraph)) {
      return walk.nodes(field.bytes, GraphProto::kNode);
    }
    return field.tag != bytes_tag(ModelProto::kFunctions) ||
           walk.nodes(field.bytes, FunctionProto::kNode);
  });
}

OnnxWriter& OnnxWriter::bytes(uint32_t number, std::string_view value) {
  const uint64_t head = varint_bytes(bytes_tag(number)) + varint_bytes(value.size());
  room(head + value.size()).bytes(number, value);
  return *this;
}

OnnxWriter& OnnxWriter::bytes(uint32_t number, Bytes value) {
  return bytes(number, {reinterpret_cast<const char*>(value.data()), value.size()});
}

OnnxWriter& OnnxWriter::integer(uint32_t number, int64_t value) {
  return field({varint_tag(number), static_cast<uint64_t>(value), {}});
}

OnnxWriter& OnnxWriter::field(const WireField& field) {
  if (field.type() == WireType::Bytes) return bytes(field.number(), field.bytes);
  const bool varint = field.type() == WireType::Varint;
  const uint64_t size = varint                              ? varint_bytes(field.value)
                        : field.type() == WireType::Fixed32 ? sizeof(uint32_t)
                                                            : sizeof(uint64_t);
  WireWriter writer = room(varint_bytes(field.tag) + size);
  writer.varint(field.tag);
  if (varint) writer.varint(field.value);
  else writer.raw(&field.value, size);
  return *this;
}

bool visit_external(Bytes model, const UseExternal& use, std::string* out) {
  OnnxWriter writer;
  ExternalWalk walk(use, out != nullptr);
  if (!walk.message(model, Part::Model, writer)) return false;
  if (out != nullptr) *out = writer.take();
  return true;
}

std::string integer_attribute(std::string_view name, int64_t value) {
  return OnnxWriter()
      .bytes(AttributeProto::kName, name)
      .integer(AttributeProto::kI, value)
      .integer(AttributeProto::kType, AttributeProto::AttributeType::kInt)
      .take();
}

std::string text_attribute(std::string_view name, std::string_view value) {
  return OnnxWriter()
      .bytes(AttributeProto::kName, name)
      .bytes(AttributeProto::kS, value)
      .integer(AttributeProto::kType, AttributeProto::AttributeType::kString)
      .take();
}

std::string integers_attribute(std::string_view name, std::span<const int64_t> values) {
  OnnxWriter writer;
  writer.bytes(AttributeProto::kName, name);
  for (const int64_t value : values) writer.integer(AttributeProto::kInts, value);
  return writer.integer(AttributeProto::kType, AttributeProto::AttributeType::kInts).take();
}

}  // namespace serval::ort
