// Reads the fields of a node. Control plane: once per kernel.
#include "operators/protos/fields.h"

#include "base/bytes/generated/onnx.h"

namespace serval::operators::protos {

namespace {

// The dtypes of fields by ONNX's element type numbers.
DType dtype_of(int64_t onnx) {
  namespace DataType = proto::onnx::TensorProto::DataType;
  switch (onnx) {
    case DataType::kFloat: return DType::Fp32;
    case DataType::kInt32: return DType::Int32;
    case DataType::kInt64: return DType::Int64;
    case DataType::kString: return DType::Bytes;
    case DataType::kBool: return DType::Bool;
    case DataType::kDouble: return DType::Fp64;
    case DataType::kUint32: return DType::Uint32;
    case DataType::kUint64: return DType::Uint64;
    default: return DType::Invalid;
  }
}

}  // namespace

Wire wire_of(Type type) {
  switch (type) {
    case Type::Double:
    case Type::Fixed64:
    case Type::Sfixed64: return Wire::Bits64;
    case Type::Float:
    case Type::Fixed32:
    case Type::Sfixed32: return Wire::Bits32;
    case Type::String:
    case Type::Message:
    case Type::Bytes: return Wire::Bytes;
    case Type::Group: return Wire::Group;
    default: return Wire::Varint;
  }
}

Result<std::vector<Field>> read_fields(const KernelAttributes& attributes) {
  const std::vector<int64_t> numbers = attributes.integers("numbers");
  const std::vector<int64_t> types = attributes.integers("types");
  const std::vector<int64_t> repeated = attributes.integers("repeated");
  const std::vector<int64_t> packed = attributes.integers("packed");
  const std::vector<int64_t> dtypes = attributes.integers("dtypes");
  Result<std::vector<std::string>> defaults = attributes.texts("defaults");
  if (!defaults.ok()) return std::move(defaults.error());
  const size_t count = numbers.size();
  for (const size_t size :
       {types.size(), repeated.size(), packed.size(), dtypes.size(), defaults.value().size()}) {
    if (size != count) {
      return model_invalid("expected " + std::to_string(count) +
                           " fields in every attribute, got " + std::to_string(size));
    }
  }
  std::vector<Field> fields;
  for (size_t i = 0; i < count; ++i) {
    const DType dtype = dtype_of(dtypes[i]);
    const bool known = types[i] >= 1 && types[i] <= 18 && numbers[i] > 0 &&
                       numbers[i] < (int64_t{1} << 29) && dtype != DType::Invalid;
    const bool fits = dtype == DType::Bytes || defaults.value()[i].size() == dtype_bytes(dtype);
    if (!known || !fits) {
      return model_invalid("field " + std::to_string(i) + ": expected a field of a message, got " +
                           "number " + std::to_string(numbers[i]) + " of type " +
                           std::to_string(types[i]));
    }
    fields.push_back({static_cast<uint32_t>(numbers[i]), static_cast<Type>(types[i]),
                      repeated[i] != 0, packed[i] != 0, dtype, std::move(defaults.value()[i])});
  }
  return fields;
}

}  // namespace serval::operators::protos
