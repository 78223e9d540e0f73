// Writer of an ONNX ModelProto for layers: IR version 8, opset 17. Load thread.
#include "tabular/dense/graph.h"

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/bytes/generated/onnx.h"
#include "base/bytes/wire_writer.h"

namespace serval::tabular {
namespace {

namespace onnx = proto::onnx;

constexpr uint64_t kDouble = onnx::TensorProto::DataType::kDouble;
constexpr uint64_t kIrVersion = 8, kOpset = 17;

// A protobuf message being written.
class Message {
 public:
  Message& number(uint32_t field, uint64_t value) {
    varint(wire_tag(field, WireType::Varint));
    varint(value);
    return *this;
  }
  Message& text(uint32_t field, std::string_view value) {
    head(field, value.size());
    bytes_.insert(bytes_.end(), value.begin(), value.end());
    return *this;
  }
  Message& message(uint32_t field, const Message& value) {
    head(field, value.bytes_.size());
    bytes_.insert(bytes_.end(), value.bytes_.begin(), value.bytes_.end());
    return *this;
  }
  // A TensorProto whose numbers are written directly to their final position.
  Message& tensor(uint32_t field, std::string_view name, std::initializer_list<size_t> dims,
                  std::span<const double> values) {
    Message start;
    for (const size_t dim : dims) start.number(onnx::TensorProto::kDims, dim);
    start.number(onnx::TensorProto::kDataType, kDouble).text(onnx::TensorProto::kName, name);
    head(field, start.bytes_.size() + wire_field_bytes(values.size_bytes()));
    bytes_.insert(bytes_.end(), start.bytes_.begin(), start.bytes_.end());
    const auto* raw = reinterpret_cast<const char*>(values.data());
    return text(onnx::TensorProto::kRawData, {raw, values.size_bytes()});
  }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  void head(uint32_t field, size_t length) {
    varint(wire_tag(field, WireType::Bytes));
    varint(length);
  }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<uint8_t>(value | 0x80u));
    bytes_.push_back(static_cast<uint8_t>(value));
  }
  std::vector<uint8_t> bytes_;
};

// A ValueInfoProto of doubles [rows, width].
Message value_info(std::string_view name, size_t width) {
  using namespace onnx;
  namespace Dimension = TensorShapeProto::Dimension;
  Message shape;
  shape.message(TensorShapeProto::kDim, Message().text(Dimension::kDimParam, "rows"));
  shape.message(TensorShapeProto::kDim, Message().number(Dimension::kDimValue, width));
  Message tensor;
  tensor.number(TypeProto::Tensor::kElemType, kDouble).message(TypeProto::Tensor::kShape, shape);
  Message value;
  value.text(ValueInfoProto::kName, name);
  return value.message(ValueInfoProto::kType, Message().message(TypeProto::kTensorType, tensor));
}

const char* operator_of(Activation activation) {
  switch (activation) {
    case Activation::Logistic: return "Sigmoid";
    case Activation::Tanh: return "Tanh";
    case Activation::Rectifier: return "Relu";
    case Activation::Softmax: return "Softmax";  // along the last dimension
    case Activation::Identity: break;
  }
  return nullptr;
}

}  // namespace

std::vector<uint8_t> write_graph(std::span<const DenseLayer> layers) {
  using namespace onnx;
  Message graph;
  std::string from = kGraphInput;
  for (size_t l = 0; l < layers.size(); ++l) {
    const DenseLayer& layer = layers[l];
    const std::string number = std::to_string(l), last = l + 1 == layers.size() ? kGraphOutput : "";
    const char* activation = operator_of(layer.activation);
    const std::string sums = activation == nullptr && !last.empty() ? last : "sums" + number;
    Message product;
    product.text(NodeProto::kInput, from).text(NodeProto::kInput, "weights" + number);
    if (!layer.biases.empty()) product.text(NodeProto::kInput, "biases" + number);
    product.text(NodeProto::kOutput, sums);
    product.text(NodeProto::kOpType, layer.biases.empty() ? "MatMul" : "Gemm");
    graph.message(GraphProto::kNode, product);
    from = sums;
    if (activation != nullptr) {
      const std::string to = last.empty() ? "values" + number : last;
      Message node;
      node.text(NodeProto::kInput, from).text(NodeProto::kOutput, to);
      graph.message(GraphProto::kNode, node.text(NodeProto::kOpType, activation));
      from = to;
    }
  }
  graph.text(GraphProto::kName, "layers");
  for (size_t l = 0; l < layers.size(); ++l) {
    const DenseLayer& layer = layers[l];
    const std::string number = std::to_string(l);
    const auto add = [&](const char* name, std::initializer_list<size_t> dims,
                         std::span<const double> values) {
      graph.tensor(GraphProto::kInitializer, name + number, dims, values);
    };
    add("weights", {layer.inputs, layer.outputs}, layer.weights);
    if (!layer.biases.empty()) add("biases", {layer.outputs}, layer.biases);
  }
  graph.message(GraphProto::kInput, value_info(kGraphInput, layers.front().inputs));
  graph.message(GraphProto::kOutput, value_info(kGraphOutput, layers.back().outputs));
  Message model;
  model.number(ModelProto::kIrVersion, kIrVersion).message(ModelProto::kGraph, graph);
  Message opset;
  opset.text(OperatorSetIdProto::kDomain, "").number(OperatorSetIdProto::kVersion, kOpset);
  model.message(ModelProto::kOpsetImport, opset);
  return model.take();
}

}  // namespace serval::tabular
