// The request kinds that the engine serves end to end. Numbers are shared with
// ts/model/request-kinds.ts. Data only; any thread.
#pragma once

#include <cstddef>
#include <cstdint>

namespace serval {

// V1: TensorFlow Serving's REST API. Tf: its gRPC PredictionService.
enum class Protocol : uint8_t {
  V1Predict = 0,
  V2Rest = 1,
  V2Grpc = 2,
  V2GrpcStream = 3,
  TfPredict = 4,
  TfClassify = 5,
  TfRegress = 6,
  V1Classify = 7,
  V1Regress = 8
};

inline constexpr size_t kProtocols = 9;

constexpr bool is_rest(Protocol protocol) {
  return protocol == Protocol::V1Predict || protocol == Protocol::V2Rest ||
         protocol == Protocol::V1Classify || protocol == Protocol::V1Regress;
}

// A message that names its model inside, and which of the two forms it names it in.
constexpr bool is_message(Protocol protocol) { return !is_rest(protocol); }
constexpr bool is_tf_message(Protocol protocol) {
  return protocol == Protocol::TfPredict || protocol == Protocol::TfClassify ||
         protocol == Protocol::TfRegress;
}

}  // namespace serval
