// Bytes as texts and back. Pure; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace serval::tabular::sql {

std::string base64_text(std::string_view bytes);
// Reads as Java's MIME decoder does: other characters do not count. Nothing: a digit is left over.
std::optional<std::string> bytes_of_base64(std::string_view text);
// Blanks alone do not count.
std::optional<std::string> strict_base64(std::string_view text);

// Bytes that are no character become U+FFFD.
std::string valid_utf8(std::string_view bytes);

}  // namespace serval::tabular::sql
