// Field numbers and enum values: a namespace for each message and enum. Data for hot and control
// plane, any thread. Generated from proto/wire/prediction_log.proto by proto/generate-wire.mjs; do not edit.
#pragma once

#include <cstdint>

namespace serval::proto::tensorflow::serving {

namespace PredictLog {
inline constexpr uint32_t kRequest = 1;
inline constexpr uint32_t kResponse = 2;
}  // namespace PredictLog

namespace ClassifyLog {
inline constexpr uint32_t kRequest = 1;
inline constexpr uint32_t kResponse = 2;
}  // namespace ClassifyLog

namespace RegressLog {
inline constexpr uint32_t kRequest = 1;
inline constexpr uint32_t kResponse = 2;
}  // namespace RegressLog

namespace MultiInferenceLog {
inline constexpr uint32_t kRequest = 1;
inline constexpr uint32_t kResponse = 2;
}  // namespace MultiInferenceLog

namespace SessionRunLog {
inline constexpr uint32_t kRequest = 1;
inline constexpr uint32_t kResponse = 2;
}  // namespace SessionRunLog

namespace PredictStreamedLog {
inline constexpr uint32_t kRequest = 1;
inline constexpr uint32_t kResponse = 2;
}  // namespace PredictStreamedLog

namespace LogMetadata {
inline constexpr uint32_t kModelSpec = 1;
inline constexpr uint32_t kSamplingConfig = 2;
inline constexpr uint32_t kSavedModelTags = 3;
inline constexpr uint32_t kTimestampSecs = 4;
}  // namespace LogMetadata

namespace PredictionLog {
inline constexpr uint32_t kLogMetadata = 1;
inline constexpr uint32_t kClassifyLog = 2;
inline constexpr uint32_t kRegressLog = 3;
inline constexpr uint32_t kMultiInferenceLog = 4;
inline constexpr uint32_t kSessionRunLog = 5;
inline constexpr uint32_t kPredictLog = 6;
inline constexpr uint32_t kPredictStreamedLog = 7;
}  // namespace PredictionLog

}  // namespace serval::proto::tensorflow::serving
