// Field numbers and enum values: a namespace for each message and enum. Data for hot and control
// plane, any thread. Generated from proto/wire/wrappers.proto by proto/generate-wire.mjs; do not edit.
#pragma once

#include <cstdint>

namespace serval::proto::google::protobuf {

namespace Int64Value {
inline constexpr uint32_t kValue = 1;
}  // namespace Int64Value

namespace BoolValue {
inline constexpr uint32_t kValue = 1;
}  // namespace BoolValue

namespace StringValue {
inline constexpr uint32_t kValue = 1;
}  // namespace StringValue

}  // namespace serval::proto::google::protobuf
