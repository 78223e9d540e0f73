// Detects invisible characters by Unicode category, and escapes them. Any thread; pure.
#include "base/bytes/hidden.h"

#include <algorithm>
#include <iterator>

namespace serval {

namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// Unicode 16: the letters of these categories, ascending.
constexpr Range kHidden[] = {
    {0x0, 0x1F},        {0x7F, 0x9F},       {0xAD, 0xAD},       {0x600, 0x605},
    {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},     {0x890, 0x891},
    {0x8E2, 0x8E2},     {0x180E, 0x180E},   {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x2064},   {0x2066, 0x206F},   {0xFEFF, 0xFEFF},   {0xFFF9, 0xFFFB},
    {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3},
    {0x1D173, 0x1D17A}, {0xE0001, 0xE0001}, {0xE0020, 0xE007F},
};

void append_hex(uint32_t value, size_t width_min, std::string& out) {
  constexpr std::string_view kHex = "0123456789abcdef";
  size_t width = width_min;
  while (width < 8 && (value >> (4 * width)) != 0) ++width;
  for (size_t left = width; left-- > 0;) out += kHex[(value >> (4 * left)) & 15];
}

}  // namespace

bool is_hidden(uint32_t code_point) {
  const auto* after =
      std::upper_bound(std::begin(kHidden), std::end(kHidden), code_point,
                       [](uint32_t value, const Range& range) { return value < range.first; });
  return after != std::begin(kHidden) && code_point <= std::prev(after)->last;
}

uint32_t code_point_at(std::string_view text, size_t at, size_t bytes) {
  const auto byte = [&](size_t i) -> uint32_t { return static_cast<uint8_t>(text[at + i]); };
  switch (bytes) {
    case 1: return byte(0);
    case 2: return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3: return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    default:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 |
             (byte(3) & 0x3F);
  }
}

void append_visible(uint32_t code_point, std::string_view introducer, std::string& out) {
  out += introducer;
  if (code_point > 0xFFFF) {
    out += '{';
    append_hex(code_point, 4, out);
    out += '}';
  } else {
    append_hex(code_point, 4, out);
  }
}

void append_json_escape(uint32_t code_point, std::string& out) {
  if (code_point <= 0xFFFF) {
    append_visible(code_point, "\\u", out);
    return;
  }
  const uint32_t rest = code_point - 0x10000;
  append_visible(0xD800 + (rest >> 10), "\\u", out);
  append_visible(0xDC00 + (rest & 0x3FF), "\\u", out);
}

}  // namespace serval
