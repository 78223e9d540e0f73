// Properties of the kinds of requests. Data only; any thread.
#pragma once

#include <cstddef>

#include "base/generated/engine_names.h"

namespace serval {

using Protocol = fb::Protocol;

inline constexpr size_t kProtocols = static_cast<size_t>(Protocol::MAX) + 1;

constexpr bool is_rest(Protocol protocol) {
  return protocol == Protocol::V1Predict || protocol == Protocol::V2Rest ||
         protocol == Protocol::V1Classify || protocol == Protocol::V1Regress;
}

// Whether the request is a message that names its model, and in which of the two forms.
constexpr bool is_message(Protocol protocol) { return !is_rest(protocol); }
constexpr bool is_tf_message(Protocol protocol) {
  return protocol == Protocol::TfPredict || protocol == Protocol::TfClassify ||
         protocol == Protocol::TfRegress;
}

}  // namespace serval
