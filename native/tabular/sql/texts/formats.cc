// Numbers and other values as texts by a format: format_number() and format_string(). Hot path; any
// thread.
// Source: Java's DecimalFormat (US) and Formatter, which Spark calls.
#include <algorithm>
#include <cstdio>

#include "base/unicode/letters.h"
#include "tabular/sql/composite/items.h"
#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

constexpr int64_t kDigitsMax = 340;
constexpr size_t kWidthMax = 1 << 20;

// A number's sign and its digits before and after the point.
struct Number {
  bool negative = false;
  std::string whole, fraction;
};

Number number_of(std::string_view text) {
  Number made;
  made.negative = text.starts_with("-");
  if (made.negative) text.remove_prefix(1);
  const size_t point = std::min(text.find('.'), text.size());
  made.whole = text.substr(0, point);
  if (point < text.size()) made.fraction = text.substr(point + 1);
  return made;
}

// All digits of the shortest text that reads back, or of the exact value if it is rounded, half to
// even.
Number number_of_real(double value, int64_t digits) {
  const Digits shortest = digits_of_real(value);
  const auto behind = static_cast<int64_t>(shortest.digits.size()) - shortest.exponent;
  char buffer[800];
  const int count =
      std::snprintf(buffer, sizeof buffer, "%.*f",
                    static_cast<int>(std::min(digits, std::max<int64_t>(behind, 0))), value);
  Number made = number_of({buffer, static_cast<size_t>(count)});
  if (behind > 0 && behind <= digits) {
    // Those digits alone: the exact value may have more.
    std::string text = shortest.digits;
    if (shortest.exponent <= 0) text.insert(0, static_cast<size_t>(1 - shortest.exponent), '0');
    const auto point = text.size() - static_cast<size_t>(behind);
    made.whole = text.substr(0, point);
    made.fraction = text.substr(point);
  } else if (behind <= 0) {
    made.whole = shortest.digits.empty()
                     ? "0"
                     : shortest.digits + std::string(static_cast<size_t>(-behind), '0');
    made.fraction.clear();
  }
  made.negative = std::signbit(value);
  return made;
}

Number number_of_decimal(const Value& value, int64_t digits) {
  const auto scale = static_cast<int>(std::min<int64_t>(digits, value.scale));
  const auto rounded =
      decimal_rescale(decimal_of(value), decimal_type(kPrecisionMax, scale), Rounding::HalfEven);
  Int128 left = rounded.value_or(value.decimal);
  Number made;
  made.negative = value.decimal < 0;
  std::string text;
  for (; left != 0; left /= 10) {
    text.insert(text.begin(),
                static_cast<char>('0' + static_cast<int>(left < 0 ? -(left % 10) : left % 10)));
  }
  const auto least = static_cast<size_t>(scale) + 1;
  if (text.size() < least) text.insert(0, least - text.size(), '0');
  made.whole = text.substr(0, text.size() - static_cast<size_t>(scale));
  made.fraction = text.substr(made.whole.size());
  return made;
}

void group_digits(std::string& whole, size_t size) {
  for (size_t at = whole.size(); size > 0 && at > size;) whole.insert(at -= size, 1, ',');
}

// The meaning of a pattern of DecimalFormat: "#,##0.00".
struct NumberPattern {
  std::string prefix, suffix;
  size_t whole_min = 0, fraction_min = 0, group = 0;
  int64_t fraction_max = 0;
};

std::optional<NumberPattern> pattern_of(std::string_view text) {
  NumberPattern made;
  const size_t first = text.find_first_of("#0.,");
  if (first == std::string_view::npos) return std::nullopt;
  made.prefix = text.substr(0, first);
  bool behind = false;
  size_t at = first, comma = std::string_view::npos, digits = 0;
  for (; at < text.size() && std::string_view("#0.,").find(text[at]) != std::string_view::npos;
       ++at) {
    const char c = text[at];
    if (c == '.') {
      if (behind) return std::nullopt;
      behind = true;
    } else if (c == ',') {
      if (behind) return std::nullopt;
      comma = digits;
    } else if (behind) {
      if (c == '0' && static_cast<int64_t>(made.fraction_min) != made.fraction_max)
        return std::nullopt;
      ++made.fraction_max;
      if (c == '0') ++made.fraction_min;
    } else {
      if (c == '#' && made.whole_min > 0) return std::nullopt;
      ++digits;
      if (c == '0') ++made.whole_min;
    }
  }
  if (comma != std::string_view::npos) made.group = digits - comma;
  made.suffix = text.substr(at);
  for (const std::string& part : {made.prefix, made.suffix}) {
    if (part.find_first_of("%;E'\xE2\xC2#0.,") != std::string::npos) return std::nullopt;
  }
  return made;
}

std::string formatted(const Value& value, const NumberPattern& pattern) {
  if (is_real(value.type) && std::isnan(value.real)) return "NaN";
  Number number;
  if (is_real(value.type) && std::isinf(value.real)) {
    return std::string(value.real < 0 ? "-" : "") + pattern.prefix + "∞" + pattern.suffix;
  }
  if (is_real(value.type)) number = number_of_real(value.real, pattern.fraction_max);
  else if (value.type == Type::Decimal) number = number_of_decimal(value, pattern.fraction_max);
  else number = number_of(std::to_string(value.integer));
  while (number.fraction.size() > pattern.fraction_min && number.fraction.back() == '0') {
    number.fraction.pop_back();
  }
  number.fraction.resize(std::max(number.fraction.size(), pattern.fraction_min), '0');
  number.whole.erase(0, std::min(number.whole.find_first_not_of('0'), number.whole.size()));
  if (number.whole.size() < pattern.whole_min) {
    number.whole.insert(0, pattern.whole_min - number.whole.size(), '0');
  }
  if (number.whole.empty() && number.fraction.empty()) number.whole = "0";
  const bool zero = (number.whole + number.fraction).find_first_not_of('0') == std::string::npos;
  if (zero && !is_real(value.type)) {
    number.negative = value.type == Type::Decimal && value.decimal < 0;
  }
  group_digits(number.whole, pattern.group);
  return (number.negative ? "-" : "") + pattern.prefix + number.whole +
         (number.fraction.empty() ? "" : "." + number.fraction) + pattern.suffix;
}

// format_number(number, digits after the point or a pattern)
Value format_number(Eval& eval, Arguments arguments, const void*) {
  const Value &value = arguments[0], &format = arguments[1];
  if (!is_numeric(value.type) && value.type != Type::Any) {
    return bad_argument(eval, "format_number", 0, "a number", value);
  }
  NumberPattern pattern{{}, {}, 1, 0, 3, 0};
  if (format.type == Type::String) {
    if (!format.valid() || !value.valid()) return missing_of(kString);
    if (!eval.text(format).empty()) {
      const auto made = pattern_of(eval.text(format));
      if (!made) {
        return eval.fail("format_number(): argument 2: the pattern '" +
                         std::string(eval.text(format)) + "' is not supported");
      }
      pattern = *made;
    }
  } else {
    const Value digits = argument(eval, "format_number", arguments, 1, kInt32);
    if (!digits.valid() || !value.valid() || digits.integer < 0) return missing_of(kString);
    pattern.fraction_max = std::min(digits.integer, kDigitsMax);
    pattern.fraction_min = static_cast<size_t>(pattern.fraction_max);
  }
  return text_value(eval, formatted(value, pattern));
}

// %[index$][flags][width][.precision]conversion
struct Directive {
  size_t index = 0;  // 0: the next argument
  bool left = false, plus = false, blank = false, zeros = false, groups = false,
       parentheses = false;
  bool alternate = false;
  size_t width = 0;
  int precision = -1;
  char conversion = 0;
};

size_t read_number(std::string_view& rest) {
  size_t made = 0;
  while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9' && made < kWidthMax) {
    made = made * 10 + static_cast<size_t>(rest.front() - '0');
    rest.remove_prefix(1);
  }
  return made;
}

bool read_directive(std::string_view& rest, Directive& out) {
  std::string_view ahead = rest;
  const size_t number = !ahead.empty() && ahead.front() != '0' ? read_number(ahead) : 0;
  if (number > 0 && ahead.starts_with("$")) {
    out.index = number;
    rest = ahead.substr(1);
  }
  for (; !rest.empty(); rest.remove_prefix(1)) {
    const char c = rest.front();
    if (c == '-') out.left = true;
    else if (c == '+') out.plus = true;
    else if (c == ' ') out.blank = true;
    else if (c == '0') out.zeros = true;
    else if (c == ',') out.groups = true;
    else if (c == '(') out.parentheses = true;
    else if (c == '#') out.alternate = true;
    else break;
  }
  out.width = read_number(rest);
  if (rest.starts_with(".")) {
    rest.remove_prefix(1);
    out.precision = static_cast<int>(read_number(rest));
  }
  if (rest.empty() || out.width >= kWidthMax || out.precision >= 1000) return false;
  out.conversion = rest.front();
  rest.remove_prefix(1);
  return true;
}

size_t characters_of(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

std::string padded(std::string text, const Directive& by) {
  const size_t count = characters_of(text);
  if (count >= by.width) return text;
  text.insert(by.left ? text.size() : 0, by.width - count, ' ');
  return text;
}

// Adds the sign and the zeros that the flags request to the digits.
std::string signed_text(bool negative, std::string digits, const Directive& by) {
  std::string front = negative ? (by.parentheses ? "(" : "-") : by.plus ? "+" : by.blank ? " " : "";
  const std::string back = negative && by.parentheses ? ")" : "";
  const size_t count = front.size() + digits.size() + back.size();
  if (by.zeros && count < by.width) digits.insert(0, by.width - count, '0');
  return padded(front + digits + back, by);
}

std::optional<std::string> whole_text(const Value& value, const Directive& by) {
  if (!is_integer(value.type)) return std::nullopt;
  if (by.conversion == 'd') {
    Number number = number_of(std::to_string(value.integer));
    if (by.groups) group_digits(number.whole, 3);
    return signed_text(number.negative, number.whole, by);
  }
  auto bits = static_cast<uint64_t>(value.integer);
  if (value.type == Type::Int8) bits &= 0xFF;
  else if (value.type == Type::Int16) bits &= 0xFFFF;
  else if (value.type == Type::Int32) bits &= 0xFFFFFFFF;
  char buffer[32];
  const bool octal = by.conversion == 'o';
  const int count =
      std::snprintf(buffer, sizeof buffer, octal ? "%lo" : "%lx", static_cast<unsigned long>(bits));
  std::string text(buffer, static_cast<size_t>(count));
  if (by.alternate) text.insert(0, octal ? "0" : "0x");
  return signed_text(false, std::move(text), by);
}

// Java rounds the shortest digits half up.
std::optional<std::string> real_text(const Value& value, const Directive& by) {
  if (!is_real(value.type)) return std::nullopt;
  if (!std::isfinite(value.real)) {
    Directive plain = by;
    plain.zeros = false;
    const bool nan = std::isnan(value.real);
    return signed_text(!nan && value.real < 0, nan ? "NaN" : "Infinity", plain);
  }
  const int precision = by.precision < 0 ? 6 : by.precision;
  if (by.conversion == 'e') {
    char buffer[1200];
    const int count =
        std::snprintf(buffer, sizeof buffer, "%.*e", precision, std::fabs(value.real));
    return signed_text(std::signbit(value.real), {buffer, static_cast<size_t>(count)}, by);
  }
  if (precision > 18) return std::nullopt;
  const auto fixed =
      decimal_of_digits(digits_of_real(value.real), decimal_type(kPrecisionMax, precision));
  if (!fixed) return std::nullopt;
  Value decimal = of_decimal(*fixed < 0 ? -*fixed : *fixed, decimal_type(kPrecisionMax, precision));
  Number number = number_of_decimal(decimal, precision);
  if (by.groups) group_digits(number.whole, 3);
  return signed_text(std::signbit(value.real),
                     number.whole + (precision > 0 ? "." + number.fraction : ""), by);
}

std::string cut(std::string text, int precision) {
  if (precision < 0) return text;
  size_t at = 0;
  for (; at < text.size() && precision > 0; --precision)
    at += front_character(std::string_view(text).substr(at)).bytes;
  return text.substr(0, at);
}

std::optional<std::string> directive_text(Eval& eval, const Value& value, const Directive& by) {
  const char kind = by.conversion >= 'A' && by.conversion <= 'Z'
                        ? static_cast<char>(by.conversion + 32)
                        : by.conversion;
  Directive low = by;
  low.conversion = kind;
  std::optional<std::string> made;
  if (kind == 's' || (!value.valid() && kind != 'b')) {
    made = padded(cut(value.valid() ? text_of(eval, value) : "null", by.precision), by);
  } else if (kind == 'b') {
    const bool held = value.valid() && (value.type != Type::Bool || value.integer != 0);
    made = padded(cut(held ? "true" : "false", by.precision), by);
  } else if (kind == 'd' || kind == 'x' || kind == 'o') {
    made = whole_text(value, low);
  } else if (kind == 'f' || kind == 'e') {
    made = real_text(value, low);
  } else if (kind == 'c' && is_integer(value.type) && value.integer >= 0 &&
             value.integer <= 0x10FFFF) {
    std::string text;
    append_utf8(static_cast<char32_t>(value.integer), text);
    made = padded(text, by);
  }
  if (!made || kind == by.conversion) return made;
  std::string up;
  append_upper_case(*made, up);
  return up;
}

// format_string(format, values ...), of which printf() is another name.
Value format_string(Eval& eval, Arguments arguments, const void*) {
  const Value format = argument(eval, "format_string", arguments, 0, kString);
  if (!format.valid()) return missing_of(kString);
  std::string text;
  size_t next = 1;
  for (std::string_view rest = eval.text(format); !rest.empty();) {
    const size_t plain = std::min(rest.find('%'), rest.size());
    text += rest.substr(0, plain);
    rest.remove_prefix(plain);
    if (rest.empty()) break;
    rest.remove_prefix(1);
    Directive by;
    const bool read = read_directive(rest, by);
    if (read && (by.conversion == '%' || by.conversion == 'n')) {
      text += by.conversion == '%' ? padded("%", by) : "\n";
      continue;
    }
    const size_t at = by.index > 0 ? by.index : next++;
    if (!read || at >= arguments.size()) {
      return eval.fail("format_string(): argument 1: '" + std::string(eval.text(format)) +
                       (read ? "' requires more values than given" : "' is not a format"));
    }
    // Spark hands dates and times over as the numbers that they are inside.
    Value given = arguments[at];
    if (given.type == Type::Date) given.type = Type::Int32;
    if (given.type == Type::Timestamp) given.type = Type::Int64;
    const auto part = directive_text(eval, given, by);
    if (!part) {
      return eval.fail("format_string(): %" + std::string(1, by.conversion) + " of argument " +
                       std::to_string(at + 1) + ", " + type_text(full_type(arguments[at])) +
                       ", is not supported");
    }
    text += *part;
  }
  return text_value(eval, text);
}

constexpr Function kFormatsFunctions[] = {
    function(fn::sql_format_number, format_number),
    function(fn::sql_format_string, format_string),
};

}  // namespace

std::span<const Function> format_functions() { return kFormatsFunctions; }

}  // namespace serval::tabular::sql
