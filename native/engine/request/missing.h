// What a request names and the engine has not. It goes on as data: JavaScript words it, or a gRPC
// listener (calls/missing_words). Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace serval {

// As fb::Missing has it. Borrows all but the version.
struct Missing {
  // Unknown labels and bad numbers are invalid_argument.
  ErrorCode code() const;
  // The bytes of a fb::Missing.
  std::string pack() const;

  fb::MissingPart part = fb::MissingPart::Model;
  std::string_view model, label, reason, signature, request_id;
  std::string version;
  int64_t found_version = 0;
  bool known = false;  // the registry knows more of it
};

// What is missing, for a log: who is answered has it in the protocol's words.
std::string text_of_missing(const Error& error);

}  // namespace serval
