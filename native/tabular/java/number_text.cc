// Java's texts of doubles, floats and decimals. Hot path.
#include "tabular/java/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

namespace serval::tabular {
namespace {

__extension__ using Uint128 = unsigned __int128;

// The digits of d.ddd x 10^exponent in `text` (C++'s scientific form, no sign).
struct Digits {
  char digits[32];
  int count = 0;
  int exponent = 0;
};

Digits digits_of(std::string_view text) {
  Digits made;
  const size_t e = text.find('e');
  for (const char c : text.substr(0, e)) {
    if (c != '.') made.digits[made.count++] = c;
  }
  const std::string_view exponent = text.substr(e + 1);
  const char* begin = exponent.data() + (exponent.front() == '+' ? 1 : 0);
  std::from_chars(begin, exponent.data() + exponent.size(), made.exponent);
  return made;
}

void append_plain(const Digits& number, std::string& out) {
  const int whole = number.exponent + 1;  // digits before the point
  if (whole <= 0) {
    out += "0.";
    out.append(static_cast<size_t>(-whole), '0');
    out.append(number.digits, static_cast<size_t>(number.count));
    return;
  }
  const int taken = std::min(whole, number.count);
  out.append(number.digits, static_cast<size_t>(taken));
  out.append(static_cast<size_t>(whole - taken), '0');
  out.push_back('.');
  if (number.count > taken) out.append(number.digits + taken, number.digits + number.count);
  else out.push_back('0');
}

void append_scientific(const Digits& number, std::string& out) {
  out.push_back(number.digits[0]);
  out.push_back('.');
  if (number.count > 1) out.append(number.digits + 1, number.digits + number.count);
  else out.push_back('0');
  out.push_back('E');
  out += std::to_string(number.exponent);
}

// `Number`: whose shortest text it is.
template <typename Number>
void append_number(Number value, std::string& out) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::signbit(value)) out.push_back('-');
  const Number size = std::abs(value);
  if (std::isinf(size)) {
    out += "Infinity";
  } else if (size == 0) {
    out += "0.0";
  } else {
    char text[40];
    const auto end = std::to_chars(text, text + sizeof text, size, std::chars_format::scientific);
    Digits number = digits_of({text, end.ptr});
    // Java writes at least two digits for one-digit subnormals, those nearest to the value:
    // 4.9E-324, although 5E-324 reads back too.
    if (number.count == 1 && size < std::numeric_limits<Number>::min()) {
      char two[40];
      const auto near =
          std::to_chars(two, two + sizeof two, size, std::chars_format::scientific, 1);
      Number back = 0;
      std::from_chars(two, near.ptr, back);
      if (back == size) number = digits_of({two, near.ptr});
    }
    if (number.exponent >= -3 && number.exponent < 7) append_plain(number, out);
    else append_scientific(number, out);
  }
}

}  // namespace

void append_java_double(double value, std::string& out) { append_number(value, out); }

void append_java_float(double value, std::string& out) {
  append_number(static_cast<float>(value), out);
}

void append_java_decimal(Int128 unscaled, int scale, std::string& out) {
  const bool negative = unscaled < 0;
  auto rest = static_cast<Uint128>(unscaled);
  if (negative) rest = 0 - rest;
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest != 0);
  std::reverse(digits.begin(), digits.end());
  if (negative) out.push_back('-');
  const int adjusted = static_cast<int>(digits.size()) - 1 - scale;
  if (scale == 0) {
    out += digits;
  } else if (adjusted >= -6) {
    if (digits.size() <= static_cast<size_t>(scale)) {
      digits.insert(0, static_cast<size_t>(scale) + 1 - digits.size(), '0');
    }
    digits.insert(digits.size() - static_cast<size_t>(scale), 1, '.');
    out += digits;
  } else {
    out.push_back(digits[0]);
    if (digits.size() > 1) {
      out.push_back('.');
      out.append(digits, 1);
    }
    out += "E" + std::to_string(adjusted);
  }
}

std::string java_double(double value) {
  std::string made;
  append_java_double(value, made);
  return made;
}

}  // namespace serval::tabular
