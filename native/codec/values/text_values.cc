// Parses numbers and booleans from text. Hot path; any thread.
#include "codec/values/text_values.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace serval {

namespace {

constexpr double kExactMax = 9007199254740992.0;  // 2^53

bool same_letters(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] | 0x20) != lower[i]) return false;
  }
  return true;
}

}  // namespace

bool read_integer_text(std::string_view text, int64_t& out) {
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, out);
  if (read.ec == std::errc{} && read.ptr == end) return digits.size() == text.size() || out >= 0;
  double value = 0;
  if (!read_double_text(text, value) || value != std::trunc(value)) return false;
  if (std::fabs(value) > kExactMax) return false;
  out = static_cast<int64_t>(value);
  return true;
}

bool read_double_text(std::string_view text, double& out) {
  if (text == "NaN") {
    out = std::numeric_limits<double>::quiet_NaN();
    return true;
  }
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "Infinity") {
    out = std::numeric_limits<double>::infinity();
  } else {
    if (text.empty() || (text[0] != '.' && (text[0] < '0' || text[0] > '9'))) return false;
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, out);
    if (read.ec != std::errc{} || read.ptr != end) return false;
  }
  if (negative) out = -out;
  return true;
}

bool read_bool_text(std::string_view text, uint8_t& out) {
  out = same_letters(text, "true") ? 1 : 0;
  return out == 1 || same_letters(text, "false");
}

}  // namespace serval
