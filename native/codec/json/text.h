// Writers of JSON pieces straight into a response buffer: numbers, strings, base64. Hot path, any
// thread. Each writes at `out` and returns the new end; the caller has reserved the stated room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/buffer.h"
#include "base/tensor.h"

namespace serval {

// Room that a writer may touch, not only what its text takes (floats are stored in words).
inline constexpr size_t kFloatTextMax = 24;
inline constexpr size_t kDoubleTextMax = 48;
inline constexpr size_t kIntegerTextMax = 21;

// Shortest text that reads back as the same value; ".0" where it would look like an integer;
// NaN, Infinity, -Infinity as tokens. Exponent form as JSON allows it ("1e+20", "1e-07").
char* write_float(char* out, float value);
char* write_double(char* out, double value);
// `count` doubles (any alignment), each with a comma after it. The room: kDoubleTextMax + 1 bytes
// an element.
char* write_doubles(char* out, const uint8_t* data, uint64_t count);
char* write_int64(char* out, int64_t value);
char* write_uint64(char* out, uint64_t value);

// Appends a JSON string with its quotes; escapes ", \, control characters. `text` is valid UTF-8 or
// the caller accepts raw bytes. False when memory is out.
bool append_json_string(ByteBuffer& out, std::string_view text);

// Appends {"b64":"..."} with padded standard base64.
bool append_b64_object(ByteBuffer& out, std::string_view bytes);

// Appends elements [begin, end) of a fixed-size tensor, comma separated, no brackets.
// FP16 and BF16 are written as the shortest text of their float value. Bool as true/false.
bool append_elements(ByteBuffer& out, const TensorView& tensor, uint64_t begin, uint64_t end);

// Appends rows of `row` elements (1 or more) of an FP32 tensor, elements [begin, end), a multiple
// of `row`: "[1.0,2.0],[3.0,4.0]". For rows too short to be worth a call each.
bool append_float_rows(ByteBuffer& out, const TensorView& tensor, uint64_t begin, uint64_t end,
                       uint64_t row);

// Standard alphabet; padding may be missing, not excess; white space skipped. nullptr-view when
// bad.
// Source: tfserving.md 1.5 b64. Decodes into the arena.
struct Base64Result {
  bool ok = false;
  std::string_view bytes;
};
Base64Result decode_base64(std::string_view text, Arena& arena);

}  // namespace serval
