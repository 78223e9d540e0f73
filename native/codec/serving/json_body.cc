// Parses TensorFlow Serving's REST bodies for the plain decoders. Any thread.
#include "codec/serving/json_body.h"

#include "codec/json/echo.h"
#include "codec/serving/json_request.h"

namespace serval {

const JsonRules kTfJsonRules = {
    [](std::string_view text, std::string_view reason, size_t offset, const JsonRules&) {
      if (text.empty()) return malformed_body("JSON Parse error: The document is empty");
      return malformed_body("JSON Parse error: " + std::string(reason) +
                            " at offset: " + std::to_string(offset));
    }};

Status PlainBody::read() {
  if (Status status = parse_json(text, arena, kTfJsonRules, &document); !status.ok()) return status;
  if (document.root().kind != JsonKind::Object) return format_error("Is not object");
  const JsonNode* name = document.member(document.root(), kSignatureNameKey);
  if (name == nullptr) return {};
  signature_name = name->text;
  if (name->kind == JsonKind::String) return {};
  return format_error("not formatted correctly. 'signature_name' key must be a string value.");
}

Error PlainBody::format_error(const char* what) const {
  return invalid_argument("JSON Value: " + echo_json(document, document.root(), text) + " " + what);
}

bool is_base64_object(const JsonDocument& document, const JsonNode& value) {
  if (value.kind != JsonKind::Object || value.children != 1) return false;
  const JsonNode* member = document.child(value);
  return member->key == kBase64Key && member->kind == JsonKind::String;
}

}  // namespace serval
