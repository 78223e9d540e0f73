// Bits, bitmaps, numbers in other bases, buckets, csc and sec. Hot path; any thread.
// Source: Spark's mathExpressions.scala and bitwiseExpressions.scala.
#include <algorithm>
#include <bit>
#include <limits>

#include "tabular/sql/composite/items.h"
#include "tabular/sql/functions/tables.h"

namespace serval::tabular::sql {

namespace {

constexpr SqlType kInt8{Type::Int8};

Value bit_count(Eval& eval, Arguments arguments, const void*) {
  const Value& value = arguments[0];
  if (!is_integer(value.type) && value.type != Type::Bool && value.type != Type::Any) {
    return bad_argument(eval, "bit_count", 0, "a whole number or boolean", value);
  }
  if (!value.valid()) return missing_of(kInt32);
  return Value::of_integer(std::popcount(static_cast<uint64_t>(value.integer)), Type::Int32);
}

Value bit_get(Eval& eval, Arguments arguments, const void*) {
  const Value& value = arguments[0];
  if (!is_integer(value.type) && value.type != Type::Any) {
    return bad_argument(eval, "bit_get", 0, "a whole number", value);
  }
  const Value at = argument(eval, "bit_get", arguments, 1, kInt32);
  if (!value.valid() || !at.valid()) return missing_of(kInt8);
  const int bits = value.type == Type::Int8    ? 8
                   : value.type == Type::Int16 ? 16
                   : value.type == Type::Int32 ? 32
                                               : 64;
  if (at.integer < 0 || at.integer >= bits) {
    return eval.fail("bit_get(): argument 2: expected a position from 0 to " +
                     std::to_string(bits - 1) + " of " + type_text(type_of(value)) + ", got " +
                     std::to_string(at.integer));
  }
  return Value::of_integer((value.integer >> at.integer) & 1, Type::Int8);
}

Value bin(Eval& eval, Arguments arguments, const void*) {
  const Value value = argument(eval, "bin", arguments, 0, kInt64);
  if (!value.valid()) return missing_of(kString);
  std::string text;
  for (auto left = static_cast<uint64_t>(value.integer); left != 0; left >>= 1) {
    text.insert(text.begin(), static_cast<char>('0' + (left & 1)));
  }
  return text_value(eval, text.empty() ? "0" : text);
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  return 99;
}

// conv(number, from, to): reads the leading digits of base `from`; a negative `to` writes a signed
// number.
Value conv(Eval& eval, Arguments arguments, const void*) {
  const Value number = argument(eval, "conv", arguments, 0, kString);
  const Value from = argument(eval, "conv", arguments, 1, kInt32);
  const Value to = argument(eval, "conv", arguments, 2, kInt32);
  if (!number.valid() || !from.valid() || !to.valid()) return missing_of(kString);
  const int64_t base = from.integer, size = to.integer < 0 ? -to.integer : to.integer;
  if (base < 2 || base > 36 || size < 2 || size > 36) return missing_of(kString);
  std::string_view text = eval.text(number);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  if (text.empty()) return missing_of(kString);
  bool negative = text.front() == '-';
  if (negative) text.remove_prefix(1);
  uint64_t value = 0;
  bool over = false;
  for (const char c : text) {
    const int digit = digit_of(c);
    if (digit >= base) break;
    over = over || __builtin_mul_overflow(value, static_cast<uint64_t>(base), &value) ||
           __builtin_add_overflow(value, static_cast<uint64_t>(digit), &value);
  }
  if (over && eval.ansi) return unanswered(eval, kString, "ARITHMETIC_OVERFLOW", text);
  if (over) value = std::numeric_limits<uint64_t>::max();
  const auto top = static_cast<int64_t>(value);
  if (negative && to.integer > 0) {
    value = top < 0 ? std::numeric_limits<uint64_t>::max() : 0 - value;
  }
  if (to.integer < 0 && static_cast<int64_t>(value) < 0) {
    value = 0 - value;
    negative = true;
  }
  std::string made;
  do {
    made.insert(made.begin(),
                "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[value % static_cast<uint64_t>(size)]);
    value /= static_cast<uint64_t>(size);
  } while (value != 0);
  if (negative && to.integer < 0) made.insert(made.begin(), '-');
  return text_value(eval, made);
}

Value width_bucket(Eval& eval, Arguments arguments, const void*) {
  Value made[4];
  bool valid = true;
  for (size_t i = 0; i < 4; ++i) {
    made[i] = argument(eval, "width_bucket", arguments, i, i < 3 ? kDouble : kInt64);
    valid = valid && made[i].valid();
  }
  if (!valid) return missing_of(kInt64);
  const double value = made[0].real, low = made[1].real, high = made[2].real;
  const int64_t count = made[3].integer;
  const bool bounded = std::isfinite(low) && std::isfinite(high) && low != high;
  if (count <= 0 || count == std::numeric_limits<int64_t>::max() || std::isnan(value) || !bounded) {
    return missing_of(kInt64);
  }
  const double least = std::min(low, high), most = std::max(low, high);
  int64_t bucket = 0;
  if (low < high ? value < least : value > most) bucket = 0;
  else if (low < high ? value >= most : value <= least) bucket = count + 1;
  else {
    const double part =
        low < high ? (value - least) / (most - least) : (most - value) / (most - least);
    bucket = static_cast<int64_t>(static_cast<double>(count) * part) + 1;
  }
  return Value::of_integer(bucket);
}

template <bool kSine>
Value reciprocal(Eval& eval, Arguments arguments, const void*) {
  const Value value = argument(eval, kSine ? "csc" : "sec", arguments, 0, kDouble);
  if (!value.valid()) return missing_of(kDouble);
  return Value::of_real(1 / (kSine ? std::sin(value.real) : std::cos(value.real)));
}

// Bitmaps of 32,768 bits: the bit of a number, and which bitmap it is in.
constexpr int64_t kBitmapBits = 8 * 4096;

Value bitmap_bit_position(Eval& eval, Arguments arguments, const void*) {
  const Value value = argument(eval, "bitmap_bit_position", arguments, 0, kInt64);
  if (!value.valid()) return missing_of(kInt64);
  const int64_t number = value.integer;
  return Value::of_integer(number > 0 ? (number - 1) % kBitmapBits : -(number % kBitmapBits));
}

Value bitmap_bucket_number(Eval& eval, Arguments arguments, const void*) {
  const Value value = argument(eval, "bitmap_bucket_number", arguments, 0, kInt64);
  if (!value.valid()) return missing_of(kInt64);
  const int64_t number = value.integer;
  return Value::of_integer(number > 0 ? 1 + (number - 1) / kBitmapBits : number / kBitmapBits);
}

Value bitmap_count(Eval& eval, Arguments arguments, const void*) {
  const Value& value = arguments[0];
  if (value.type != Type::Binary && value.type != Type::Any) {
    return bad_argument(eval, "bitmap_count", 0, "binary", value);
  }
  if (!value.valid()) return missing_of(kInt64);
  int64_t count = 0;
  for (const char c : eval.text(value)) count += std::popcount(static_cast<uint8_t>(c));
  return Value::of_integer(count);
}

constexpr Function kBitsFunctions[] = {
    function(fn::sql_bit_count, bit_count),
    function(fn::sql_bit_get, bit_get),
    function(fn::sql_bin, bin),
    function(fn::sql_conv, conv),
    function(fn::sql_width_bucket, width_bucket),
    function(fn::sql_csc, reciprocal<true>),
    function(fn::sql_sec, reciprocal<false>),
    function(fn::sql_bitmap_bit_position, bitmap_bit_position),
    function(fn::sql_bitmap_bucket_number, bitmap_bucket_number),
    function(fn::sql_bitmap_count, bitmap_count),
};

}  // namespace

std::span<const Function> bit_functions() { return kBitsFunctions; }

}  // namespace serval::tabular::sql
