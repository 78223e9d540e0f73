// Field numbers and enum values: a namespace for each message and enum. Data for hot and control
// plane, any thread. Generated from proto/wire/inference.proto by proto/generate-wire.mjs; do not edit.
#pragma once

#include <cstdint>

namespace serval::proto::inference {

namespace ServerLiveResponse {
inline constexpr uint32_t kLive = 1;
}  // namespace ServerLiveResponse

namespace ServerReadyResponse {
inline constexpr uint32_t kReady = 1;
}  // namespace ServerReadyResponse

namespace ModelReadyRequest {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kVersion = 2;
}  // namespace ModelReadyRequest

namespace ModelReadyResponse {
inline constexpr uint32_t kReady = 1;
}  // namespace ModelReadyResponse

namespace ServerMetadataResponse {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kVersion = 2;
inline constexpr uint32_t kExtensions = 3;
}  // namespace ServerMetadataResponse

namespace ModelMetadataRequest {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kVersion = 2;
}  // namespace ModelMetadataRequest

namespace ModelMetadataResponse {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kVersions = 2;
inline constexpr uint32_t kPlatform = 3;
inline constexpr uint32_t kInputs = 4;
inline constexpr uint32_t kOutputs = 5;
inline constexpr uint32_t kProperties = 6;
namespace TensorMetadata {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kDatatype = 2;
inline constexpr uint32_t kShape = 3;
}  // namespace TensorMetadata
}  // namespace ModelMetadataResponse

namespace InferParameter {
inline constexpr uint32_t kBoolParam = 1;
inline constexpr uint32_t kInt64Param = 2;
inline constexpr uint32_t kStringParam = 3;
inline constexpr uint32_t kDoubleParam = 4;
inline constexpr uint32_t kUint64Param = 5;
}  // namespace InferParameter

namespace InferTensorContents {
inline constexpr uint32_t kBoolContents = 1;
inline constexpr uint32_t kIntContents = 2;
inline constexpr uint32_t kInt64Contents = 3;
inline constexpr uint32_t kUintContents = 4;
inline constexpr uint32_t kUint64Contents = 5;
inline constexpr uint32_t kFp32Contents = 6;
inline constexpr uint32_t kFp64Contents = 7;
inline constexpr uint32_t kBytesContents = 8;
}  // namespace InferTensorContents

namespace ModelInferRequest {
inline constexpr uint32_t kModelName = 1;
inline constexpr uint32_t kModelVersion = 2;
inline constexpr uint32_t kId = 3;
inline constexpr uint32_t kParameters = 4;
inline constexpr uint32_t kInputs = 5;
inline constexpr uint32_t kOutputs = 6;
inline constexpr uint32_t kRawInputContents = 7;
namespace InferInputTensor {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kDatatype = 2;
inline constexpr uint32_t kShape = 3;
inline constexpr uint32_t kParameters = 4;
inline constexpr uint32_t kContents = 5;
}  // namespace InferInputTensor
namespace InferRequestedOutputTensor {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kParameters = 2;
}  // namespace InferRequestedOutputTensor
}  // namespace ModelInferRequest

namespace ModelInferResponse {
inline constexpr uint32_t kModelName = 1;
inline constexpr uint32_t kModelVersion = 2;
inline constexpr uint32_t kId = 3;
inline constexpr uint32_t kParameters = 4;
inline constexpr uint32_t kOutputs = 5;
inline constexpr uint32_t kRawOutputContents = 6;
namespace InferOutputTensor {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kDatatype = 2;
inline constexpr uint32_t kShape = 3;
inline constexpr uint32_t kParameters = 4;
inline constexpr uint32_t kContents = 5;
}  // namespace InferOutputTensor
}  // namespace ModelInferResponse

namespace ModelStreamInferResponse {
inline constexpr uint32_t kErrorMessage = 1;
inline constexpr uint32_t kInferResponse = 2;
}  // namespace ModelStreamInferResponse

namespace ModelConfigRequest {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kVersion = 2;
}  // namespace ModelConfigRequest

namespace ModelConfigResponse {
inline constexpr uint32_t kConfig = 1;
}  // namespace ModelConfigResponse

namespace ModelStatisticsRequest {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kVersion = 2;
}  // namespace ModelStatisticsRequest

namespace StatisticDuration {
inline constexpr uint32_t kCount = 1;
inline constexpr uint32_t kNs = 2;
}  // namespace StatisticDuration

namespace InferStatistics {
inline constexpr uint32_t kSuccess = 1;
inline constexpr uint32_t kFail = 2;
inline constexpr uint32_t kQueue = 3;
inline constexpr uint32_t kComputeInput = 4;
inline constexpr uint32_t kComputeInfer = 5;
inline constexpr uint32_t kComputeOutput = 6;
inline constexpr uint32_t kCacheHit = 7;
inline constexpr uint32_t kCacheMiss = 8;
}  // namespace InferStatistics

namespace InferResponseStatistics {
inline constexpr uint32_t kComputeInfer = 1;
inline constexpr uint32_t kComputeOutput = 2;
inline constexpr uint32_t kSuccess = 3;
inline constexpr uint32_t kFail = 4;
inline constexpr uint32_t kEmptyResponse = 5;
inline constexpr uint32_t kCancel = 6;
}  // namespace InferResponseStatistics

namespace InferBatchStatistics {
inline constexpr uint32_t kBatchSize = 1;
inline constexpr uint32_t kComputeInput = 2;
inline constexpr uint32_t kComputeInfer = 3;
inline constexpr uint32_t kComputeOutput = 4;
}  // namespace InferBatchStatistics

namespace MemoryUsage {
inline constexpr uint32_t kType = 1;
inline constexpr uint32_t kId = 2;
inline constexpr uint32_t kByteSize = 3;
}  // namespace MemoryUsage

namespace ModelStatistics {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kVersion = 2;
inline constexpr uint32_t kLastInference = 3;
inline constexpr uint32_t kInferenceCount = 4;
inline constexpr uint32_t kExecutionCount = 5;
inline constexpr uint32_t kInferenceStats = 6;
inline constexpr uint32_t kBatchStats = 7;
inline constexpr uint32_t kMemoryUsage = 8;
inline constexpr uint32_t kResponseStats = 9;
}  // namespace ModelStatistics

namespace ModelStatisticsResponse {
inline constexpr uint32_t kModelStats = 1;
}  // namespace ModelStatisticsResponse

namespace ModelRepositoryParameter {
inline constexpr uint32_t kBoolParam = 1;
inline constexpr uint32_t kInt64Param = 2;
inline constexpr uint32_t kStringParam = 3;
inline constexpr uint32_t kBytesParam = 4;
}  // namespace ModelRepositoryParameter

namespace RepositoryIndexRequest {
inline constexpr uint32_t kRepositoryName = 1;
inline constexpr uint32_t kReady = 2;
}  // namespace RepositoryIndexRequest

namespace RepositoryIndexResponse {
inline constexpr uint32_t kModels = 1;
namespace ModelIndex {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kVersion = 2;
inline constexpr uint32_t kState = 3;
inline constexpr uint32_t kReason = 4;
}  // namespace ModelIndex
}  // namespace RepositoryIndexResponse

namespace RepositoryModelLoadRequest {
inline constexpr uint32_t kRepositoryName = 1;
inline constexpr uint32_t kModelName = 2;
inline constexpr uint32_t kParameters = 3;
}  // namespace RepositoryModelLoadRequest

namespace RepositoryModelUnloadRequest {
inline constexpr uint32_t kRepositoryName = 1;
inline constexpr uint32_t kModelName = 2;
inline constexpr uint32_t kParameters = 3;
}  // namespace RepositoryModelUnloadRequest

namespace TraceSettingRequest {
inline constexpr uint32_t kSettings = 1;
inline constexpr uint32_t kModelName = 2;
namespace SettingValue {
inline constexpr uint32_t kValue = 1;
}  // namespace SettingValue
}  // namespace TraceSettingRequest

namespace TraceSettingResponse {
inline constexpr uint32_t kSettings = 1;
namespace SettingValue {
inline constexpr uint32_t kValue = 1;
}  // namespace SettingValue
}  // namespace TraceSettingResponse

namespace LogSettingsRequest {
inline constexpr uint32_t kSettings = 1;
namespace SettingValue {
inline constexpr uint32_t kBoolParam = 1;
inline constexpr uint32_t kUint32Param = 2;
inline constexpr uint32_t kStringParam = 3;
}  // namespace SettingValue
}  // namespace LogSettingsRequest

namespace LogSettingsResponse {
inline constexpr uint32_t kSettings = 1;
namespace SettingValue {
inline constexpr uint32_t kBoolParam = 1;
inline constexpr uint32_t kUint32Param = 2;
inline constexpr uint32_t kStringParam = 3;
}  // namespace SettingValue
}  // namespace LogSettingsResponse

namespace SystemSharedMemoryStatusRequest {
inline constexpr uint32_t kName = 1;
}  // namespace SystemSharedMemoryStatusRequest

namespace SystemSharedMemoryStatusResponse {
inline constexpr uint32_t kRegions = 1;
namespace RegionStatus {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kKey = 2;
inline constexpr uint32_t kOffset = 3;
inline constexpr uint32_t kByteSize = 4;
}  // namespace RegionStatus
}  // namespace SystemSharedMemoryStatusResponse

namespace SystemSharedMemoryRegisterRequest {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kKey = 2;
inline constexpr uint32_t kOffset = 3;
inline constexpr uint32_t kByteSize = 4;
}  // namespace SystemSharedMemoryRegisterRequest

namespace SystemSharedMemoryUnregisterRequest {
inline constexpr uint32_t kName = 1;
}  // namespace SystemSharedMemoryUnregisterRequest

namespace CudaSharedMemoryStatusRequest {
inline constexpr uint32_t kName = 1;
}  // namespace CudaSharedMemoryStatusRequest

namespace CudaSharedMemoryStatusResponse {
inline constexpr uint32_t kRegions = 1;
namespace RegionStatus {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kDeviceId = 2;
inline constexpr uint32_t kByteSize = 3;
}  // namespace RegionStatus
}  // namespace CudaSharedMemoryStatusResponse

namespace CudaSharedMemoryRegisterRequest {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kRawHandle = 2;
inline constexpr uint32_t kDeviceId = 3;
inline constexpr uint32_t kByteSize = 4;
}  // namespace CudaSharedMemoryRegisterRequest

namespace CudaSharedMemoryUnregisterRequest {
inline constexpr uint32_t kName = 1;
}  // namespace CudaSharedMemoryUnregisterRequest

}  // namespace serval::proto::inference
