// CAST between SQL types, not ANSI: what does not fit saturates, wraps or is missing. Hot path:
// run; any thread. Source: tabular.md 10; Spark's Cast.
#include <cmath>
#include <limits>

#include "tabular/java/number_text.h"
#include "tabular/java/zone.h"
#include "tabular/sql/calendar.h"
#include "tabular/sql/composite/items.h"
#include "tabular/sql/number_text.h"
#include "tabular/sql/values.h"

namespace serval::tabular::sql {

namespace {

constexpr std::string_view kOverflow = "CAST_OVERFLOW";
constexpr std::string_view kInvalid = "CAST_INVALID_INPUT";
constexpr std::string_view kOutOfRange = "NUMERIC_VALUE_OUT_OF_RANGE";

// Java's (int) and (long): NaN becomes 0, and values out of range are clamped.
int64_t saturated(double value, int64_t least, int64_t most) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(least)) return least;
  if (value >= static_cast<double>(most)) return most;
  return static_cast<int64_t>(value);
}

// The low bits of `value`, as a narrower integer has them.
int64_t wrapped(int64_t value, Type to) {
  switch (to) {
    case Type::Int8: return static_cast<int8_t>(value);
    case Type::Int16: return static_cast<int16_t>(value);
    case Type::Int32: return static_cast<int32_t>(value);
    default: return value;
  }
}

int64_t integer_of_real(double value, Type to) {
  if (to == Type::Int64) {
    return saturated(value, std::numeric_limits<int64_t>::min(),
                     std::numeric_limits<int64_t>::max());
  }
  // Short and byte go through int.
  return wrapped(
      saturated(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()),
      to);
}

bool fits(int64_t value, Type to) { return wrapped(value, to) == value; }

// Whether the whole part of `value` is in the type's range.
bool fits(double value, Type to) {
  const int bits = to == Type::Int64 ? 63 : to == Type::Int32 ? 31 : to == Type::Int16 ? 15 : 7;
  const double end = std::ldexp(1.0, bits);
  return std::floor(value) < end && std::ceil(value) >= -end;
}

// Converts `whole` to an integer type; an error in ANSI mode if it does not fit.
Value wrapped_or_raised(Eval& eval, const Value& value, bool is_whole, int64_t whole, SqlType to) {
  const int64_t made = wrapped(whole, to.type);
  if (eval.ansi && (!is_whole || made != whole)) return uncastable(eval, value, to, kOverflow);
  return Value::of_integer(made, to.type);
}

Value to_integer(Eval& eval, const Value& value, SqlType to) {
  switch (value.type) {
    case Type::String: {
      const std::string_view text = eval.text(value);
      const bool whole = !eval.ansi || text.find('.') == std::string_view::npos;
      const auto parsed = whole ? integer_of_text(text) : std::nullopt;
      if (!parsed || !fits(*parsed, to.type)) return uncastable(eval, value, to, kOverflow);
      return Value::of_integer(*parsed, to.type);
    }
    case Type::Float:
    case Type::Double:
      if (eval.ansi && !fits(value.real, to.type)) return uncastable(eval, value, to, kOverflow);
      return Value::of_integer(integer_of_real(value.real, to.type), to.type);
    case Type::Decimal: {
      const Int128 whole = value.decimal / power_of_ten(value.scale);
      const auto low = static_cast<int64_t>(whole);
      return wrapped_or_raised(eval, value, whole == low, low, to);
    }
    case Type::Timestamp:
      return wrapped_or_raised(eval, value, true, floor_divide(value.integer, kSecondMicros), to);
    case Type::Date: return missing_of(to);
    default: return wrapped_or_raised(eval, value, true, value.integer, to);
  }
}

Value to_real(Eval& eval, const Value& value, SqlType to) {
  const bool is_float = to.type == Type::Float;
  double real = 0;
  switch (value.type) {
    case Type::String: {
      if (is_float) {
        const auto parsed = float_of_text(eval.text(value));
        return parsed ? Value::of_real(*parsed, to.type) : uncastable(eval, value, to, kOverflow);
      }
      const auto parsed = real_of_text(eval.text(value));
      return parsed ? Value::of_real(*parsed, to.type) : uncastable(eval, value, to, kOverflow);
    }
    case Type::Float:
    case Type::Double: real = value.real; break;
    case Type::Decimal: real = decimal_to_double(value.decimal, value.scale); break;
    case Type::Timestamp:
      real = static_cast<double>(value.integer) / static_cast<double>(kSecondMicros);
      break;
    case Type::Date: return missing_of(to);
    default:
      // A long is converted to float in one step.
      if (is_float) return Value::of_real(static_cast<float>(value.integer), to.type);
      real = static_cast<double>(value.integer);
      break;
  }
  return Value::of_real(is_float ? static_cast<double>(static_cast<float>(real)) : real, to.type);
}

Value to_decimal(Eval& eval, const Value& value, SqlType to) {
  std::optional<Int128> made;
  switch (value.type) {
    case Type::String:
      if (const auto digits = digits_of_text(eval.text(value))) {
        made = decimal_of_digits(*digits, to);
        if (!made) return unanswered(eval, to, kOutOfRange, eval.text(value));
      }
      break;
    case Type::Float:
    case Type::Double:
      if (!std::isfinite(value.real)) return missing_of(to);
      made = decimal_of_digits(digits_of_real(value.real), to);
      break;
    case Type::Decimal: made = decimal_rescale(decimal_of(value), to); break;
    case Type::Timestamp: made = decimal_rescale({value.integer, 6}, to); break;
    case Type::Date: break;
    default: made = decimal_rescale({value.integer, 0}, to);
  }
  return made ? of_decimal(*made, to) : uncastable(eval, value, to, kOutOfRange);
}

Value to_bool(Eval& eval, const Value& value) {
  switch (value.type) {
    case Type::String: {
      std::string text(trimmed(eval.text(value)));
      for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
      for (const std::string_view word : {"t", "true", "y", "yes", "1"}) {
        if (text == word) return Value::of_bool(true);
      }
      for (const std::string_view word : {"f", "false", "n", "no", "0"}) {
        if (text == word) return Value::of_bool(false);
      }
      return uncastable(eval, value, kBool, kOverflow);
    }
    case Type::Float:
    case Type::Double: return Value::of_bool(value.real != 0);
    case Type::Decimal: return Value::of_bool(value.decimal != 0);
    case Type::Date: return missing_of(kBool);
    default: return Value::of_bool(value.integer != 0);
  }
}

Value to_date(Eval& eval, const Value& value) {
  if (value.type == Type::Timestamp) {
    return Value::of_integer(floor_divide(wall_of(eval, value.integer), kDayMicros), Type::Date);
  }
  if (value.type != Type::String)
    return eval.fail("cannot cast " + type_text(type_of(value)) + " to date");
  const auto days = date_of_text(eval.text(value));
  return days ? Value::of_integer(*days, Type::Date) : uncastable(eval, value, kDate, kOverflow);
}

// Returns whether anything but a time follows a timestamp's date.
bool names_zone(std::string_view timestamp) {
  const size_t time = timestamp.find_first_of(" T", timestamp.find_first_of("0123456789"));
  return time != std::string_view::npos &&
         trimmed(timestamp.substr(time + 1)).find_first_not_of("0123456789:.") !=
             std::string_view::npos;
}

// The low 64 bits of seconds as microseconds, which Spark computes with 34 digits.
int64_t micros_of_decimal(Decimal seconds) {
  constexpr int kDigitsMax = 34, kScale = 6;
  const int more = decimal_digits(seconds.unscaled) - kDigitsMax;
  if (more > 0) {
    const auto kept = decimal_rescale({seconds.unscaled, more}, decimal_type(kPrecisionMax, 0),
                                      Rounding::HalfEven);
    seconds.unscaled = kept.value_or(0) * power_of_ten(more);
  }
  if (seconds.scale > kScale) {
    return static_cast<int64_t>(seconds.unscaled / power_of_ten(seconds.scale - kScale));
  }
  const auto factor = static_cast<uint64_t>(power_of_ten(kScale - seconds.scale));
  return static_cast<int64_t>(static_cast<uint64_t>(seconds.unscaled) * factor);
}

Value to_timestamp(Eval& eval, const Value& value) {
  switch (value.type) {
    case Type::String: {
      bool unknown = false;
      const auto micros = timestamp_of_text(eval.text(value), unknown);
      if (unknown) {
        return eval.fail("the time zone in '" + std::string(eval.text(value)) +
                         "' is not supported: expected UTC or an offset");
      }
      if (!micros) return uncastable(eval, value, kTimestamp, kOverflow);
      const bool has_zone = eval.run.zones.session != nullptr && names_zone(eval.text(value));
      return Value::of_integer(has_zone ? *micros : instant_of(eval, *micros), Type::Timestamp);
    }
    case Type::Date:
      if (!has_micros(value.integer)) {
        return eval.fail("the date " + date_text(value.integer) +
                         " is out of range for timestamps");
      }
      return Value::of_integer(start_of_day(eval, value.integer), Type::Timestamp);
    case Type::Float:
    case Type::Double: {
      if (!std::isfinite(value.real)) return uncastable(eval, value, kTimestamp, kInvalid);
      const double micros = value.real * static_cast<double>(kSecondMicros);
      if (eval.ansi && !fits(micros, Type::Int64)) {
        return uncastable(eval, value, kTimestamp, kOverflow);
      }
      return Value::of_integer(integer_of_real(micros, Type::Int64), Type::Timestamp);
    }
    case Type::Decimal:
      return Value::of_integer(micros_of_decimal(decimal_of(value)), Type::Timestamp);
    case Type::Bool: return Value::of_integer(value.integer, Type::Timestamp);
    default: {
      const Int128 micros = static_cast<Int128>(value.integer) * kSecondMicros;
      constexpr Int128 kMost = std::numeric_limits<int64_t>::max();
      const Int128 bounded = micros > kMost ? kMost : (micros < -kMost - 1 ? -kMost - 1 : micros);
      return Value::of_integer(static_cast<int64_t>(bounded), Type::Timestamp);
    }
  }
}

bool is_castable(Type type) {
  return type == Type::Any || type == Type::Bool || is_numeric(type) || is_text(type) ||
         type == Type::Date || type == Type::Timestamp;
}

}  // namespace

int64_t wall_of(const Eval& eval, int64_t instant) {
  const Zone* zone = eval.run.zones.session;
  return zone == nullptr ? instant : zone->wall_of(instant);
}

int64_t instant_of(const Eval& eval, int64_t wall) {
  const Zone* zone = eval.run.zones.session;
  return zone == nullptr ? wall : zone->instant_of(wall);
}

int64_t start_of_day(const Eval& eval, int64_t days) {
  const Zone* zone = eval.run.zones.session;
  return zone == nullptr ? micros_of_days(days) : zone->start_of_day(days);
}

std::string text_of(Eval& eval, const Value& value) {
  std::string text;
  switch (value.type) {
    case Type::Bool: return value.integer != 0 ? "true" : "false";
    case Type::Float: append_java_float(value.real, text); break;
    case Type::Double: append_java_double(value.real, text); break;
    case Type::Decimal: append_java_decimal(value.decimal, value.scale, text); break;
    case Type::Date: return date_text(value.integer);
    case Type::Timestamp: return timestamp_text(wall_of(eval, value.integer));
    case Type::String:
    case Type::Binary: return std::string(eval.text(value));
    case Type::List: return items_text(eval, value);
    default: return std::to_string(value.integer);
  }
  return text;
}

Value cast(Eval& eval, const Value& value, SqlType to) {
  const SqlType from = type_of(value);
  if (from == to) return value;
  if (from.type == Type::List || to.type == Type::List) return cast_composite(eval, value, to);
  const bool text_to_binary = is_text(from.type) && is_text(to.type);
  const bool binary = from.type == Type::Binary || to.type == Type::Binary;
  if (!is_castable(from.type) || (binary && !text_to_binary && from.type != Type::Any)) {
    return eval.fail("cannot cast " + type_text(from) + " to " + type_text(to));
  }
  if (value.missing()) return missing_of(to);
  if (is_integer(to.type)) return to_integer(eval, value, to);
  if (is_real(to.type)) return to_real(eval, value, to);
  switch (to.type) {
    case Type::Decimal: return to_decimal(eval, value, to);
    case Type::Bool: return to_bool(eval, value);
    case Type::Date: return to_date(eval, value);
    case Type::Timestamp: return to_timestamp(eval, value);
    case Type::String:
    case Type::Binary: {
      Value made = text_to_binary ? value : eval.of_text(text_of(eval, value));
      made.type = to.type;
      return made;
    }
    default: return value;
  }
}

Value cast_plain(Eval& eval, const Value& value, SqlType to) {
  const bool ansi = eval.ansi;
  eval.ansi = false;
  const Value made = cast(eval, value, to);
  eval.ansi = ansi;
  return made;
}

Value convert(Eval& eval, const Value& value, SqlType to) {
  const Type from = value.type;
  const bool is_time = from == Type::Date || from == Type::Timestamp;
  const bool to_time = to.type == Type::Date || to.type == Type::Timestamp;
  const bool allowed = from == to.type || from == Type::Any || from == Type::String ||
                       (to.type == Type::String && from != Type::List) ||
                       (is_numeric(from) && is_numeric(to.type)) || (is_time && to_time);
  if (!allowed) {
    return eval.fail("expected " + type_text(to) + ", got " + type_text(type_of(value)));
  }
  return cast(eval, value, to);
}

int compare_values(Eval& eval, const Value& a, const Value& b) {
  if (a.type == Type::Decimal) return decimal_compare(decimal_of(a), decimal_of(b));
  if (is_real(a.type)) {
    if (a.real == b.real) return 0;
    if (std::isnan(a.real)) return std::isnan(b.real) ? 0 : 1;
    return std::isnan(b.real) || a.real < b.real ? -1 : 1;
  }
  if (is_text(a.type)) {
    if (a.text == b.text) return 0;
    const int order = eval.text(a).compare(eval.text(b));
    return order < 0 ? -1 : (order > 0 ? 1 : 0);
  }
  if (a.type == Type::List) return compare_composites(eval, a, b);
  return a.integer < b.integer ? -1 : (a.integer > b.integer ? 1 : 0);
}

}  // namespace serval::tabular::sql
