// + - * / % and bits. Hot path; any thread.
// Source: tabular.md 10; Spark's TypeCoercion and DecimalPrecision for operands of two types.
#include <limits>

#include "tabular/sql/calendar.h"
#include "tabular/sql/composite/interval.h"
#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

enum class Op { Add, Subtract, Multiply, Divide, Remainder, PositiveRemainder };

constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "%", "pmod"};

// Which arguments are whole constants: beside decimals they have only the digits that they need.
struct Literals {
  uint8_t digits[2] = {0, 0};  // 0: none
};

Result<std::shared_ptr<const void>> prepare_literals(std::span<const Value* const> constants,
                                                     const Dictionary&) {
  auto made = std::make_shared<Literals>();
  for (size_t i = 0; i < 2; ++i) {
    const Value* value = constants[i];
    if (value == nullptr || !value->valid() || !is_integer(value->type)) continue;
    made->digits[i] = static_cast<uint8_t>(decimal_digits(value->integer));
  }
  return std::shared_ptr<const void>(std::move(made));
}

Value unsuitable(Eval& eval, std::string_view what, const Value& a, const Value& b) {
  return eval.fail("cannot compute " + type_text(type_of(a)) + " " + std::string(what) + " " +
                   type_text(type_of(b)));
}

int64_t wrap(uint64_t value, Type type) {
  switch (type) {
    case Type::Int8: return static_cast<int8_t>(value);
    case Type::Int16: return static_cast<int16_t>(value);
    case Type::Int32: return static_cast<int32_t>(value);
    default: return static_cast<int64_t>(value);
  }
}

Value by_zero(Eval& eval, Op op, SqlType type) {
  return unanswered(eval, type, op == Op::Divide ? "DIVIDE_BY_ZERO" : "REMAINDER_BY_ZERO");
}

Value overflow(Eval& eval, Type type) {
  const bool is_short = type == Type::Int8 || type == Type::Int16;
  return unanswered(eval, {type}, is_short ? "BINARY_ARITHMETIC_OVERFLOW" : "ARITHMETIC_OVERFLOW",
                    "the result does not fit " + type_text({type}));
}

// Integers of a type wrap, or raise in ANSI mode.
Value whole_result(Eval& eval, Op op, int64_t a, int64_t b, Type type) {
  int64_t made = 0;
  const bool wraps = op == Op::Add        ? __builtin_add_overflow(a, b, &made)
                     : op == Op::Subtract ? __builtin_sub_overflow(a, b, &made)
                                          : __builtin_mul_overflow(a, b, &made);
  const int64_t narrow = wrap(static_cast<uint64_t>(made), type);
  if (eval.ansi && (wraps || narrow != made)) return overflow(eval, type);
  return Value::of_integer(narrow, type);
}

Value integer_result(Eval& eval, Op op, int64_t a, int64_t b, Type type) {
  if (op == Op::Add || op == Op::Subtract || op == Op::Multiply) {
    return whole_result(eval, op, a, b, type);
  }
  if (b == 0) return by_zero(eval, op, {type});
  const auto y = static_cast<uint64_t>(b);
  int64_t rest = b == -1 ? 0 : a % b;
  if (op == Op::PositiveRemainder && rest < 0) {
    rest = static_cast<int64_t>(static_cast<uint64_t>(rest) + y) % b;
  }
  return Value::of_integer(wrap(static_cast<uint64_t>(rest), type), type);
}

Value real_result(Eval& eval, Op op, double a, double b, Type type) {
  double made = 0;
  switch (op) {
    case Op::Add: made = a + b; break;
    case Op::Subtract: made = a - b; break;
    case Op::Multiply: made = a * b; break;
    case Op::Divide:
      if (b == 0) return by_zero(eval, op, {type});
      made = a / b;
      break;
    case Op::Remainder:
    case Op::PositiveRemainder:
      if (b == 0) return by_zero(eval, op, {type});
      made = std::fmod(a, b);
      if (op == Op::PositiveRemainder && made < 0) made = std::fmod(made + b, b);
      break;
  }
  if (type == Type::Float) made = static_cast<double>(static_cast<float>(made));
  return Value::of_real(made, type);
}

DecimalOp decimal_op(Op op) {
  switch (op) {
    case Op::Add: return DecimalOp::Add;
    case Op::Subtract: return DecimalOp::Subtract;
    case Op::Multiply: return DecimalOp::Multiply;
    case Op::Divide: return DecimalOp::Divide;
    default: return DecimalOp::Remainder;
  }
}

SqlType operand_type(const Value& value, uint8_t literal_digits) {
  if (value.type == Type::Decimal) return type_of(value);
  return literal_digits != 0 ? decimal_type(literal_digits, 0) : decimal_for(value.type);
}

// Handles an undefined decimal result: a division by zero, or too many digits.
Value no_decimal(Eval& eval, Op op, const Value& b, SqlType to) {
  const bool divides = op != Op::Add && op != Op::Subtract && op != Op::Multiply;
  const bool is_zero = b.type == Type::Decimal ? b.decimal == 0 : b.integer == 0;
  if (divides && is_zero) return by_zero(eval, op, to);
  return unanswered(eval, to, "NUMERIC_VALUE_OUT_OF_RANGE",
                    "the result does not fit " + type_text(to));
}

Value decimal_result_of(Eval& eval, Op op, const Value& a, const Value& b,
                        const Literals& literals) {
  const SqlType left = operand_type(a, literals.digits[0]);
  const SqlType right = operand_type(b, literals.digits[1]);
  const SqlType to = decimal_result(decimal_op(op), left, right);
  if (!a.valid() || !b.valid()) return missing_of(to);
  const auto decimal = [](const Value& value) {
    return value.type == Type::Decimal ? decimal_of(value) : Decimal{value.integer, 0};
  };
  auto made = decimal_compute(decimal_op(op), decimal(a), decimal(b), to);
  if (op == Op::PositiveRemainder && made && *made < 0) {
    // (rest + b) % b
    const SqlType wide = decimal_type(kPrecisionMax, to.scale);
    const auto sum = decimal_compute(DecimalOp::Add, {*made, to.scale}, decimal(b), wide);
    made = sum ? decimal_compute(DecimalOp::Remainder, {*sum, to.scale}, decimal(b), to)
               : std::nullopt;
  }
  return made ? of_decimal(*made, to) : no_decimal(eval, op, b, to);
}

// Dates and whole numbers of days.
bool is_days(const Value& date, const Value& days) {
  return date.type == Type::Date && is_integer(days.type) && days.type != Type::Int64;
}

Value add_days(const Value& date, const Value& days, int sign) {
  if (!date.valid() || !days.valid()) return missing_of(kDate);
  return Value::of_integer(static_cast<int32_t>(date.integer + sign * days.integer), Type::Date);
}

// Text is a number: a double, in ANSI mode beside integers a bigint.
SqlType text_number(const Eval& eval, const Value& a, const Value& b) {
  const Type other = a.type == Type::String ? b.type : a.type;
  return eval.ansi_types && is_integer(other) ? kInt64 : kDouble;
}

Value compute(Eval& eval, Op op, Value a, Value b, const void* state) {
  if (op == Op::Add && is_days(a, b)) return add_days(a, b, 1);
  if (op == Op::Add && is_days(b, a)) return add_days(b, a, 1);
  if (op == Op::Subtract && is_days(a, b)) return add_days(a, b, -1);
  if (op <= Op::Divide) {
    if (auto made = interval_operation(eval, static_cast<IntervalOp>(op), a, b)) return *made;
  }
  const auto sign = kSigns[static_cast<size_t>(op)];
  const SqlType text_type = text_number(eval, a, b);
  const bool divides = op != Op::Add && op != Op::Subtract && op != Op::Multiply;
  bool reads = true;  // divisions read from the right
  for (Value* value : {divides ? &b : &a, divides ? &a : &b}) {
    if (value->type == Type::String) {
      *value = reads ? cast(eval, *value, text_type) : missing_of(text_type);
    }
    reads = value->valid() || !eval.ansi;
    if (value->type != Type::Any && !is_numeric(value->type)) return unsuitable(eval, sign, a, b);
  }
  const bool real = is_real(a.type) || is_real(b.type);
  const bool decimal = a.type == Type::Decimal || b.type == Type::Decimal;
  if (decimal && !real && a.type != Type::Any && b.type != Type::Any) {
    return decimal_result_of(eval, op, a, b, *static_cast<const Literals*>(state));
  }
  const auto common =
      eval.ansi_types ? ansi_type(type_of(a), type_of(b)) : tightest_type(type_of(a), type_of(b));
  SqlType type = common.value_or(kDouble);
  if (type.type == Type::Any) type = kDouble;
  if (type.type == Type::Decimal) {
    return missing_of(decimal_result(decimal_op(op), type, type));
  }
  if (op == Op::Divide) type = kDouble;
  if (!a.valid() || !b.valid()) return missing_of(type);
  a = cast(eval, a, type);
  b = cast(eval, b, type);
  return is_real(type.type) ? real_result(eval, op, a.real, b.real, type.type)
                            : integer_result(eval, op, a.integer, b.integer, type.type);
}

template <Op kOp>
Value binary(Eval& eval, Arguments arguments, const void* state) {
  return compute(eval, kOp, arguments[0], arguments[1], state);
}

Value decimal_div(Eval& eval, Decimal a, Decimal b) {
  const auto made = decimal_quotient(a, b);
  if (!made) return missing_of(kInt64);
  if (eval.ansi) {
    // The same but for its rounding.
    const auto near = decimal_compute(DecimalOp::Divide, a, b, decimal_type(kPrecisionMax, 0));
    const Int128 apart = near ? *near - *made : 2;
    if (apart < -1 || apart > 1) return overflow(eval, Type::Int64);
  }
  return Value::of_integer(*made);
}

// `div`: whole, and as a bigint.
Value whole_quotient(Eval& eval, Arguments arguments, const void*) {
  Value a = arguments[0], b = arguments[1];
  const bool decimal = a.type == Type::Decimal || b.type == Type::Decimal;
  if (decimal && !is_real(a.type) && !is_real(b.type)) {
    for (Value* value : {&a, &b}) {
      if (is_integer(value->type)) *value = cast(eval, *value, decimal_for(value->type));
    }
    if (!a.valid() || !b.valid()) return missing_of(kInt64);
    if (b.decimal == 0) return by_zero(eval, Op::Divide, kInt64);
    return decimal_div(eval, decimal_of(a), decimal_of(b));
  }
  constexpr SqlType kTypes[2] = {kInt64, kInt64};
  Value whole[2];
  if (!converted(eval, arguments, kTypes, whole)) return missing_of(kInt64);
  if (whole[1].integer == 0) return by_zero(eval, Op::Divide, kInt64);
  if (whole[1].integer == -1) {
    if (eval.ansi && whole[0].integer == std::numeric_limits<int64_t>::min()) {
      return overflow(eval, Type::Int64);
    }
    return Value::of_integer(static_cast<int64_t>(-static_cast<uint64_t>(whole[0].integer)));
  }
  return Value::of_integer(whole[0].integer / whole[1].integer);
}

// Text as a double; anything but a number fails.
Value number(Eval& eval, const Value& value) {
  if (value.type == Type::String || value.type == Type::Any) return cast(eval, value, kDouble);
  if (is_numeric(value.type)) return value;
  return eval.fail("expected a number, got " + type_text(type_of(value)));
}

// Spark 4 rounds to 34 digits there, and refuses the row where that makes it too long.
Value negated_decimal(Eval& eval, const Value& value) {
  constexpr int kDigitsMax = 34;
  const SqlType type = type_of(value);
  const int more = decimal_digits(value.decimal) - kDigitsMax;
  if (!eval.ansi || more <= 0) return of_decimal(-value.decimal, type);
  const auto kept =
      decimal_rescale({value.decimal, more}, decimal_type(kPrecisionMax, 0), Rounding::HalfEven);
  const auto made = decimal_rescale({-kept.value_or(0), -more}, decimal_type(type.precision, 0));
  if (made) return of_decimal(*made, type);
  return eval.raise(missing_of(type),
                    "NUMERIC_VALUE_OUT_OF_RANGE: the result does not fit " + type_text(type));
}

Value negated(Eval& eval, const Value& value, bool only_negative) {
  Value made = number(eval, value);
  if (!made.valid()) return made;
  if (is_real(made.type)) {
    made.real = only_negative ? std::fabs(made.real) : -made.real;
  } else if (made.type == Type::Decimal) {
    if (!only_negative || made.decimal < 0) return negated_decimal(eval, made);
  } else if (!only_negative || made.integer < 0) {
    const int64_t turned = wrap(-static_cast<uint64_t>(made.integer), made.type);
    if (eval.ansi && turned == made.integer && turned != 0) return overflow(eval, made.type);
    made.integer = turned;
  }
  return made;
}

Value positive(Eval& eval, Arguments arguments, const void*) { return number(eval, arguments[0]); }

Value negative(Eval& eval, Arguments arguments, const void*) {
  return negated(eval, arguments[0], false);
}

Value absolute(Eval& eval, Arguments arguments, const void*) {
  return negated(eval, arguments[0], true);
}

enum class Bits { And, Or, Xor };

template <Bits kOp>
Value bits(Eval& eval, Arguments arguments, const void*) {
  if (eval.ansi_types && arguments[0].type != arguments[1].type) {
    // A text operand next to a whole number is read as a whole number.
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (arguments[i].type != Type::String) continue;
      Value both[2] = {arguments[0], arguments[1]};
      both[i] = i == 0 || both[0].valid() ? cast(eval, both[i], kInt64) : missing_of(kInt64);
      return bits<kOp>(eval, both, nullptr);
    }
  }
  const auto type = tightest_type(type_of(arguments[0]), type_of(arguments[1]));
  if (!type || (!is_integer(type->type) && type->type != Type::Any)) {
    return unsuitable(eval, "with the bits of", arguments[0], arguments[1]);
  }
  if (!arguments[0].valid() || !arguments[1].valid()) return missing_of(*type);
  const int64_t a = arguments[0].integer, b = arguments[1].integer;
  const int64_t made = kOp == Bits::And ? a & b : (kOp == Bits::Or ? a | b : a ^ b);
  return Value::of_integer(made, type->type);
}

Value bit_not(Eval& eval, Arguments arguments, const void*) {
  const Value& value = arguments[0];
  if (!is_integer(value.type) && value.type != Type::Any) {
    return eval.fail("expected a whole number, got " + type_text(type_of(value)));
  }
  return value.valid() ? Value::of_integer(~value.integer, value.type) : value;
}

enum class Shift { Left, Right, RightUnsigned };

// Shifts an int by the low 5 bits of the count, a bigint by 6.
template <Shift kOp>
Value shift(Eval& eval, Arguments arguments, const void*) {
  const bool wide = arguments[0].type == Type::Int64;
  const SqlType types[2] = {wide ? kInt64 : kInt32, kInt32};
  Value made[2];
  if (!converted(eval, arguments, types, made)) return missing_of(types[0]);
  const auto count = static_cast<int>(made[1].integer & (wide ? 63 : 31));
  const int64_t value = made[0].integer;
  switch (kOp) {
    case Shift::Left:
      return Value::of_integer(wrap(static_cast<uint64_t>(value) << count, types[0].type),
                               types[0].type);
    case Shift::Right: return Value::of_integer(value >> count, types[0].type);
    case Shift::RightUnsigned: break;
  }
  const uint64_t bits_of = wide ? static_cast<uint64_t>(value) : static_cast<uint32_t>(value);
  return Value::of_integer(wrap(bits_of >> count, types[0].type), types[0].type);
}

Value factorial(Eval& eval, Arguments arguments, const void*) {
  constexpr SqlType kTypes[1] = {kInt32};
  Value made[1];
  if (!converted(eval, arguments, kTypes, made)) return missing_of(kInt64);
  if (made[0].integer < 0 || made[0].integer > 20) return missing_of(kInt64);
  int64_t product = 1;
  for (int64_t i = 2; i <= made[0].integer; ++i) product *= i;
  return Value::of_integer(product);
}

constexpr Function division(const FunctionName& name, CallStrict call, Prepare prepare = nullptr) {
  return reading(Reads::LastFirst, function(name, call, prepare));
}

constexpr Function kArithmeticFunctions[] = {
    function(fn::sql_add, binary<Op::Add>, prepare_literals),
    function(fn::sql_subtract, binary<Op::Subtract>, prepare_literals),
    function(fn::sql_multiply, binary<Op::Multiply>, prepare_literals),
    division(fn::sql_divide, binary<Op::Divide>, prepare_literals),
    division(fn::sql_mod, binary<Op::Remainder>, prepare_literals),
    division(fn::sql_pmod, binary<Op::PositiveRemainder>, prepare_literals),
    division(fn::sql_div, whole_quotient),
    function(fn::sql_negative, negative),
    function(fn::sql_positive, positive),
    function(fn::sql_abs, absolute),
    function(fn::sql_bit_and, bits<Bits::And>),
    function(fn::sql_bit_or, bits<Bits::Or>),
    function(fn::sql_bit_xor, bits<Bits::Xor>),
    function(fn::sql_bit_not, bit_not),
    function(fn::sql_shiftleft, shift<Shift::Left>),
    function(fn::sql_shiftright, shift<Shift::Right>),
    function(fn::sql_shiftrightunsigned, shift<Shift::RightUnsigned>),
    function(fn::sql_factorial, factorial),
};

}  // namespace

std::span<const Function> arithmetic_functions() { return kArithmeticFunctions; }

}  // namespace serval::tabular::sql
