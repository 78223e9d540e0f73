// Characters that are invisible, or change how their neighbours are displayed: controls (C0, DEL,
// C1), formats (directions, zero-width joiners, tags) and line separators. Names may contain them;
// texts for people show them as escapes. ts/base/text.ts does the same in TypeScript. Any thread;
// pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace serval {

// Unicode's categories Cc, Cf, Zl and Zp.
bool is_hidden(uint32_t code_point);

// The character of `bytes` bytes (1 to 4, from utf8_length_at()) that begins at text[at].
uint32_t code_point_at(std::string_view text, size_t at, size_t bytes);

// Appends `introducer` and the code point in hexadecimal digits: four, or in braces if it has more.
void append_visible(uint32_t code_point, std::string_view introducer, std::string& out);

// Appends a JSON escape: \u and four digits, or two surrogates if the code point has more.
void append_json_escape(uint32_t code_point, std::string& out);

}  // namespace serval
