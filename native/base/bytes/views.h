// Views bytes as text and text as bytes, without copying. Hot path, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace serval {

inline std::string_view text_of(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// Removes a header's spaces and tabs at both ends.
inline std::string_view trimmed(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t");
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(" \t") - start + 1);
}

}  // namespace serval
