// Reads signature and metadata from a session. Control plane.
#include "backend/onnxruntime/signature.h"

#include <algorithm>

#include "backend/onnxruntime/error.h"
#include "base/limits.h"

namespace serval::ort {
namespace {

const char* value_kind(ONNXType type) {
  switch (type) {
    case ONNX_TYPE_TENSOR: return "tensor";
    case ONNX_TYPE_SEQUENCE: return "sequence";
    case ONNX_TYPE_MAP: return "map";
    case ONNX_TYPE_OPAQUE: return "opaque";
    case ONNX_TYPE_SPARSETENSOR: return "sparse tensor";
    case ONNX_TYPE_OPTIONAL: return "optional";
    case ONNX_TYPE_UNKNOWN: break;
  }
  return "unknown";
}

// A name for element types without a dtype here.
std::string element_type_name(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64: return "complex64";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128: return "complex128";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN: return "float8e4m3fn";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ: return "float8e4m3fnuz";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2: return "float8e5m2";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ: return "float8e5m2fnuz";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4: return "uint4";
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4: return "int4";
    default: break;
  }
  // Newer than the API version that we request: numbers of ONNX Runtime 1.30.
  constexpr std::string_view kNewer[] = {"float4e2m1", "uint2", "int2"};
  const int number = static_cast<int>(type);
  const auto after = static_cast<size_t>(number - ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4 - 1);
  return after < std::size(kNewer) ? std::string(kNewer[after])
                                   : "number " + std::to_string(number);
}

Error signature_invalid(std::string message) {
  return make_error(ErrorCode::ModelInvalid, std::move(message));
}

// Copies and frees text that the runtime allocated. Null is "".
std::string take_text(const OrtRuntime& runtime, char* text) {
  if (text == nullptr) return {};
  std::string copy = text;
  OrtStatus* status = runtime.api->AllocatorFree(runtime.allocator, text);
  drop_status(*runtime.api, status);
  return copy;
}

// One row of the runtime's table of inputs or of outputs.
struct Side {
  const char* word;
  decltype(OrtApi::SessionGetInputCount) OrtApi::*count;
  decltype(OrtApi::SessionGetInputName) OrtApi::*name;
  decltype(OrtApi::SessionGetInputTypeInfo) OrtApi::*type;
};
constexpr Side kInputs = {"input", &OrtApi::SessionGetInputCount, &OrtApi::SessionGetInputName,
                          &OrtApi::SessionGetInputTypeInfo};
constexpr Side kOutputs = {"output", &OrtApi::SessionGetOutputCount, &OrtApi::SessionGetOutputName,
                           &OrtApi::SessionGetOutputTypeInfo};
// Inputs that are also initializers. The runtime lists them separately, for models since IR version
// 4.
constexpr Side kDefaults = {"input", &OrtApi::SessionGetOverridableInitializerCount,
                            &OrtApi::SessionGetOverridableInitializerName,
                            &OrtApi::SessionGetOverridableInitializerTypeInfo};

OrtStatus* read_dims(const OrtRuntime& runtime, const OrtTensorTypeAndShapeInfo* shape,
                     TensorSpec& spec) {
  const OrtApi& api = *runtime.api;
  size_t rank = 0;
  OrtStatus* status = api.GetDimensionsCount(shape, &rank);
  if (status != nullptr) return status;
  spec.unknown_rank = runtime.has_shape_calls ? !api.TensorTypeAndShape_HasShape(shape) : rank == 0;
  if (spec.unknown_rank || rank == 0) return nullptr;
  spec.dims.resize(rank);
  std::vector<const char*> symbols(rank, nullptr);
  status = api.GetDimensions(shape, spec.dims.data(), rank);
  if (status == nullptr) status = api.GetSymbolicDimensions(shape, symbols.data(), rank);
  for (size_t i = 0; i < rank; ++i) {
    spec.dims[i] = std::max<int64_t>(spec.dims[i], -1);
    spec.symbols.emplace_back(symbols[i] == nullptr ? "" : symbols[i]);
  }
  return status;
}

// The advice for a tensor that no protocol can carry.
std::string instead_of(ONNXType kind, bool input) {
  if (input) {
    return kind == ONNX_TYPE_OPTIONAL
               ? "; change the model to accept optional(tensor), or a tensor "
                 "with a default (an initializer of its name)"
               : "; change the model to accept a tensor and create the " +
                     std::string(value_kind(kind)) + " from it (SplitToSequence)";
  }
  return "; change the model to return tensors (ConcatFromSequence, SequenceAt or "
         "OptionalGetElement "
         "after it; skl2onnx and onnxmltools: options={'zipmap': False} or zipmap=False)";
}

// The properties of one tensor. If `kind` is not tensor, the rest is not read.
struct ReadTensor {
  TensorSpec spec;
  ONNXType kind = ONNX_TYPE_UNKNOWN;
};

// For a type of optional(tensor), returns the tensor's type in `contained`, which owns it; else
// leaves `contained` empty. Requests send the tensor itself, or omit the input.
OrtStatus* read_contained(const OrtApi& api, const OrtTypeInfo* type, TypeInfoHandle& contained) {
  const OrtOptionalTypeInfo* optional = nullptr;  // owned by `type`
  OrtStatus* failed = api.CastTypeInfoToOptionalTypeInfo(type, &optional);
  if (failed != nullptr || optional == nullptr) return failed;
  failed = api.GetOptionalContainedTypeInfo(optional, contained.out());
  if (failed != nullptr) return failed;
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  failed = api.GetOnnxTypeFromTypeInfo(contained.get(), &kind);
  if (failed == nullptr && kind != ONNX_TYPE_TENSOR) contained.reset();
  return failed;
}

// Reads tensor `index`. `failed` receives a failed call's status; an unsupported element type is an
// error.
Status read_tensor(const OrtRuntime& runtime, const OrtSession& session, const Side& side,
                   size_t index, ReadTensor& read) {
  const OrtApi& api = *runtime.api;
  TensorSpec& spec = read.spec;
  const std::string place = std::string(side.word) + " " + std::to_string(index);
  char* name = nullptr;
  OrtStatus* failed = (api.*side.name)(&session, index, runtime.allocator, &name);
  if (failed != nullptr) return take_error(api, failed, ErrorCode::ModelInvalid, place);
  spec.name = take_text(runtime, name);
  const std::string what = std::string(side.word) + " \"" + spec.name + "\"";

  TypeInfoHandle type(&api);
  failed = (api.*side.type)(&session, index, type.out());
  if (failed == nullptr) failed = api.GetOnnxTypeFromTypeInfo(type.get(), &read.kind);
  TypeInfoHandle contained(&api);
  if (failed == nullptr && read.kind == ONNX_TYPE_OPTIONAL && &side == &kInputs) {
    failed = read_contained(api, type.get(), contained);
  }
  if (failed != nullptr) return take_error(api, failed, ErrorCode::ModelInvalid, what);
  if (contained.get() != nullptr) {
    read.kind = ONNX_TYPE_TENSOR;
    spec.may_be_absent = true;
  }
  if (read.kind != ONNX_TYPE_TENSOR) return ok_status();
  const OrtTypeInfo* tensor = contained.get() != nullptr ? contained.get() : type.get();
  const OrtTensorTypeAndShapeInfo* shape = nullptr;  // owned by `tensor`
  ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  failed = api.CastTypeInfoToTensorInfo(tensor, &shape);
  if (failed == nullptr) failed = api.GetTensorElementType(shape, &element);
  if (failed == nullptr) failed = read_dims(runtime, shape, spec);
  if (failed != nullptr) return take_error(api, failed, ErrorCode::ModelInvalid, what);
  spec.dtype = dtype_of(element);
  if (spec.dtype == DType::Invalid) {
    const bool complex = element == ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64 ||
                         element == ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128;
    const std::string instead = complex ? "real and imaginary parts as floats"
                                        : "a supported type, and a Cast inside the model";
    return signature_invalid(what + " has element type " + element_type_name(element) +
                             ", which is not served; expected " + instead);
  }
  if (spec.dims.size() > kRankMax) {
    return signature_invalid(what + " has rank " + std::to_string(spec.dims.size()) + "; at most " +
                             std::to_string(kRankMax) + " is served");
  }
  return ok_status();
}

// Reads the number of tensors.
Status count_of(const OrtRuntime& runtime, const OrtSession& session, const Side& side,
                size_t& count) {
  OrtStatus* failed = (runtime.api->*side.count)(&session, &count);
  if (failed == nullptr) return ok_status();
  return take_error(*runtime.api, failed, ErrorCode::ModelInvalid, side.word);
}

Status read_inputs(const OrtRuntime& runtime, const OrtSession& session,
                   std::vector<TensorSpec>& specs) {
  size_t count = 0;
  std::vector<TensorSpec> optional;
  Status status = count_of(runtime, session, kInputs, count);
  for (size_t i = 0; status.ok() && i < count; ++i) {
    ReadTensor read;
    status = read_tensor(runtime, session, kInputs, i, read);
    if (status.ok() && read.kind != ONNX_TYPE_TENSOR) {
      return signature_invalid("input \"" + read.spec.name + "\" is of type " +
                               value_kind(read.kind) + "; only tensors are served" +
                               instead_of(read.kind, true));
    }
    (read.spec.may_be_absent ? optional : specs).push_back(std::move(read.spec));
  }
  std::ranges::move(optional, std::back_inserter(specs));
  return status;
}

// A default of a type that no client can send is always used.
Status read_defaults(const OrtRuntime& runtime, const OrtSession& session,
                     std::vector<TensorSpec>& specs) {
  size_t count = 0;
  Status status = count_of(runtime, session, kDefaults, count);
  for (size_t i = 0; status.ok() && i < count; ++i) {
    ReadTensor read;
    if (!read_tensor(runtime, session, kDefaults, i, read).ok()) continue;
    read.spec.may_be_absent = true;
    if (read.kind == ONNX_TYPE_TENSOR) specs.push_back(std::move(read.spec));
  }
  return status;
}

// Outputs that are not tensors are omitted if there are others.
Status read_outputs(const OrtRuntime& runtime, const OrtSession& session,
                    std::vector<TensorSpec>& specs, std::vector<std::string>& notes) {
  size_t count = 0;
  Status status = count_of(runtime, session, kOutputs, count);
  for (size_t i = 0; status.ok() && i < count; ++i) {
    ReadTensor read;
    status = read_tensor(runtime, session, kOutputs, i, read);
    if (!status.ok()) return status;
    if (read.kind == ONNX_TYPE_TENSOR) {
      specs.push_back(std::move(read.spec));
      continue;
    }
    notes.push_back("output \"" + read.spec.name + "\" is of type " + value_kind(read.kind) +
                    "; only tensors are served" + instead_of(read.kind, false));
  }
  if (!status.ok() || !specs.empty() || notes.empty()) return status;
  return signature_invalid(std::move(notes.front()));
}

// Reads the pairs of the custom metadata map. Always frees the runtime's keys.
OrtStatus* read_pairs(const OrtRuntime& runtime, const OrtModelMetadata* metadata,
                      BackendModelInfo& info) {
  const OrtApi& api = *runtime.api;
  char** keys = nullptr;
  int64_t count = 0;
  OrtStatus* failed =
      api.ModelMetadataGetCustomMetadataMapKeys(metadata, runtime.allocator, &keys, &count);
  if (failed != nullptr || keys == nullptr) return failed;
  for (int64_t i = 0; i < count; ++i) {
    std::string key = take_text(runtime, keys[i]);
    if (failed != nullptr) continue;
    char* value = nullptr;
    failed =
        api.ModelMetadataLookupCustomMetadataMap(metadata, runtime.allocator, key.c_str(), &value);
    if (failed == nullptr) info.metadata.emplace_back(std::move(key), take_text(runtime, value));
  }
  OrtStatus* freed = api.AllocatorFree(runtime.allocator, keys);
  drop_status(api, freed);
  std::sort(info.metadata.begin(), info.metadata.end());
  return failed;
}

}  // namespace

DType dtype_of(ONNXTensorElementDataType type) { return dtype_from_onnx(type); }

ONNXTensorElementDataType element_type_of(DType dtype) {
  return static_cast<ONNXTensorElementDataType>(dtype_onnx(dtype));
}

Result<Signature> read_signature(const OrtRuntime& runtime, const OrtSession& session,
                                 std::vector<std::string>& notes) {
  Signature signature;
  signature.name = "serving_default";
  Status status = read_inputs(runtime, session, signature.inputs);
  if (status.ok()) status = read_defaults(runtime, session, signature.inputs);
  if (status.ok()) status = read_outputs(runtime, session, signature.outputs, notes);
  if (!status.ok()) return std::move(status.error());
  return signature;
}

Status read_metadata(const OrtRuntime& runtime, const OrtSession& session, BackendModelInfo& info) {
  const OrtApi& api = *runtime.api;
  MetadataHandle metadata(&api);
  OrtStatus* failed = api.SessionGetModelMetadata(&session, metadata.out());
  const auto read = [&](auto call, std::string& text) {
    char* value = nullptr;
    if (failed == nullptr) failed = (api.*call)(metadata.get(), runtime.allocator, &value);
    text = take_text(runtime, value);
  };
  read(&OrtApi::ModelMetadataGetProducerName, info.producer);
  read(&OrtApi::ModelMetadataGetGraphName, info.graph_name);
  read(&OrtApi::ModelMetadataGetDescription, info.description);
  read(&OrtApi::ModelMetadataGetDomain, info.domain);
  if (failed == nullptr) failed = api.ModelMetadataGetVersion(metadata.get(), &info.model_version);
  if (failed == nullptr) failed = read_pairs(runtime, metadata.get(), info);
  if (failed != nullptr) return take_error(api, failed, ErrorCode::ModelInvalid, "metadata");
  return ok_status();
}

}  // namespace serval::ort
