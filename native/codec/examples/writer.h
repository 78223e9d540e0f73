// tensorflow.Example messages from parsed JSON: sizes first, then bytes. Hot path, any thread.
// Source: tfserving.md 1.7 "Feature value", 2 "Example", "Feature".
#pragma once

#include <string>

#include "base/bytes/wire_writer.h"
#include "codec/serving/json_body.h"

namespace serval {

// Checks that `value` can be an Example, and makes it ready: the bytes of b64 objects are decoded
// into body.arena and kept as the text of their nodes.
// Errors: invalid_argument in upstream's words.
Status check_example(PlainBody& body, const JsonNode& value);

// Bytes of the Example that a checked value becomes.
uint64_t example_bytes(const JsonDocument& document, const JsonNode& value);

// Writes it. Features stay in the JSON's order; a name that comes twice is written twice, and the
// last one counts, as with any map of protobuf.
void write_example(WireWriter& writer, const JsonDocument& document, const JsonNode& value);

}  // namespace serval
