// The common start of the plain decoders of TensorFlow Serving's REST bodies (predict, classify,
// regress): the document and the signature that it names. Any thread. Source: tfserving.md 1.3,
// 1.4.
#pragma once

#include "codec/json/reader.h"

namespace serval {

// TensorFlow Serving's error texts: "JSON Parse error: <reason> at offset: <n>"; for an empty text
// "JSON Parse error: The document is empty". Text after the document is ignored.
// Source: tfserving.md 1.10.
extern const JsonRules kTfJsonRules;

// A parsed body. Borrows everything but the document.
struct PlainBody {
  std::string_view text;
  Arena& arena;
  JsonDocument document = {};
  std::string_view signature_name = {};  // "" if the body names none

  // Errors: malformed_body and the other errors of parse_json(); invalid_argument (not an object;
  // signature_name is not a string).
  Status read();

  // An error text that repeats the whole document before the reason.
  Error format_error(const char* what) const;
};

// Source: tfserving.md 1.5 b64: an object with exactly one member `b64` whose value is a string.
bool is_base64_object(const JsonDocument& document, const JsonNode& value);

}  // namespace serval
