// Casts between PMML's data types, equality across them, values as text. Hot path, any thread.
// Source: tabular.md 3.3
#include <array>
#include <charconv>

#include "base/values/civil.h"
#include "tabular/java/number_text.h"
#include "tabular/pmml/functions/functions.h"

namespace serval::tabular::pmml {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

bool parse_real(std::string_view text, double& value) {
  text = trimmed(text);
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

Value cannot(Eval& eval, const Value& value, Type type) {
  const std::string shown = text_of(eval, value);
  return eval.fail("cannot cast " + std::string(type_name(value.type)) + " \"" +
                   shown.substr(0, 100) + "\" to " + std::string(type_name(type)));
}

Value from_text(Eval& eval, const Value& value, Type type) {
  const std::string_view text = eval.text(value);
  if (type == Type::Bool) {
    const std::string_view word = trimmed(text);
    if (word == "true" || word == "1" || word == "1.0") return Value::of_bool(true);
    if (word == "false" || word == "0" || word == "0.0") return Value::of_bool(false);
    return cannot(eval, value, type);
  }
  double number = 0;
  if (!is_real(type) && !is_integer(type)) return cannot(eval, value, type);
  if (!parse_real(text, number)) return cannot(eval, value, type);
  if (is_integer(type)) {
    if (number != std::floor(number) || std::fabs(number) > 9e15) return cannot(eval, value, type);
    return Value::of_integer(static_cast<int64_t>(number), type);
  }
  if (type == Type::Float) number = static_cast<double>(static_cast<float>(number));
  return Value::of_real(without_sign_of_zero(number), type);
}

Value from_number(Eval& eval, const Value& value, Type type) {
  if (is_real(type)) {
    const double number = without_sign_of_zero(real_of(value));
    if (type == Type::Double) return Value::of_real(number);
    return Value::of_real(static_cast<double>(static_cast<float>(number)), type);
  }
  if (!is_integer(type)) return cannot(eval, value, type);
  if (!is_real(value.type)) return Value::of_integer(value.integer, type);
  if (value.real != std::floor(value.real) || std::fabs(value.real) > 9e15) {
    return cannot(eval, value, type);
  }
  return Value::of_integer(static_cast<int64_t>(value.real), type);
}

// The type that pmml.cast's second argument names, and what is counted since.
struct Target {
  Type type = Type::Any;
  int64_t since_days = 0;  // of dateDaysSince, dateTimeSecondsSince
  enum { Plain, Days, Seconds } counts = Plain;
};

int64_t year_days(int year) {
  const int64_t before = year - 1;
  return before * 365 + before / 4 - before / 100 + before / 400 - 719'162;
}

Result<std::shared_ptr<const void>> prepare_cast(std::span<const Value* const> constants,
                                                 const Dictionary& dictionary) {
  static constexpr std::array<std::pair<std::string_view, Type>, 9> kTypes = {{
      {"string", Type::String},
      {"integer", Type::Int32},
      {"float", Type::Float},
      {"double", Type::Double},
      {"boolean", Type::Bool},
      {"date", Type::Date},
      {"time", Type::Time},
      {"dateTime", Type::Timestamp},
      {"timeSeconds", Type::Int64},
  }};
  if (constants.size() != 2 || constants[1] == nullptr || !is_text(constants[1]->type)) {
    return invalid_argument("the data type must be a constant");
  }
  const std::string_view name = dictionary.text(constants[1]->text);
  auto target = std::make_shared<Target>();
  for (const auto& [known, type] : kTypes) {
    if (known == name) target->type = type;
  }
  const size_t bracket = name.find('[');
  if (bracket != std::string_view::npos && name.size() == bracket + 6) {
    int year = 0;
    std::from_chars(name.data() + bracket + 1, name.data() + bracket + 5, year);
    target->type = Type::Int64;
    target->since_days = year_days(year);
    target->counts = name.starts_with("dateDays") ? Target::Days : Target::Seconds;
  }
  if (target->type == Type::Any) {
    return invalid_argument("data type '" + std::string(name) + "' is unknown");
  }
  return std::shared_ptr<const void>(std::move(target));
}

Value cast_call(Eval& eval, std::span<const Value> arguments, const void* state) {
  const Target& target = *static_cast<const Target*>(state);
  const Value& value = arguments[0];
  if (target.counts == Target::Days && value.type == Type::Date) {
    return Value::of_integer(value.integer - target.since_days);
  }
  if (target.counts == Target::Seconds && value.type == Type::Timestamp) {
    return Value::of_integer(floor_divide(value.integer, kSecondMicros) -
                             target.since_days * kDaySeconds);
  }
  if (target.type == Type::Int64 && value.type == Type::Time) {
    return Value::of_integer(value.integer);
  }
  return cast(eval, value, target.type);
}

// value, least, most, factor, constant, 'round' | 'ceiling' | 'floor' | '': applies PMML's Target
// element.
Value rescale(Eval& eval, std::span<const Value> arguments, const void*) {
  double value = real_of(arguments[0]);
  value = java_min(java_max(value, arguments[1].real), arguments[2].real);
  value *= arguments[3].real;
  value += arguments[4].real;
  const std::string_view how = eval.text(arguments[5]);
  if (how == "round") value = java_round(value);
  if (how == "ceiling") value = std::ceil(value);
  if (how == "floor") value = std::floor(value);
  return Value::of_real(value);
}

constexpr Function kValuesFunctions[] = {
    {fn::pmml_cast, cast_call, nullptr, prepare_cast},
    {fn::pmml_rescale, rescale, nullptr, nullptr},
};

}  // namespace

Value cast(Eval& eval, const Value& value, Type type) {
  if (value.missing() || value.type == type) return value;
  if (type == Type::String) {
    const bool writable = is_number(value) || value.type == Type::Bool || is_text(value.type);
    return writable ? eval.of_text(text_of(eval, value)) : cannot(eval, value, type);
  }
  if (is_text(value.type)) return from_text(eval, value, type);
  if (value.type == Type::Bool) {
    if (is_real(type)) return Value::of_real(static_cast<double>(value.integer), type);
    if (is_integer(type)) return Value::of_integer(value.integer, type);
    return cannot(eval, value, type);
  }
  if (is_number(value)) return from_number(eval, value, type);
  if (value.type == Type::Timestamp) {
    const int64_t seconds = floor_divide(value.integer, kSecondMicros);
    const int64_t day = floor_divide(seconds, kDaySeconds);
    if (type == Type::Date) return Value::of_integer(day, type);
    if (type == Type::Time) return Value::of_integer(seconds - day * kDaySeconds, type);
  }
  return cannot(eval, value, type);
}

std::string text_of(const Eval& eval, const Value& value) {
  if (value.missing()) return "";
  if (is_text(value.type)) return std::string(eval.text(value));
  if (value.type == Type::Bool) return value.integer != 0 ? "true" : "false";
  if (is_real(value.type)) {
    std::string text;
    if (value.type == Type::Float) append_java_float(value.real, text);
    else append_java_double(value.real, text);
    return text;
  }
  if (storage_of(value.type) == Storage::Integer) return std::to_string(value.integer);
  return std::string(type_name(value.type));
}

bool equal_values(Eval& eval, const Value& left, const Value& right) {
  if (is_text(left.type)) {
    if (is_text(right.type)) return left.text == right.text;
    return eval.text(left) == text_of(eval, right);
  }
  if (is_number(left) && is_number(right)) {
    if (!is_real(left.type) && !is_real(right.type)) return left.integer == right.integer;
    if (is_integer(left.type) && right.real != std::floor(right.real)) {
      cannot(eval, right, Type::Int32);
      return false;
    }
    return java_order(real_of(left), real_of(right)) == 0;
  }
  if (left.type == Type::Bool && is_number(right)) {
    const double number = real_of(right);
    if (number != 0 && number != 1) cannot(eval, right, Type::Bool);
    return number == static_cast<double>(left.integer);
  }
  const Value same = cast(eval, right, left.type);
  if (eval.failed()) return false;
  if (storage_of(left.type) == Storage::Real) return java_order(left.real, same.real) == 0;
  return left.integer == same.integer;
}

std::span<const Function> value_functions() { return kValuesFunctions; }

}  // namespace serval::tabular::pmml
