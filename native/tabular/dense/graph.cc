// Writer of an ONNX ModelProto for layers. Load thread. Source: onnx.proto3 (field numbers), IR
// version 8, opset 17.
#include "tabular/dense/graph.h"

#include <initializer_list>
#include <string>
#include <string_view>

#include "base/bytes/wire_writer.h"

namespace serval::tabular {
namespace {

constexpr uint64_t kDouble = 11;  // TensorProto.DataType
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
    for (const size_t dim : dims) start.number(1, dim);
    start.number(2, kDouble).text(8, name);
    head(field, start.bytes_.size() + wire_field_bytes(values.size_bytes()));
    bytes_.insert(bytes_.end(), start.bytes_.begin(), start.bytes_.end());
    const auto* raw = reinterpret_cast<const char*>(values.data());
    return text(9, {raw, values.size_bytes()});
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
  Message shape;
  shape.message(1, Message().text(2, "rows")).message(1, Message().number(1, width));
  Message type;
  type.message(1, Message().number(1, kDouble).message(2, shape));
  return Message().text(1, name).message(2, type);
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
  Message graph;
  std::string from = kGraphInput;
  for (size_t l = 0; l < layers.size(); ++l) {
    const DenseLayer& layer = layers[l];
    const std::string number = std::to_string(l), last = l + 1 == layers.size() ? kGraphOutput : "";
    const char* activation = operator_of(layer.activation);
    const std::string sums = activation == nullptr && !last.empty() ? last : "sums" + number;
    Message product;
    product.text(1, from).text(1, "weights" + number);
    if (!layer.biases.empty()) product.text(1, "biases" + number);
    graph.message(1, product.text(2, sums).text(4, layer.biases.empty() ? "MatMul" : "Gemm"));
    from = sums;
    if (activation != nullptr) {
      const std::string to = last.empty() ? "values" + number : last;
      graph.message(1, Message().text(1, from).text(2, to).text(4, activation));
      from = to;
    }
  }
  graph.text(2, "layers");
  for (size_t l = 0; l < layers.size(); ++l) {
    const DenseLayer& layer = layers[l];
    const std::string number = std::to_string(l);
    graph.tensor(5, "weights" + number, {layer.inputs, layer.outputs}, layer.weights);
    if (!layer.biases.empty()) graph.tensor(5, "biases" + number, {layer.outputs}, layer.biases);
  }
  graph.message(11, value_info(kGraphInput, layers.front().inputs));
  graph.message(12, value_info(kGraphOutput, layers.back().outputs));
  Message model;
  model.number(1, kIrVersion).message(7, graph).message(8, Message().text(1, "").number(2, kOpset));
  return model.take();
}

}  // namespace serval::tabular
