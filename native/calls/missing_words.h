// The words for what a request names and the engine has not, where the registry knows no more of
// it: sentences that TypeScript hands over when a listener starts. Hot path; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"

namespace serval {

struct Wording;

// A sentence of a protocol with {model}, {version} and {label} in it.
struct MissingSentence {
  fb::MissingPart part = fb::MissingPart::Model;
  bool versioned = false;  // for requests that name a version
  std::string text;
};

struct MissingWords {
  std::string text;        // not cut yet
  std::string request_id;  // V2's
};

// `missing`: the bytes of a fb::Missing. Nothing: TypeScript has to word it, because the registry
// knows why it is missing, the protocol has no sentence for it, or names are long or odd and would
// not be echoed as they are.
std::optional<MissingWords> word_missing(const Wording& wording, std::span<const uint8_t> missing);

}  // namespace serval
