// Field numbers and enum values: a namespace for each message and enum. Data for hot and control
// plane, any thread. Generated from proto/wire/tensorflow_example.proto by proto/generate-wire.mjs; do not edit.
#pragma once

#include <cstdint>

namespace serval::proto::tensorflow {

namespace FeatureList {
inline constexpr uint32_t kFeature = 1;
}  // namespace FeatureList

namespace FeatureLists {
inline constexpr uint32_t kFeatureList = 1;
}  // namespace FeatureLists

namespace SequenceExample {
inline constexpr uint32_t kContext = 1;
inline constexpr uint32_t kFeatureLists = 2;
}  // namespace SequenceExample

}  // namespace serval::proto::tensorflow
