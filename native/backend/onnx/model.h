// A ModelProto as bytes: nodes, attributes and tensors are read in place, and a changed graph is
// written as the fields of the old one with some of them replaced. Control plane, the loading
// thread. Everything borrows the model's bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes/generated/onnx.h"
#include "base/bytes/wire_writer.h"

namespace serval::ort {

using Bytes = std::span<const uint8_t>;

// The messages that are read and written.
namespace AttributeProto = proto::onnx::AttributeProto;
namespace FunctionProto = proto::onnx::FunctionProto;
namespace GraphProto = proto::onnx::GraphProto;
namespace ModelProto = proto::onnx::ModelProto;
namespace NodeProto = proto::onnx::NodeProto;
namespace OperatorSetIdProto = proto::onnx::OperatorSetIdProto;
namespace TensorProto = proto::onnx::TensorProto;
namespace TensorShapeProto = proto::onnx::TensorShapeProto;
namespace TypeProto = proto::onnx::TypeProto;
namespace ValueInfoProto = proto::onnx::ValueInfoProto;

// TensorProto.DataType, as far as types are compared by name.
enum class OnnxType : int32_t {
  Unknown = TensorProto::DataType::kUndefined,
  Float = TensorProto::DataType::kFloat,
  Uint8 = TensorProto::DataType::kUint8,
  Int8 = TensorProto::DataType::kInt8,
  Uint16 = TensorProto::DataType::kUint16,
  Int16 = TensorProto::DataType::kInt16,
  Int32 = TensorProto::DataType::kInt32,
  Int64 = TensorProto::DataType::kInt64,
  String = TensorProto::DataType::kString,
  Bool = TensorProto::DataType::kBool,
  Float16 = TensorProto::DataType::kFloat16,
  Double = TensorProto::DataType::kDouble,
  Uint32 = TensorProto::DataType::kUint32,
  Uint64 = TensorProto::DataType::kUint64,
  Complex64 = TensorProto::DataType::kComplex64,
  Complex128 = TensorProto::DataType::kComplex128,
  Bfloat16 = TensorProto::DataType::kBfloat16,
};

// A TensorProto. Values are only read on demand.
struct OnnxTensor {
  std::string_view name;
  OnnxType type = OnnxType::Unknown;
  std::vector<int64_t> dims;
  Bytes raw;
  bool external = false;
  std::string_view location;  // external: file, and the range in it (length 0: to its end)
  uint64_t offset = 0, length = 0;
  std::string_view bad_entry;  // the first external_data entry that is not a number
  Bytes bytes;                 // the whole message
};

struct OnnxAttribute {
  std::string_view name, text;
  std::string_view reference;  // in a function: the attribute of the call that it refers to
  int64_t integer = 0;
  int32_t type = 0;  // AttributeProto.AttributeType
  std::optional<Bytes> tensor, graph;
  std::vector<int64_t> integers;
  std::vector<Bytes> graphs, tensors;
  Bytes bytes;  // the whole message
};

struct OnnxNode {
  std::string_view name, op, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<OnnxAttribute> attributes;
  Bytes bytes;  // the whole message

  bool is_onnx() const { return domain.empty() || domain == "ai.onnx"; }
  bool has_input(size_t index) const { return index < inputs.size() && !inputs[index].empty(); }
  const OnnxAttribute* attribute(std::string_view wanted) const {
    for (const OnnxAttribute& entry : attributes) {
      if (entry.name == wanted) return &entry;
    }
    return nullptr;
  }
  int64_t integer(std::string_view wanted, int64_t fallback) const {
    const OnnxAttribute* found = attribute(wanted);
    return found == nullptr ? fallback : found->integer;
  }
};

// A ValueInfoProto of a tensor. A dim that is not a number is -1; no dims: the rank is unknown.
struct OnnxValue {
  std::string_view name;
  OnnxType type = OnnxType::Unknown;
  std::optional<std::vector<int64_t>> dims;
  std::vector<std::string_view> symbols;  // per dim, "" if it has none
  Bytes type_bytes;                       // the TypeProto
};

// Each returns false if the bytes are not such a message.
bool read_node(Bytes bytes, OnnxNode& node);
bool read_tensor(Bytes bytes, OnnxTensor& tensor);
bool read_value(Bytes bytes, OnnxValue& value);
// A text field.
inline std::string_view text_of(const WireField& field) {
  return {reinterpret_cast<const char*>(field.bytes.data()), field.bytes.size()};
}
// The values of an integer tensor that is stored in the model; false if it is not one.
bool read_integers(const OnnxTensor& tensor, std::vector<int64_t>& values);

// Calls visit(field) for each field of a message; false if the bytes are malformed, or visit
// returned false.
template <typename Visit>
bool for_fields(Bytes message, Visit visit) {
  WireFault fault;
  WireReader reader(message, message.data(), fault);
  WireField field;
  while (reader.next(field)) {
    if (!visit(field)) return false;
  }
  return fault.reason == nullptr;
}

// How to treat a tensor whose values are in another file.
enum class ExternalUse : uint8_t { Keep, Inline, Fail };

// Visits every tensor with external data: initializers, attributes, those of bodies and functions.
// `use` receives it, whether it is an initializer of the model's own graph, and where to put its
// bytes for Inline. `out`: the model with the inlined bytes; null: nothing is written. False: the
// bytes are not a model, or `use` failed.
using UseExternal =
    std::function<ExternalUse(const OnnxTensor& tensor, bool initializer, std::string& raw)>;
bool visit_external(Bytes model, const UseExternal& use, std::string* out);

// Calls visit(NodeProto) for each node of a model: of its graph, their bodies and its functions.
// Only reads the messages that lead to nodes, and skips the rest: weights above all. False: the
// bytes are malformed, or visit returned false.
bool visit_nodes(Bytes model, const std::function<bool(Bytes node)>& visit);

// A message under construction.
class OnnxWriter {
 public:
  OnnxWriter& bytes(uint32_t number, std::string_view value);
  OnnxWriter& bytes(uint32_t number, Bytes value);
  OnnxWriter& integer(uint32_t number, int64_t value);
  // Copies a field unchanged.
  OnnxWriter& field(const WireField& field);
  const std::string& str() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

 private:
  WireWriter room(uint64_t count);
  std::string bytes_;
};

inline Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Make AttributeProtos.
std::string integer_attribute(std::string_view name, int64_t value);
std::string text_attribute(std::string_view name, std::string_view value);
std::string integers_attribute(std::string_view name, std::span<const int64_t> values);

}  // namespace serval::ort
