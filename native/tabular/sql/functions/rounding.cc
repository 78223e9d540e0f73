// CAST, and rounding to digits. Hot path; any thread.
// Source: tabular.md 10
#include <algorithm>
#include <charconv>
#include <limits>

#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

// The type's text is made a type at load.
Result<std::shared_ptr<const void>> prepare_cast(std::span<const Value* const> constants,
                                                 const Dictionary& dictionary) {
  const Value* name = constants[1];
  const auto type = name == nullptr || name->type != Type::String
                        ? std::nullopt
                        : type_named(dictionary.text(name->text));
  if (!type) return make_error(ErrorCode::ModelInvalid, "sql.cast: expected the name of a type");
  return std::shared_ptr<const void>(std::make_shared<SqlType>(*type));
}

Value cast_value(Eval& eval, Arguments arguments, const void* state) {
  return cast(eval, arguments[0], *static_cast<const SqlType*>(state));
}

constexpr Function kCasts[] = {function(fn::sql_cast, cast_value, prepare_cast)};

// Decimal places to keep; 0 without a second argument.
Result<std::shared_ptr<const void>> prepare_digits(std::span<const Value* const> constants,
                                                   const Dictionary&) {
  if (constants.size() < 2) return std::shared_ptr<const void>(std::make_shared<int>(0));
  const Value* digits = constants[1];
  if (digits == nullptr || !digits->valid() || !is_integer(digits->type)) {
    return make_error(ErrorCode::ModelInvalid, "round(): expected a whole number of digits");
  }
  constexpr int64_t kMost = 400;
  const int64_t bounded = std::clamp(digits->integer, -kMost, kMost);
  return std::shared_ptr<const void>(std::make_shared<int>(static_cast<int>(bounded)));
}

// From the digits that Java shows, as BigDecimal(text).setScale().
double rounded_real(double value, int digits, Rounding rounding) {
  if (!std::isfinite(value) || value == 0) return value;
  Digits shown = digits_of_real(value);
  const int64_t kept = shown.exponent + digits;
  if (kept >= static_cast<int64_t>(shown.digits.size())) return value;
  bool up = false;
  if (kept >= 0) {
    const auto at = static_cast<size_t>(kept);
    const char digit = shown.digits[at];
    const bool half = digit == '5' && at + 1 == shown.digits.size();
    const bool odd = at > 0 && (shown.digits[at - 1] - '0') % 2 != 0;
    up = digit > '5' || (digit == '5' && (!half || rounding == Rounding::HalfUp || odd));
  }
  std::string text = kept > 0 ? shown.digits.substr(0, static_cast<size_t>(kept)) : "0";
  if (up) {
    auto at = text.rbegin();
    for (; at != text.rend() && *at == '9'; ++at) *at = '0';
    if (at == text.rend()) {
      text.insert(0, "1");
    } else {
      ++*at;
    }
  }
  text += "e" + std::to_string(-digits);
  double made = 0;
  std::from_chars(text.data(), text.data() + text.size(), made);
  return value < 0 ? -made : made;
}

SqlType rounded_type(const Value& value, int digits) {
  const int whole = value.precision - value.scale + 1;
  if (digits < 0) return decimal_type(std::min(std::max(whole, 1 - digits), kPrecisionMax), 0);
  const int scale = std::min<int>(value.scale, digits);
  return decimal_type(std::min(whole + scale, kPrecisionMax), scale);
}

// A decimal, or empty if it has too many digits.
Value decimal_or_none(Eval& eval, const std::optional<Int128>& made, SqlType to) {
  if (made) return of_decimal(*made, to);
  return unanswered(eval, to, "NUMERIC_VALUE_OUT_OF_RANGE",
                    "the rounded value does not fit " + type_text(to));
}

Value rounded_decimal(Eval& eval, const Value& value, int digits, Rounding rounding) {
  const SqlType to = rounded_type(value, digits);
  if (!value.valid()) return missing_of(to);
  if (digits >= 0) {
    return decimal_or_none(eval, decimal_rescale(decimal_of(value), to, rounding), to);
  }
  if (-digits > kPrecisionMax) return of_decimal(0, to);
  // To whole tens: as if the point stood further to the left.
  const Decimal shifted{value.decimal, value.scale - digits};
  const auto tens = decimal_rescale(shifted, decimal_type(kPrecisionMax, 0), rounding);
  if (!tens || shifted.scale > 2 * kPrecisionMax) return missing_of(to);
  const auto made = decimal_rescale({*tens * power_of_ten(-digits), 0}, to, rounding);
  if (made) return of_decimal(*made, to);
  // In both modes.
  return eval.raise(missing_of(to),
                    "NUMERIC_VALUE_OUT_OF_RANGE: the rounded value does not fit " + type_text(to));
}

int64_t low_bits(Int128 value, Type type) {
  switch (type) {
    case Type::Int8: return static_cast<int8_t>(value);
    case Type::Int16: return static_cast<int16_t>(value);
    case Type::Int32: return static_cast<int32_t>(value);
    default: return static_cast<int64_t>(value);
  }
}

Value rounded_integer(Eval& eval, const Value& value, int digits, Rounding rounding) {
  if (!value.valid() || digits >= 0) return value;
  if (-digits > 19) return Value::of_integer(0, value.type);
  const SqlType wide = decimal_type(kPrecisionMax, 0);
  const auto tens = decimal_rescale({value.integer, -digits}, wide, rounding);
  const Int128 made = tens.value_or(0) * power_of_ten(-digits);
  const int64_t low = low_bits(made, value.type);
  if (eval.ansi && low != made) {
    return unanswered(eval, {value.type}, "ARITHMETIC_OVERFLOW",
                      "the rounded value does not fit " + type_text({value.type}));
  }
  return Value::of_integer(low, value.type);
}

template <Rounding kRounding>
Value rounded(Eval& eval, Arguments arguments, const void* state) {
  const int digits = *static_cast<const int*>(state);
  Value value = arguments[0];
  if (!is_numeric(value.type)) value = convert(eval, value, kDouble);
  if (eval.failed()) return value;
  if (value.type == Type::Decimal) return rounded_decimal(eval, value, digits, kRounding);
  if (is_integer(value.type)) return rounded_integer(eval, value, digits, kRounding);
  if (!value.valid()) return value;
  const double made = rounded_real(value.real, digits, kRounding);
  const bool is_float = value.type == Type::Float;
  return Value::of_real(is_float ? static_cast<double>(static_cast<float>(made)) : made,
                        value.type);
}

// A bigint, or a decimal without decimal places.
template <Rounding kRounding>
Value whole(Eval& eval, Arguments arguments, const void*) {
  Value value = arguments[0];
  if (value.type == Type::Decimal) {
    const int digits = value.precision - value.scale + (value.scale == 0 ? 0 : 1);
    const SqlType to = decimal_type(std::min(digits, kPrecisionMax), 0);
    if (!value.valid()) return missing_of(to);
    const auto made = decimal_rescale(decimal_of(value), to, kRounding);
    return made ? of_decimal(*made, to) : missing_of(to);
  }
  if (is_integer(value.type)) return cast(eval, value, kInt64);
  value = convert(eval, value, kDouble);
  if (!value.valid()) return missing_of(kInt64);
  value.real = kRounding == Rounding::Floor ? std::floor(value.real) : std::ceil(value.real);
  return cast_plain(eval, value, kInt64);
}

constexpr Function kRoundingFunctions[] = {
    function(fn::sql_round, rounded<Rounding::HalfUp>, prepare_digits),
    function(fn::sql_bround, rounded<Rounding::HalfEven>, prepare_digits),
    function(fn::sql_ceil, whole<Rounding::Ceiling>),
    function(fn::sql_floor, whole<Rounding::Floor>),
};

}  // namespace

std::span<const Function> cast_functions() { return kCasts; }
std::span<const Function> rounding_functions() { return kRoundingFunctions; }

}  // namespace serval::tabular::sql
