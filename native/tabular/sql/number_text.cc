// Numbers out of text, as Spark's CAST reads them. Pure; any thread.
#include "tabular/sql/number_text.h"

#include <charconv>
#include <cstdlib>
#include <limits>

namespace serval::tabular::sql {

namespace {

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  if (text.size() != lower.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] + 32) : text[i];
    if (c != lower[i]) return false;
  }
  return true;
}

template <typename Real>
std::optional<Real> special(std::string_view text) {
  constexpr Real kInfinity = std::numeric_limits<Real>::infinity();
  for (const std::string_view word : {"inf", "+inf", "infinity", "+infinity"}) {
    if (equals_ignoring_case(text, word)) return kInfinity;
  }
  for (const std::string_view word : {"-inf", "-infinity"}) {
    if (equals_ignoring_case(text, word)) return -kInfinity;
  }
  if (equals_ignoring_case(text, "nan")) return std::numeric_limits<Real>::quiet_NaN();
  return std::nullopt;
}

template <typename Real>
std::optional<Real> parsed(std::string_view text) {
  text = trimmed(text);
  std::string_view number = text;
  if (!number.empty() && number.back() != '.' &&
      std::string_view("dDfF").find(number.back()) != std::string_view::npos) {
    number.remove_suffix(1);
  }
  if (!number.empty() && number.front() == '+') number.remove_prefix(1);
  const std::string_view unsigned_part =
      !number.empty() && number.front() == '-' ? number.substr(1) : number;
  const bool is_number =
      !unsigned_part.empty() &&
      (unsigned_part[0] == '.' || (unsigned_part[0] >= '0' && unsigned_part[0] <= '9'));
  if (!is_number || (text.front() == '+' && number.front() == '-')) return special<Real>(text);
  Real value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  if (read.ptr != number.data() + number.size()) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) {
    // Infinity or zero, which from_chars does not tell apart.
    const std::string copy(number);
    return static_cast<Real>(std::strtod(copy.c_str(), nullptr));
  }
  if (read.ec != std::errc{}) return std::nullopt;
  return value;
}

}  // namespace

std::optional<double> real_of_text(std::string_view text) { return parsed<double>(text); }
std::optional<float> float_of_text(std::string_view text) { return parsed<float>(text); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

std::optional<int64_t> integer_of_text(std::string_view text) {
  text = trimmed(text);
  if (!text.empty() && text.front() == '+') {
    text.remove_prefix(1);
    if (!text.empty() && text.front() == '-') return std::nullopt;
  }
  if (const size_t point = text.find('.'); point != std::string_view::npos) {
    for (const char c : text.substr(point + 1)) {
      if (c < '0' || c > '9') return std::nullopt;
    }
    text = text.substr(0, point);
    if (text.empty() || text == "-") return 0;  // ".5", as Spark has it
  }
  int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || read.ec != std::errc{} || read.ptr != text.data() + text.size()) {
    return std::nullopt;
  }
  return value;
}

}  // namespace serval::tabular::sql
