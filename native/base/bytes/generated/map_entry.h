// The fields of every entry of a map field. Data for hot and control plane, any thread. Generated
// by proto/generate-wire.mjs; do not edit.
#pragma once

#include <cstdint>

namespace serval::proto::MapEntry {
inline constexpr uint32_t kKey = 1;
inline constexpr uint32_t kValue = 2;
}  // namespace serval::proto::MapEntry
