// The request kinds that the engine serves end to end. Numbers are shared with ts/native/hot.ts.
#pragma once

#include <cstddef>
#include <cstdint>

namespace serval {

enum class Protocol : uint8_t { V1Predict = 0, V2Rest = 1, V2Grpc = 2, V2GrpcStream = 3 };

inline constexpr size_t kProtocols = 4;

}  // namespace serval
