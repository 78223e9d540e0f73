// Field numbers and enum values: a namespace for each message and enum. Data for hot and control
// plane, any thread. Generated from proto/wire/tensorflow_serving.proto by proto/generate-wire.mjs; do not edit.
#pragma once

#include <cstdint>

namespace serval::proto::tensorflow::serving {

namespace ModelSpec {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kVersion = 2;
inline constexpr uint32_t kVersionLabel = 4;
inline constexpr uint32_t kSignatureName = 3;
}  // namespace ModelSpec

namespace PredictStreamedOptions {
inline constexpr uint32_t kRequestState = 1;
inline constexpr uint32_t kSplitDimensions = 2;
inline constexpr uint32_t kReturnSingleResponse = 3;
namespace RequestState {
inline constexpr uint32_t kNone = 0;
inline constexpr uint32_t kSplit = 1;
inline constexpr uint32_t kEndSplit = 2;
inline constexpr uint32_t kCancel = 3;
}  // namespace RequestState
}  // namespace PredictStreamedOptions

namespace PredictRequest {
inline constexpr uint32_t kModelSpec = 1;
inline constexpr uint32_t kInputs = 2;
inline constexpr uint32_t kOutputFilter = 3;
inline constexpr uint32_t kPredictStreamedOptions = 5;
inline constexpr uint32_t kClientId = 6;
inline constexpr uint32_t kRequestOptions = 7;
namespace RequestOptions {
inline constexpr uint32_t kClientId = 1;
inline constexpr uint32_t kDeterministicMode = 2;
inline constexpr uint32_t kReturnAdditionalArraysFromPrefill = 3;
inline constexpr uint32_t kReturnStoptokens = 4;
inline constexpr uint32_t kMaxCacheLength = 6;
inline constexpr uint32_t kReturnAllStoptokens = 9;
namespace DeterministicMode {
inline constexpr uint32_t kDeterministicModeUnspecified = 0;
inline constexpr uint32_t kFixedDecoderSlot = 1;
}  // namespace DeterministicMode
}  // namespace RequestOptions
}  // namespace PredictRequest

namespace PredictResponse {
inline constexpr uint32_t kOutputs = 1;
inline constexpr uint32_t kModelSpec = 2;
}  // namespace PredictResponse

namespace ExampleList {
inline constexpr uint32_t kExamples = 1;
}  // namespace ExampleList

namespace ExampleListWithContext {
inline constexpr uint32_t kExamples = 1;
inline constexpr uint32_t kContext = 2;
}  // namespace ExampleListWithContext

namespace Input {
inline constexpr uint32_t kExampleList = 1;
inline constexpr uint32_t kExampleListWithContext = 2;
}  // namespace Input

namespace Class {
inline constexpr uint32_t kLabel = 1;
inline constexpr uint32_t kScore = 2;
}  // namespace Class

namespace Classifications {
inline constexpr uint32_t kClasses = 1;
}  // namespace Classifications

namespace ClassificationResult {
inline constexpr uint32_t kClassifications = 1;
}  // namespace ClassificationResult

namespace ClassificationRequest {
inline constexpr uint32_t kModelSpec = 1;
inline constexpr uint32_t kInput = 2;
}  // namespace ClassificationRequest

namespace ClassificationResponse {
inline constexpr uint32_t kResult = 1;
inline constexpr uint32_t kModelSpec = 2;
}  // namespace ClassificationResponse

namespace Regression {
inline constexpr uint32_t kValue = 1;
}  // namespace Regression

namespace RegressionResult {
inline constexpr uint32_t kRegressions = 1;
}  // namespace RegressionResult

namespace RegressionRequest {
inline constexpr uint32_t kModelSpec = 1;
inline constexpr uint32_t kInput = 2;
}  // namespace RegressionRequest

namespace RegressionResponse {
inline constexpr uint32_t kResult = 1;
inline constexpr uint32_t kModelSpec = 2;
}  // namespace RegressionResponse

namespace InferenceTask {
inline constexpr uint32_t kModelSpec = 1;
inline constexpr uint32_t kMethodName = 2;
}  // namespace InferenceTask

namespace InferenceResult {
inline constexpr uint32_t kModelSpec = 1;
inline constexpr uint32_t kClassificationResult = 2;
inline constexpr uint32_t kRegressionResult = 3;
}  // namespace InferenceResult

namespace MultiInferenceRequest {
inline constexpr uint32_t kTasks = 1;
inline constexpr uint32_t kInput = 2;
}  // namespace MultiInferenceRequest

namespace MultiInferenceResponse {
inline constexpr uint32_t kResults = 1;
}  // namespace MultiInferenceResponse

namespace SignatureDefMap {
inline constexpr uint32_t kSignatureDef = 1;
}  // namespace SignatureDefMap

namespace GetModelMetadataRequest {
inline constexpr uint32_t kModelSpec = 1;
inline constexpr uint32_t kMetadataField = 2;
}  // namespace GetModelMetadataRequest

namespace GetModelMetadataResponse {
inline constexpr uint32_t kModelSpec = 1;
inline constexpr uint32_t kMetadata = 2;
}  // namespace GetModelMetadataResponse

namespace StatusProto {
inline constexpr uint32_t kErrorCode = 1;
inline constexpr uint32_t kErrorMessage = 2;
}  // namespace StatusProto

namespace ModelVersionStatus {
inline constexpr uint32_t kVersion = 1;
inline constexpr uint32_t kState = 2;
inline constexpr uint32_t kStatus = 3;
namespace State {
inline constexpr uint32_t kUnknown = 0;
inline constexpr uint32_t kStart = 10;
inline constexpr uint32_t kLoading = 20;
inline constexpr uint32_t kAvailable = 30;
inline constexpr uint32_t kUnloading = 40;
inline constexpr uint32_t kEnd = 50;
}  // namespace State
}  // namespace ModelVersionStatus

namespace GetModelStatusRequest {
inline constexpr uint32_t kModelSpec = 1;
}  // namespace GetModelStatusRequest

namespace GetModelStatusResponse {
inline constexpr uint32_t kModelVersionStatus = 1;
}  // namespace GetModelStatusResponse

namespace ModelType {
inline constexpr uint32_t kModelTypeUnspecified = 0;
inline constexpr uint32_t kTensorflow = 1;
inline constexpr uint32_t kOther = 2;
}  // namespace ModelType

namespace FileSystemStoragePathSourceConfig {
namespace ServableVersionPolicy {
inline constexpr uint32_t kLatest = 100;
inline constexpr uint32_t kAll = 101;
inline constexpr uint32_t kSpecific = 102;
namespace Latest {
inline constexpr uint32_t kNumVersions = 1;
}  // namespace Latest
namespace Specific {
inline constexpr uint32_t kVersions = 1;
}  // namespace Specific
}  // namespace ServableVersionPolicy
}  // namespace FileSystemStoragePathSourceConfig

namespace LogCollectorConfig {
inline constexpr uint32_t kType = 1;
inline constexpr uint32_t kFilenamePrefix = 2;
}  // namespace LogCollectorConfig

namespace SamplingConfig {
inline constexpr uint32_t kSamplingRate = 1;
inline constexpr uint32_t kAttributes = 2;
}  // namespace SamplingConfig

namespace LoggingConfig {
inline constexpr uint32_t kLogCollectorConfig = 1;
inline constexpr uint32_t kSamplingConfig = 2;
inline constexpr uint32_t kCustomLoggingConfig = 3;
}  // namespace LoggingConfig

namespace ModelConfig {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kBasePath = 2;
inline constexpr uint32_t kModelType = 3;
inline constexpr uint32_t kModelPlatform = 4;
inline constexpr uint32_t kLoggingConfig = 6;
inline constexpr uint32_t kModelVersionPolicy = 7;
inline constexpr uint32_t kVersionLabels = 8;
}  // namespace ModelConfig

namespace ModelConfigList {
inline constexpr uint32_t kConfig = 1;
}  // namespace ModelConfigList

namespace ModelServerConfig {
inline constexpr uint32_t kModelConfigList = 1;
inline constexpr uint32_t kCustomModelConfig = 2;
}  // namespace ModelServerConfig

namespace Metric {
inline constexpr uint32_t kName = 1;
inline constexpr uint32_t kInt64ValueIncrease = 2;
}  // namespace Metric

namespace ReloadConfigRequest {
inline constexpr uint32_t kConfig = 1;
inline constexpr uint32_t kMetricNames = 2;
}  // namespace ReloadConfigRequest

namespace ReloadConfigResponse {
inline constexpr uint32_t kStatus = 1;
inline constexpr uint32_t kMetric = 2;
}  // namespace ReloadConfigResponse

namespace SessionRunRequest {
inline constexpr uint32_t kModelSpec = 1;
inline constexpr uint32_t kFeed = 2;
inline constexpr uint32_t kFetch = 3;
inline constexpr uint32_t kTarget = 4;
inline constexpr uint32_t kOptions = 5;
inline constexpr uint32_t kTensorNameIsAlias = 6;
}  // namespace SessionRunRequest

namespace SessionRunResponse {
inline constexpr uint32_t kTensor = 1;
inline constexpr uint32_t kMetadata = 2;
inline constexpr uint32_t kModelSpec = 3;
}  // namespace SessionRunResponse

}  // namespace serval::proto::tensorflow::serving
