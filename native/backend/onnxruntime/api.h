// The part of ONNX Runtime's C ABI that we call, declared here because no package ships the
// official header. Data only, for hot and control plane. OrtApi is append-only by its makers' rule,
// so the functions that we do not call are counted placeholders, and kOrtApiVersion may be older
// than the library. test/native/support/compare_ort_header.mjs compares slots, argument types and
// numbers with an official header. Names are the ABI's, not ours.
// Source: onnxruntime_c_api.h of 1.21 (slots 0-284); 1.24 (slots 390 and 414).
#pragma once

#include <cstddef>
#include <cstdint>

namespace serval::ort {

// All plain slots below exist since 1.16; 1.17 is the oldest library that we request and test.
inline constexpr uint32_t kOrtApiVersion = 17;
// The first version with TensorTypeAndShape_HasShape and GetTensorElementTypeAndShapeDataReference.
inline constexpr uint32_t kOrtShapeApiVersion = 24;

struct OrtAllocator;
struct OrtArenaCfg;
struct OrtCUDAProviderOptionsV2;
struct OrtCustomOp;
struct OrtCustomOpDomain;
struct OrtEnv;
struct OrtIoBinding;
struct OrtKernelContext;
struct OrtKernelInfo;
struct OrtMemoryInfo;
struct OrtModelMetadata;
struct OrtRunOptions;
struct OrtEpAssignedSubgraph;
struct OrtEpAssignedNode;
struct OrtSession;
struct OrtSessionOptions;
struct OrtShapeInferContext;
struct OrtStatus;
struct OrtTensorRTProviderOptionsV2;
struct OrtTensorTypeAndShapeInfo;
struct OrtThreadingOptions;
struct OrtTypeInfo;
struct OrtValue;

enum ONNXTensorElementDataType : int {
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED = 0,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 = 2,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 = 3,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16 = 4,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16 = 5,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 = 6,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 = 7,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING = 8,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL = 9,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 = 10,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE = 11,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32 = 12,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 = 13,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX64 = 14,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_COMPLEX128 = 15,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 = 16,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN = 17,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ = 18,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2 = 19,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ = 20,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4 = 21,
  ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4 = 22,
};

enum ONNXType : int {
  ONNX_TYPE_UNKNOWN = 0,
  ONNX_TYPE_TENSOR = 1,
  ONNX_TYPE_SEQUENCE = 2,
  ONNX_TYPE_MAP = 3,
  ONNX_TYPE_OPAQUE = 4,
  ONNX_TYPE_SPARSETENSOR = 5,
  ONNX_TYPE_OPTIONAL = 6,
};

enum OrtLoggingLevel : int { ORT_LOGGING_LEVEL_ERROR = 3 };

enum OrtErrorCode : int {
  ORT_OK = 0,
  ORT_FAIL = 1,
  ORT_INVALID_ARGUMENT = 2,
  ORT_NO_SUCHFILE = 3,
  ORT_NO_MODEL = 4,
  ORT_ENGINE_ERROR = 5,
  ORT_RUNTIME_EXCEPTION = 6,
  ORT_INVALID_PROTOBUF = 7,
  ORT_MODEL_LOADED = 8,
  ORT_NOT_IMPLEMENTED = 9,
  ORT_INVALID_GRAPH = 10,
  ORT_EP_FAIL = 11,
};

enum GraphOptimizationLevel : int {
  ORT_DISABLE_ALL = 0,
  ORT_ENABLE_BASIC = 1,
  ORT_ENABLE_EXTENDED = 2,
  ORT_ENABLE_ALL = 99,
};

enum ExecutionMode : int { ORT_SEQUENTIAL = 0, ORT_PARALLEL = 1 };
enum OrtAllocatorType : int { OrtDeviceAllocator = 0, OrtArenaAllocator = 1 };
enum OrtMemType : int { OrtMemTypeDefault = 0 };

using OrtLoggingFunction = void (*)(void* param, OrtLoggingLevel severity, const char* category,
                                    const char* logid, const char* code_location,
                                    const char* message);

// A null OrtStatus* means success; any other has to be released by the caller.
struct OrtApi {
  OrtStatus* (*CreateStatus)(OrtErrorCode code, const char* msg);
  OrtErrorCode (*GetErrorCode)(const OrtStatus* status);
  const char* (*GetErrorMessage)(const OrtStatus* status);
  void* slots_3[3];
  OrtStatus* (*DisableTelemetryEvents)(const OrtEnv* env);
  OrtStatus* (*CreateSession)(const OrtEnv* env, const char* model_path,
                              const OrtSessionOptions* options, OrtSession** out);
  OrtStatus* (*CreateSessionFromArray)(const OrtEnv* env, const void* model_data,
                                       size_t model_data_length, const OrtSessionOptions* options,
                                       OrtSession** out);
  OrtStatus* (*Run)(OrtSession* session, const OrtRunOptions* run_options,
                    const char* const* input_names, const OrtValue* const* inputs, size_t input_len,
                    const char* const* output_names, size_t output_names_len, OrtValue** outputs);
  OrtStatus* (*CreateSessionOptions)(OrtSessionOptions** options);
  void* slots_11[2];
  OrtStatus* (*SetSessionExecutionMode)(OrtSessionOptions* options, ExecutionMode execution_mode);
  void* slots_14[2];
  OrtStatus* (*EnableMemPattern)(OrtSessionOptions* options);
  OrtStatus* (*DisableMemPattern)(OrtSessionOptions* options);
  void* slots_18[1];
  OrtStatus* (*DisableCpuMemArena)(OrtSessionOptions* options);
  void* slots_20[3];
  OrtStatus* (*SetSessionGraphOptimizationLevel)(OrtSessionOptions* options,
                                                 GraphOptimizationLevel graph_optimization_level);
  OrtStatus* (*SetIntraOpNumThreads)(OrtSessionOptions* options, int intra_op_num_threads);
  OrtStatus* (*SetInterOpNumThreads)(OrtSessionOptions* options, int inter_op_num_threads);
  OrtStatus* (*CreateCustomOpDomain)(const char* domain, OrtCustomOpDomain** out);
  OrtStatus* (*CustomOpDomain_Add)(OrtCustomOpDomain* custom_op_domain, const OrtCustomOp* op);
  OrtStatus* (*AddCustomOpDomain)(OrtSessionOptions* options, OrtCustomOpDomain* custom_op_domain);
  void* slots_29[1];
  OrtStatus* (*SessionGetInputCount)(const OrtSession* session, size_t* out);
  OrtStatus* (*SessionGetOutputCount)(const OrtSession* session, size_t* out);
  OrtStatus* (*SessionGetOverridableInitializerCount)(const OrtSession* session, size_t* out);
  OrtStatus* (*SessionGetInputTypeInfo)(const OrtSession* session, size_t index,
                                        OrtTypeInfo** type_info);
  OrtStatus* (*SessionGetOutputTypeInfo)(const OrtSession* session, size_t index,
                                         OrtTypeInfo** type_info);
  OrtStatus* (*SessionGetOverridableInitializerTypeInfo)(const OrtSession* session, size_t index,
                                                         OrtTypeInfo** type_info);
  OrtStatus* (*SessionGetInputName)(const OrtSession* session, size_t index,
                                    OrtAllocator* allocator, char** value);
  OrtStatus* (*SessionGetOutputName)(const OrtSession* session, size_t index,
                                     OrtAllocator* allocator, char** value);
  OrtStatus* (*SessionGetOverridableInitializerName)(const OrtSession* session, size_t index,
                                                     OrtAllocator* allocator, char** value);
  OrtStatus* (*CreateRunOptions)(OrtRunOptions** out);
  void* slots_40[6];
  OrtStatus* (*RunOptionsSetTerminate)(OrtRunOptions* options);
  OrtStatus* (*RunOptionsUnsetTerminate)(OrtRunOptions* options);
  OrtStatus* (*CreateTensorAsOrtValue)(OrtAllocator* allocator, const int64_t* shape,
                                       size_t shape_len, ONNXTensorElementDataType type,
                                       OrtValue** out);
  OrtStatus* (*CreateTensorWithDataAsOrtValue)(const OrtMemoryInfo* info, void* p_data,
                                               size_t p_data_len, const int64_t* shape,
                                               size_t shape_len, ONNXTensorElementDataType type,
                                               OrtValue** out);
  void* slots_50[1];
  OrtStatus* (*GetTensorMutableData)(OrtValue* value, void** out);
  void* slots_52[1];
  OrtStatus* (*GetStringTensorDataLength)(const OrtValue* value, size_t* len);
  OrtStatus* (*GetStringTensorContent)(const OrtValue* value, void* s, size_t s_len,
                                       size_t* offsets, size_t offsets_len);
  OrtStatus* (*CastTypeInfoToTensorInfo)(const OrtTypeInfo* type_info,
                                         const OrtTensorTypeAndShapeInfo** out);
  OrtStatus* (*GetOnnxTypeFromTypeInfo)(const OrtTypeInfo* type_info, ONNXType* out);
  void* slots_57[3];
  OrtStatus* (*GetTensorElementType)(const OrtTensorTypeAndShapeInfo* info,
                                     ONNXTensorElementDataType* out);
  OrtStatus* (*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo* info, size_t* out);
  OrtStatus* (*GetDimensions)(const OrtTensorTypeAndShapeInfo* info, int64_t* dim_values,
                              size_t dim_values_length);
  OrtStatus* (*GetSymbolicDimensions)(const OrtTensorTypeAndShapeInfo* info,
                                      const char* dim_params[], size_t dim_params_length);
  void* slots_64[1];
  OrtStatus* (*GetTensorTypeAndShape)(const OrtValue* value, OrtTensorTypeAndShapeInfo** out);
  void* slots_66[2];
  OrtStatus* (*CreateMemoryInfo)(const char* name, OrtAllocatorType type, int id,
                                 OrtMemType mem_type, OrtMemoryInfo** out);
  OrtStatus* (*CreateCpuMemoryInfo)(OrtAllocatorType type, OrtMemType mem_type,
                                    OrtMemoryInfo** out);
  void* slots_70[6];
  OrtStatus* (*AllocatorFree)(OrtAllocator* ort_allocator, void* p);
  void* slots_77[1];
  OrtStatus* (*GetAllocatorWithDefaultOptions)(OrtAllocator** out);
  void* slots_79[6];
  OrtStatus* (*KernelInfoGetAttribute_float)(const OrtKernelInfo* info, const char* name,
                                             float* out);
  OrtStatus* (*KernelInfoGetAttribute_int64)(const OrtKernelInfo* info, const char* name,
                                             int64_t* out);
  OrtStatus* (*KernelInfoGetAttribute_string)(const OrtKernelInfo* info, const char* name,
                                              char* out, size_t* size);
  OrtStatus* (*KernelContext_GetInputCount)(const OrtKernelContext* context, size_t* out);
  OrtStatus* (*KernelContext_GetOutputCount)(const OrtKernelContext* context, size_t* out);
  OrtStatus* (*KernelContext_GetInput)(const OrtKernelContext* context, size_t index,
                                       const OrtValue** out);
  OrtStatus* (*KernelContext_GetOutput)(OrtKernelContext* context, size_t index,
                                        const int64_t* dim_values, size_t dim_count,
                                        OrtValue** out);
  void* slots_92[1];
  void (*ReleaseStatus)(OrtStatus* input);
  void (*ReleaseMemoryInfo)(OrtMemoryInfo* input);
  void (*ReleaseSession)(OrtSession* input);
  void (*ReleaseValue)(OrtValue* input);
  void (*ReleaseRunOptions)(OrtRunOptions* input);
  void (*ReleaseTypeInfo)(OrtTypeInfo* input);
  void (*ReleaseTensorTypeAndShapeInfo)(OrtTensorTypeAndShapeInfo* input);
  void (*ReleaseSessionOptions)(OrtSessionOptions* input);
  void* slots_101[10];
  OrtStatus* (*SessionGetModelMetadata)(const OrtSession* session, OrtModelMetadata** out);
  OrtStatus* (*ModelMetadataGetProducerName)(const OrtModelMetadata* model_metadata,
                                             OrtAllocator* allocator, char** value);
  OrtStatus* (*ModelMetadataGetGraphName)(const OrtModelMetadata* model_metadata,
                                          OrtAllocator* allocator, char** value);
  OrtStatus* (*ModelMetadataGetDomain)(const OrtModelMetadata* model_metadata,
                                       OrtAllocator* allocator, char** value);
  OrtStatus* (*ModelMetadataGetDescription)(const OrtModelMetadata* model_metadata,
                                            OrtAllocator* allocator, char** value);
  OrtStatus* (*ModelMetadataLookupCustomMetadataMap)(const OrtModelMetadata* model_metadata,
                                                     OrtAllocator* allocator, const char* key,
                                                     char** value);
  OrtStatus* (*ModelMetadataGetVersion)(const OrtModelMetadata* model_metadata, int64_t* value);
  void (*ReleaseModelMetadata)(OrtModelMetadata* input);
  void* slots_119[1];
  OrtStatus* (*DisablePerSessionThreads)(OrtSessionOptions* options);
  OrtStatus* (*CreateThreadingOptions)(OrtThreadingOptions** out);
  void (*ReleaseThreadingOptions)(OrtThreadingOptions* input);
  OrtStatus* (*ModelMetadataGetCustomMetadataMapKeys)(const OrtModelMetadata* model_metadata,
                                                      OrtAllocator* allocator, char*** keys,
                                                      int64_t* num_keys);
  void* slots_124[1];
  OrtStatus* (*GetAvailableProviders)(char*** out_ptr, int* provider_length);
  OrtStatus* (*ReleaseAvailableProviders)(char** ptr, int providers_length);
  void* slots_127[3];
  OrtStatus* (*AddSessionConfigEntry)(OrtSessionOptions* options, const char* config_key,
                                      const char* config_value);
  void* slots_131[2];
  OrtStatus* (*RunWithBinding)(OrtSession* session, const OrtRunOptions* run_options,
                               const OrtIoBinding* binding_ptr);
  OrtStatus* (*CreateIoBinding)(OrtSession* session, OrtIoBinding** out);
  void (*ReleaseIoBinding)(OrtIoBinding* input);
  OrtStatus* (*BindInput)(OrtIoBinding* binding_ptr, const char* name, const OrtValue* val_ptr);
  OrtStatus* (*BindOutput)(OrtIoBinding* binding_ptr, const char* name, const OrtValue* val_ptr);
  OrtStatus* (*BindOutputToDevice)(OrtIoBinding* binding_ptr, const char* name,
                                   const OrtMemoryInfo* mem_info_ptr);
  void* slots_139[1];
  OrtStatus* (*GetBoundOutputValues)(const OrtIoBinding* binding_ptr, OrtAllocator* allocator,
                                     OrtValue*** output, size_t* output_count);
  void (*ClearBoundInputs)(OrtIoBinding* binding_ptr);
  void (*ClearBoundOutputs)(OrtIoBinding* binding_ptr);
  void* slots_143[1];
  OrtStatus* (*CreateAndRegisterAllocator)(OrtEnv* env, const OrtMemoryInfo* mem_info,
                                           const OrtArenaCfg* arena_cfg);
  void* slots_145[2];
  OrtStatus* (*SetGlobalIntraOpNumThreads)(OrtThreadingOptions* tp_options,
                                           int intra_op_num_threads);
  OrtStatus* (*SetGlobalInterOpNumThreads)(OrtThreadingOptions* tp_options,
                                           int inter_op_num_threads);
  OrtStatus* (*SetGlobalSpinControl)(OrtThreadingOptions* tp_options, int allow_spinning);
  void* slots_150[1];
  OrtStatus* (*CreateEnvWithCustomLoggerAndGlobalThreadPools)(
      OrtLoggingFunction logging_function, void* logger_param, OrtLoggingLevel log_severity_level,
      const char* logid, const OrtThreadingOptions* tp_options, OrtEnv** out);
  void* slots_152[10];
  OrtStatus* (*KernelInfoGetAttributeArray_float)(const OrtKernelInfo* info, const char* name,
                                                  float* out, size_t* size);
  OrtStatus* (*KernelInfoGetAttributeArray_int64)(const OrtKernelInfo* info, const char* name,
                                                  int64_t* out, size_t* size);
  void* slots_164[1];
  OrtStatus* (*AddRunConfigEntry)(OrtRunOptions* options, const char* config_key,
                                  const char* config_value);
  void* slots_166[4];
  OrtStatus* (*SessionOptionsAppendExecutionProvider_TensorRT_V2)(
      OrtSessionOptions* options, const OrtTensorRTProviderOptionsV2* tensorrt_options);
  OrtStatus* (*CreateTensorRTProviderOptions)(OrtTensorRTProviderOptionsV2** out);
  OrtStatus* (*UpdateTensorRTProviderOptions)(OrtTensorRTProviderOptionsV2* tensorrt_options,
                                              const char* const* provider_options_keys,
                                              const char* const* provider_options_values,
                                              size_t num_keys);
  void* slots_173[1];
  void (*ReleaseTensorRTProviderOptions)(OrtTensorRTProviderOptionsV2* input);
  void* slots_175[29];
  OrtStatus* (*SessionOptionsAppendExecutionProvider_CUDA_V2)(
      OrtSessionOptions* options, const OrtCUDAProviderOptionsV2* cuda_options);
  OrtStatus* (*CreateCUDAProviderOptions)(OrtCUDAProviderOptionsV2** out);
  OrtStatus* (*UpdateCUDAProviderOptions)(OrtCUDAProviderOptionsV2* cuda_options,
                                          const char* const* provider_options_keys,
                                          const char* const* provider_options_values,
                                          size_t num_keys);
  void* slots_207[1];
  void (*ReleaseCUDAProviderOptions)(OrtCUDAProviderOptionsV2* input);
  void* slots_209[1];
  OrtStatus* (*AddExternalInitializers)(OrtSessionOptions* options,
                                        const char* const* initializer_names,
                                        const OrtValue* const* initializers,
                                        size_t num_initializers);
  void* slots_211[5];
  OrtStatus* (*SessionOptionsAppendExecutionProvider)(OrtSessionOptions* options,
                                                      const char* provider_name,
                                                      const char* const* provider_options_keys,
                                                      const char* const* provider_options_values,
                                                      size_t num_keys);
  void* slots_217[13];
  OrtStatus* (*KernelInfo_GetInputCount)(const OrtKernelInfo* info, size_t* out);
  OrtStatus* (*KernelInfo_GetOutputCount)(const OrtKernelInfo* info, size_t* out);
  void* slots_232[2];
  OrtStatus* (*KernelInfo_GetInputTypeInfo)(const OrtKernelInfo* info, size_t index,
                                            OrtTypeInfo** type_info);
  OrtStatus* (*KernelInfo_GetOutputTypeInfo)(const OrtKernelInfo* info, size_t index,
                                             OrtTypeInfo** type_info);
  void* slots_236[8];
  OrtStatus* (*KernelInfo_GetNodeName)(const OrtKernelInfo* info, char* out, size_t* size);
  void* slots_245[7];
  OrtStatus* (*GetResizedStringTensorElementBuffer)(OrtValue* value, size_t index,
                                                    size_t length_in_bytes, char** buffer);
  void* slots_253[21];
  OrtStatus* (*KernelContext_ParallelFor)(const OrtKernelContext* context,
                                          void (*fn)(void*, size_t), size_t total, size_t num_batch,
                                          void* usr_data);
  void* slots_275[4];
  // Since 1.18: only call it through the table of kOrtShapeApiVersion.
  OrtStatus* (*AddExternalInitializersFromFilesInMemory)(OrtSessionOptions* options,
                                                         const char* const* file_names,
                                                         char* const* buffers,
                                                         const size_t* lengths, size_t num_files);
  void* slots_280[110];
  // Since 1.24: only call it through the table of kOrtShapeApiVersion.
  bool (*TensorTypeAndShape_HasShape)(const OrtTensorTypeAndShapeInfo* info);
  void* slots_391[16];
  OrtStatus* (*Session_GetEpGraphAssignmentInfo)(const OrtSession* session,
                                                 const OrtEpAssignedSubgraph* const** ep_subgraphs,
                                                 size_t* num_ep_subgraphs);
  OrtStatus* (*EpAssignedSubgraph_GetEpName)(const OrtEpAssignedSubgraph* ep_subgraph,
                                             const char** out);
  OrtStatus* (*EpAssignedSubgraph_GetNodes)(const OrtEpAssignedSubgraph* ep_subgraph,
                                            const OrtEpAssignedNode* const** ep_nodes,
                                            size_t* num_ep_nodes);
  void* slots_410[4];
  OrtStatus* (*GetTensorElementTypeAndShapeDataReference)(const OrtValue* value,
                                                          ONNXTensorElementDataType* elem_type,
                                                          const int64_t** shape_data,
                                                          size_t* shape_data_count);
};

enum OrtCustomOpInputOutputCharacteristic : int {
  INPUT_OUTPUT_REQUIRED = 0,
  INPUT_OUTPUT_OPTIONAL = 1,
  INPUT_OUTPUT_VARIADIC = 2,
};

// The runtime's view of a custom operator. It reads only the members that `version` covers: up to
// InferOutputShapeFn and GetEndVersion with kOrtApiVersion.
struct OrtCustomOp {
  uint32_t version;
  void* (*CreateKernel)(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info);
  const char* (*GetName)(const OrtCustomOp* op);
  const char* (*GetExecutionProviderType)(const OrtCustomOp* op);
  ONNXTensorElementDataType (*GetInputType)(const OrtCustomOp* op, size_t index);
  size_t (*GetInputTypeCount)(const OrtCustomOp* op);
  ONNXTensorElementDataType (*GetOutputType)(const OrtCustomOp* op, size_t index);
  size_t (*GetOutputTypeCount)(const OrtCustomOp* op);
  void (*KernelCompute)(void* op_kernel, OrtKernelContext* context);
  void (*KernelDestroy)(void* op_kernel);
  OrtCustomOpInputOutputCharacteristic (*GetInputCharacteristic)(const OrtCustomOp* op,
                                                                 size_t index);
  OrtCustomOpInputOutputCharacteristic (*GetOutputCharacteristic)(const OrtCustomOp* op,
                                                                  size_t index);
  OrtMemType (*GetInputMemoryType)(const OrtCustomOp* op, size_t index);
  int (*GetVariadicInputMinArity)(const OrtCustomOp* op);
  int (*GetVariadicInputHomogeneity)(const OrtCustomOp* op);
  int (*GetVariadicOutputMinArity)(const OrtCustomOp* op);
  int (*GetVariadicOutputHomogeneity)(const OrtCustomOp* op);
  OrtStatus* (*CreateKernelV2)(const OrtCustomOp* op, const OrtApi* api, const OrtKernelInfo* info,
                               void** kernel);
  OrtStatus* (*KernelComputeV2)(void* op_kernel, OrtKernelContext* context);
  OrtStatus* (*InferOutputShapeFn)(const OrtCustomOp* op, OrtShapeInferContext* context);
  int (*GetStartVersion)(const OrtCustomOp* op);
  int (*GetEndVersion)(const OrtCustomOp* op);
  size_t (*GetMayInplace)(int** input_index, int** output_index);
  void (*ReleaseMayInplace)(int* input_index, int* output_index);
  size_t (*GetAliasMap)(int** input_index, int** output_index);
  void (*ReleaseAliasMap)(int* input_index, int* output_index);
};

struct OrtApiBase {
  const OrtApi* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

using OrtGetApiBaseFunction = const OrtApiBase* (*)();

}  // namespace serval::ort
