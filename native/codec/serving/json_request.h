// Helpers shared by the fast and the plain decoder of V1 predict bodies. Hot path, any thread.
#pragma once

#include <span>
#include <string_view>

#include "codec/request.h"

namespace serval {

inline constexpr std::string_view kSignatureNameKey = "signature_name";
inline constexpr std::string_view kInstancesKey = "instances";
inline constexpr std::string_view kInputsKey = "inputs";
inline constexpr std::string_view kBase64Key = "b64";
inline constexpr std::string_view kDefaultSignature = "serving_default";

// Index of the signature called `name`, where "" means serving_default; -1 if there is none.
// Source: tfserving.md 1.5.
inline int find_signature(std::span<const Signature> signatures, std::string_view name) {
  if (name.empty()) name = kDefaultSignature;
  for (size_t i = 0; i < signatures.size(); ++i) {
    if (signatures[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

// Requests all outputs, in the signature's order: V1 has no way to choose.
// Source: tfserving.md 1.4 "no way to pass an output filter over REST".
inline void request_all_outputs(const Signature& signature, DecodedRequest& out) {
  for (size_t i = 0; i < signature.outputs.size(); ++i) {
    out.outputs.push_back({static_cast<uint32_t>(i), false});
  }
}

}  // namespace serval
