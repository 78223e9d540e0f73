// Error texts for models, versions and labels that the engine does not have, if the registry knows
// nothing more about them: sentences that TypeScript passes when a listener starts. Hot path; any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"

namespace serval {

struct Wording;

// A protocol's sentence with the placeholders {model}, {version} and {label}.
struct MissingSentence {
  fb::MissingPart part = fb::MissingPart::Model;
  bool versioned = false;  // for requests that name a version
  std::string text;
};

struct MissingWords {
  std::string text;        // not truncated yet
  std::string request_id;  // for V2
};

// `missing`: the bytes of a fb::Missing. Nothing: TypeScript has to format it, because the registry
// knows the reason, the protocol has no sentence for it, or a name is long or unusual and would not
// be echoed unchanged.
std::optional<MissingWords> word_missing(const Wording& wording, std::span<const uint8_t> missing);

}  // namespace serval
