// The model, version, label or signature that a request names and the engine does not have. It is
// passed on as data: JavaScript or a gRPC listener (calls/missing_words) words it. Hot path
// (errors); any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace serval {

// The fields of fb::Missing. Borrows all but the version.
struct Missing {
  // Returns invalid_argument for unknown labels and bad numbers, else not found.
  ErrorCode code() const;
  // The bytes of a fb::Missing.
  std::string pack() const;

  fb::MissingPart part = fb::MissingPart::Model;
  std::string_view model, label, reason, signature, request_id;
  std::string version;
  int64_t found_version = 0;
  bool known = false;  // the registry has more information about it
  uint32_t retry_after_s = 0;
};

// Returns the text of a missing part for a log; clients get the words of their protocol.
std::string text_of_missing(const Error& error);

}  // namespace serval
