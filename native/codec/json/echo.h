// Parts of a request as error texts repeat them: short, and always valid UTF-8. Only for errors;
// any thread.
#pragma once

#include <string>
#include <string_view>

#include "codec/json/reader.h"

namespace serval {

// A name or text from the client, cut at kErrorValueBytesMax; bytes that are not UTF-8 become
// U+FFFD.
std::string echo_text(std::string_view text);

// A value of the document, formatted like RapidJSON's PrettyWriter (four spaces) and cut in the
// same way. Numbers and strings are repeated as the client wrote them. `body`: the document's text.
// Source: tfserving.md 1.5 "The echoed value is cut at about 256 bytes, pretty-printed".
std::string echo_json(const JsonDocument& document, const JsonNode& value, std::string_view body);

}  // namespace serval
