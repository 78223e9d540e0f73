// Converts parsed JSON to tensorflow.Example messages: sizes first, then bytes. Hot path, any
// thread.
// Source: tfserving.md 1.7 "Feature value", 2 "Example", "Feature".
#pragma once

#include <string>

#include "base/bytes/wire_writer.h"
#include "codec/serving/json_body.h"

namespace serval {

// Checks that `value` can be an Example, and prepares it: decodes b64 objects into body.arena and
// stores the bytes as the text of their nodes.
// Errors: invalid_argument in upstream's words.
Status check_example(PlainBody& body, const JsonNode& value);

// Bytes of the Example for a checked value.
uint64_t example_bytes(const JsonDocument& document, const JsonNode& value);

// Writes it. Features keep the JSON's order; a duplicate name is written twice, and the last one
// counts, as in any protobuf map.
void write_example(WireWriter& writer, const JsonDocument& document, const JsonNode& value);

}  // namespace serval
