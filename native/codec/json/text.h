// Writes JSON pieces directly into a response buffer: numbers, strings, base64. Hot path, any
// thread. Each writes at `out` and returns the new end; the caller has reserved the stated space.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/buffer.h"
#include "base/tensor.h"

namespace serval {

// Space that a writer may touch, not only the size of its text (floats are stored in words).
inline constexpr size_t kFloatTextMax = 24;
inline constexpr size_t kDoubleTextMax = 48;
inline constexpr size_t kIntegerTextMax = 21;

// Shortest text that reads back as the same value; with ".0" if it would look like an integer; NaN,
// Infinity, -Infinity as tokens. The exponent form is valid JSON ("1e+20", "1e-07").
char* write_float(char* out, float value);
char* write_double(char* out, double value);
// Writes `count` doubles (any alignment), each followed by a comma. Needs kDoubleTextMax + 1 bytes
// per element.
char* write_doubles(char* out, const uint8_t* data, uint64_t count);
char* write_int64(char* out, int64_t value);
char* write_uint64(char* out, uint64_t value);

// Appends a JSON string with its quotes; escapes ", \, control characters. `text` is valid UTF-8 or
// the caller accepts raw bytes. False: out of memory.
bool append_json_string(ByteBuffer& out, std::string_view text);

// Appends {"b64":"..."} with padded standard base64.
bool append_b64_object(ByteBuffer& out, std::string_view bytes);

// Appends elements [begin, end) of a fixed-size tensor, comma separated, without brackets. FP16 and
// BF16 are written as the shortest text of their float value. Bool as true/false.
bool append_elements(ByteBuffer& out, const TensorView& tensor, uint64_t begin, uint64_t end);

// Appends elements [begin, end) of an FP32 tensor in rows of `row` elements (1 or more; the range
// is a multiple of it): "[1.0,2.0],[3.0,4.0]". For rows too short to be worth a call each.
bool append_float_rows(ByteBuffer& out, const TensorView& tensor, uint64_t begin, uint64_t end,
                       uint64_t row);

// Standard alphabet; padding may be missing but not excessive; white space is skipped. The view is
// null if the text is invalid.
// Source: tfserving.md 1.5 b64. Decodes into the arena.
struct Base64Result {
  bool ok = false;
  std::string_view bytes;
};
Base64Result decode_base64(std::string_view text, Arena& arena);

}  // namespace serval
