// What the plain decoders of TensorFlow Serving's REST bodies (predict, classify, regress) begin
// with: the document and the signature that it names. Any thread. Source: tfserving.md 1.3, 1.4.
#pragma once

#include "codec/json/reader.h"

namespace serval {

// How TensorFlow Serving words what is wrong: "JSON Parse error: <reason> at offset: <n>"; of an
// empty text "JSON Parse error: The document is empty". Text behind the document is ignored.
// Source: tfserving.md 1.10.
extern const JsonRules kTfJsonRules;

// A parsed body. Borrows all but the document.
struct PlainBody {
  std::string_view text;
  Arena& arena;
  JsonDocument document = {};
  std::string_view signature_name = {};  // "" where the body names none

  // Errors: malformed_body and what else parse_json() answers; invalid_argument (no object; a
  // signature_name that is no string).
  Status read();

  // The whole document before what is wrong with it.
  Error format_error(const char* what) const;
};

// Source: tfserving.md 1.5 b64: an object with exactly one member `b64` whose value is a string.
bool is_base64_object(const JsonDocument& document, const JsonNode& value);

}  // namespace serval
