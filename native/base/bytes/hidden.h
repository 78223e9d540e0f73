// Characters that a reader does not see, or that change what is seen around them: controls (C0,
// DEL, C1), formats (directions, joiners of no width, tags) and separators of lines. Names may have
// them; what people read shows them as escapes. ts/base/text.ts has the same for texts of that
// side. Any thread; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace serval {

// Unicode's categories Cc, Cf, Zl and Zp.
bool is_hidden(uint32_t code_point);

// The character of `bytes` bytes (1 to 4, as utf8_length_at() says) that begins at text[at].
uint32_t code_point_at(std::string_view text, size_t at, size_t bytes);

// `introducer` and the code point in hexadecimal digits: four, or in braces where it has more.
void append_visible(uint32_t code_point, std::string_view introducer, std::string& out);

// As JSON has it: \u and four digits, of two surrogates where the code point has more.
void append_json_escape(uint32_t code_point, std::string& out);

}  // namespace serval
