// Field numbers and enum values: a namespace for each message and enum. Data for hot and control
// plane, any thread. Generated from proto/wire/tensorflow.proto by proto/generate-wire.mjs; do not edit.
#pragma once

#include <cstdint>

namespace serval::proto::tensorflow {

namespace DataType {
inline constexpr uint32_t kDtInvalid = 0;
inline constexpr uint32_t kDtFloat = 1;
inline constexpr uint32_t kDtDouble = 2;
inline constexpr uint32_t kDtInt32 = 3;
inline constexpr uint32_t kDtUint8 = 4;
inline constexpr uint32_t kDtInt16 = 5;
inline constexpr uint32_t kDtInt8 = 6;
inline constexpr uint32_t kDtString = 7;
inline constexpr uint32_t kDtComplex64 = 8;
inline constexpr uint32_t kDtInt64 = 9;
inline constexpr uint32_t kDtBool = 10;
inline constexpr uint32_t kDtQint8 = 11;
inline constexpr uint32_t kDtQuint8 = 12;
inline constexpr uint32_t kDtQint32 = 13;
inline constexpr uint32_t kDtBfloat16 = 14;
inline constexpr uint32_t kDtQint16 = 15;
inline constexpr uint32_t kDtQuint16 = 16;
inline constexpr uint32_t kDtUint16 = 17;
inline constexpr uint32_t kDtComplex128 = 18;
inline constexpr uint32_t kDtHalf = 19;
inline constexpr uint32_t kDtResource = 20;
inline constexpr uint32_t kDtVariant = 21;
inline constexpr uint32_t kDtUint32 = 22;
inline constexpr uint32_t kDtUint64 = 23;
inline constexpr uint32_t kDtFloat8E5m2 = 24;
inline constexpr uint32_t kDtFloat8E4m3fn = 25;
inline constexpr uint32_t kDtFloat8E4m3fnuz = 26;
inline constexpr uint32_t kDtFloat8E4m3b11fnuz = 27;
inline constexpr uint32_t kDtFloat8E5m2fnuz = 28;
inline constexpr uint32_t kDtInt4 = 29;
inline constexpr uint32_t kDtUint4 = 30;
inline constexpr uint32_t kDtInt2 = 31;
inline constexpr uint32_t kDtUint2 = 32;
inline constexpr uint32_t kDtFloatRef = 101;
inline constexpr uint32_t kDtDoubleRef = 102;
inline constexpr uint32_t kDtInt32Ref = 103;
inline constexpr uint32_t kDtUint8Ref = 104;
inline constexpr uint32_t kDtInt16Ref = 105;
inline constexpr uint32_t kDtInt8Ref = 106;
inline constexpr uint32_t kDtStringRef = 107;
inline constexpr uint32_t kDtComplex64Ref = 108;
inline constexpr uint32_t kDtInt64Ref = 109;
inline constexpr uint32_t kDtBoolRef = 110;
inline constexpr uint32_t kDtQint8Ref = 111;
inline constexpr uint32_t kDtQuint8Ref = 112;
inline constexpr uint32_t kDtQint32Ref = 113;
inline constexpr uint32_t kDtBfloat16Ref = 114;
inline constexpr uint32_t kDtQint16Ref = 115;
inline constexpr uint32_t kDtQuint16Ref = 116;
inline constexpr uint32_t kDtUint16Ref = 117;
inline constexpr uint32_t kDtComplex128Ref = 118;
inline constexpr uint32_t kDtHalfRef = 119;
inline constexpr uint32_t kDtResourceRef = 120;
inline constexpr uint32_t kDtVariantRef = 121;
inline constexpr uint32_t kDtUint32Ref = 122;
inline constexpr uint32_t kDtUint64Ref = 123;
inline constexpr uint32_t kDtFloat8E5m2Ref = 124;
inline constexpr uint32_t kDtFloat8E4m3fnRef = 125;
inline constexpr uint32_t kDtFloat8E4m3fnuzRef = 126;
inline constexpr uint32_t kDtFloat8E4m3b11fnuzRef = 127;
inline constexpr uint32_t kDtFloat8E5m2fnuzRef = 128;
inline constexpr uint32_t kDtInt4Ref = 129;
inline constexpr uint32_t kDtUint4Ref = 130;
inline constexpr uint32_t kDtInt2Ref = 131;
inline constexpr uint32_t kDtUint2Ref = 132;
}  // namespace DataType

namespace TensorShapeProto {
inline constexpr uint32_t kDim = 2;
inline constexpr uint32_t kUnknownRank = 3;
namespace Dim {
inline constexpr uint32_t kSize = 1;
inline constexpr uint32_t kName = 2;
}  // namespace Dim
}  // namespace TensorShapeProto

namespace TensorProto {
inline constexpr uint32_t kDtype = 1;
inline constexpr uint32_t kTensorShape = 2;
inline constexpr uint32_t kVersionNumber = 3;
inline constexpr uint32_t kTensorContent = 4;
inline constexpr uint32_t kFloatVal = 5;
inline constexpr uint32_t kDoubleVal = 6;
inline constexpr uint32_t kIntVal = 7;
inline constexpr uint32_t kStringVal = 8;
inline constexpr uint32_t kScomplexVal = 9;
inline constexpr uint32_t kInt64Val = 10;
inline constexpr uint32_t kBoolVal = 11;
inline constexpr uint32_t kDcomplexVal = 12;
inline constexpr uint32_t kHalfVal = 13;
inline constexpr uint32_t kResourceHandleVal = 14;
inline constexpr uint32_t kVariantVal = 15;
inline constexpr uint32_t kUint32Val = 16;
inline constexpr uint32_t kUint64Val = 17;
inline constexpr uint32_t kFloat8Val = 18;
}  // namespace TensorProto

namespace NamedTensorProto {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kTensor = 2;
}  // namespace NamedTensorProto

namespace BytesList {
inline constexpr uint32_t kValue = 1;
}  // namespace BytesList

namespace FloatList {
inline constexpr uint32_t kValue = 1;
}  // namespace FloatList

namespace Int64List {
inline constexpr uint32_t kValue = 1;
}  // namespace Int64List

namespace Feature {
inline constexpr uint32_t kBytesList = 1;
inline constexpr uint32_t kFloatList = 2;
inline constexpr uint32_t kInt64List = 3;
}  // namespace Feature

namespace Features {
inline constexpr uint32_t kFeature = 1;
}  // namespace Features

namespace Example {
inline constexpr uint32_t kFeatures = 1;
}  // namespace Example

namespace TensorInfo {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kCooSparse = 4;
inline constexpr uint32_t kCompositeTensor = 5;
inline constexpr uint32_t kDtype = 2;
inline constexpr uint32_t kTensorShape = 3;
namespace CooSparse {
inline constexpr uint32_t kValuesTensorName = 1;
inline constexpr uint32_t kIndicesTensorName = 2;
inline constexpr uint32_t kDenseShapeTensorName = 3;
}  // namespace CooSparse
namespace CompositeTensor {
inline constexpr uint32_t kTypeSpec = 1;
inline constexpr uint32_t kComponents = 2;
}  // namespace CompositeTensor
}  // namespace TensorInfo

namespace SignatureDef {
inline constexpr uint32_t kInputs = 1;
inline constexpr uint32_t kOutputs = 2;
inline constexpr uint32_t kMethodName = 3;
inline constexpr uint32_t kDefaults = 4;
}  // namespace SignatureDef

namespace RunOptions {
inline constexpr uint32_t kTimeoutInMs = 2;
}  // namespace RunOptions

}  // namespace serval::proto::tensorflow
