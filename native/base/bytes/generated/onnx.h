// Field numbers and enum values: a namespace for each message and enum. Data for hot and control
// plane, any thread. Generated from proto/wire/onnx.proto by proto/generate-wire.mjs; do not edit.
#pragma once

#include <cstdint>

namespace serval::proto::onnx {

namespace AttributeProto {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kF = 2;
inline constexpr uint32_t kI = 3;
inline constexpr uint32_t kS = 4;
inline constexpr uint32_t kT = 5;
inline constexpr uint32_t kG = 6;
inline constexpr uint32_t kFloats = 7;
inline constexpr uint32_t kInts = 8;
inline constexpr uint32_t kStrings = 9;
inline constexpr uint32_t kTensors = 10;
inline constexpr uint32_t kGraphs = 11;
inline constexpr uint32_t kDocString = 13;
inline constexpr uint32_t kTp = 14;
inline constexpr uint32_t kTypeProtos = 15;
inline constexpr uint32_t kType = 20;
inline constexpr uint32_t kRefAttrName = 21;
inline constexpr uint32_t kSparseTensor = 22;
inline constexpr uint32_t kSparseTensors = 23;
namespace AttributeType {
inline constexpr uint32_t kUndefined = 0;
inline constexpr uint32_t kFloat = 1;
inline constexpr uint32_t kInt = 2;
inline constexpr uint32_t kString = 3;
inline constexpr uint32_t kTensor = 4;
inline constexpr uint32_t kGraph = 5;
inline constexpr uint32_t kFloats = 6;
inline constexpr uint32_t kInts = 7;
inline constexpr uint32_t kStrings = 8;
inline constexpr uint32_t kTensors = 9;
inline constexpr uint32_t kGraphs = 10;
inline constexpr uint32_t kSparseTensor = 11;
inline constexpr uint32_t kSparseTensors = 12;
inline constexpr uint32_t kTypeProto = 13;
inline constexpr uint32_t kTypeProtos = 14;
}  // namespace AttributeType
}  // namespace AttributeProto

namespace ValueInfoProto {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kType = 2;
inline constexpr uint32_t kDocString = 3;
inline constexpr uint32_t kMetadataProps = 4;
}  // namespace ValueInfoProto

namespace NodeProto {
inline constexpr uint32_t kInput = 1;
inline constexpr uint32_t kOutput = 2;
inline constexpr uint32_t kName = 3;
inline constexpr uint32_t kOpType = 4;
inline constexpr uint32_t kAttribute = 5;
inline constexpr uint32_t kDocString = 6;
inline constexpr uint32_t kDomain = 7;
inline constexpr uint32_t kOverload = 8;
inline constexpr uint32_t kMetadataProps = 9;
}  // namespace NodeProto

namespace ModelProto {
inline constexpr uint32_t kIrVersion = 1;
inline constexpr uint32_t kProducerName = 2;
inline constexpr uint32_t kProducerVersion = 3;
inline constexpr uint32_t kDomain = 4;
inline constexpr uint32_t kModelVersion = 5;
inline constexpr uint32_t kDocString = 6;
inline constexpr uint32_t kGraph = 7;
inline constexpr uint32_t kOpsetImport = 8;
inline constexpr uint32_t kMetadataProps = 14;
inline constexpr uint32_t kFunctions = 25;
}  // namespace ModelProto

namespace StringStringEntryProto {
inline constexpr uint32_t kKey = 1;
inline constexpr uint32_t kValue = 2;
}  // namespace StringStringEntryProto

namespace GraphProto {
inline constexpr uint32_t kNode = 1;
inline constexpr uint32_t kName = 2;
inline constexpr uint32_t kInitializer = 5;
inline constexpr uint32_t kDocString = 10;
inline constexpr uint32_t kInput = 11;
inline constexpr uint32_t kOutput = 12;
inline constexpr uint32_t kValueInfo = 13;
inline constexpr uint32_t kSparseInitializer = 15;
inline constexpr uint32_t kMetadataProps = 16;
}  // namespace GraphProto

namespace TensorProto {
inline constexpr uint32_t kDims = 1;
inline constexpr uint32_t kDataType = 2;
inline constexpr uint32_t kFloatData = 4;
inline constexpr uint32_t kInt32Data = 5;
inline constexpr uint32_t kStringData = 6;
inline constexpr uint32_t kInt64Data = 7;
inline constexpr uint32_t kName = 8;
inline constexpr uint32_t kRawData = 9;
inline constexpr uint32_t kDoubleData = 10;
inline constexpr uint32_t kUint64Data = 11;
inline constexpr uint32_t kDocString = 12;
inline constexpr uint32_t kExternalData = 13;
inline constexpr uint32_t kDataLocation = 14;
inline constexpr uint32_t kMetadataProps = 16;
namespace DataType {
inline constexpr uint32_t kUndefined = 0;
inline constexpr uint32_t kFloat = 1;
inline constexpr uint32_t kUint8 = 2;
inline constexpr uint32_t kInt8 = 3;
inline constexpr uint32_t kUint16 = 4;
inline constexpr uint32_t kInt16 = 5;
inline constexpr uint32_t kInt32 = 6;
inline constexpr uint32_t kInt64 = 7;
inline constexpr uint32_t kString = 8;
inline constexpr uint32_t kBool = 9;
inline constexpr uint32_t kFloat16 = 10;
inline constexpr uint32_t kDouble = 11;
inline constexpr uint32_t kUint32 = 12;
inline constexpr uint32_t kUint64 = 13;
inline constexpr uint32_t kComplex64 = 14;
inline constexpr uint32_t kComplex128 = 15;
inline constexpr uint32_t kBfloat16 = 16;
}  // namespace DataType
namespace DataLocation {
inline constexpr uint32_t kDefault = 0;
inline constexpr uint32_t kExternal = 1;
}  // namespace DataLocation
}  // namespace TensorProto

namespace SparseTensorProto {
inline constexpr uint32_t kValues = 1;
inline constexpr uint32_t kIndices = 2;
inline constexpr uint32_t kDims = 3;
}  // namespace SparseTensorProto

namespace TensorShapeProto {
inline constexpr uint32_t kDim = 1;
namespace Dimension {
inline constexpr uint32_t kDimValue = 1;
inline constexpr uint32_t kDimParam = 2;
inline constexpr uint32_t kDenotation = 3;
}  // namespace Dimension
}  // namespace TensorShapeProto

namespace TypeProto {
inline constexpr uint32_t kTensorType = 1;
inline constexpr uint32_t kSequenceType = 4;
inline constexpr uint32_t kMapType = 5;
inline constexpr uint32_t kSparseTensorType = 8;
inline constexpr uint32_t kOptionalType = 9;
inline constexpr uint32_t kDenotation = 6;
namespace Tensor {
inline constexpr uint32_t kElemType = 1;
inline constexpr uint32_t kShape = 2;
}  // namespace Tensor
namespace Sequence {
inline constexpr uint32_t kElemType = 1;
}  // namespace Sequence
namespace Map {
inline constexpr uint32_t kKeyType = 1;
inline constexpr uint32_t kValueType = 2;
}  // namespace Map
namespace Optional {
inline constexpr uint32_t kElemType = 1;
}  // namespace Optional
namespace SparseTensor {
inline constexpr uint32_t kElemType = 1;
inline constexpr uint32_t kShape = 2;
}  // namespace SparseTensor
}  // namespace TypeProto

namespace OperatorSetIdProto {
inline constexpr uint32_t kDomain = 1;
inline constexpr uint32_t kVersion = 2;
}  // namespace OperatorSetIdProto

namespace FunctionProto {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kInput = 4;
inline constexpr uint32_t kOutput = 5;
inline constexpr uint32_t kAttribute = 6;
inline constexpr uint32_t kNode = 7;
inline constexpr uint32_t kDocString = 8;
inline constexpr uint32_t kOpsetImport = 9;
inline constexpr uint32_t kDomain = 10;
inline constexpr uint32_t kAttributeProto = 11;
inline constexpr uint32_t kValueInfo = 12;
inline constexpr uint32_t kOverload = 13;
inline constexpr uint32_t kMetadataProps = 14;
}  // namespace FunctionProto

}  // namespace serval::proto::onnx
