// A single value, used by expressions. Any thread.
#pragma once

#include "tabular/types.h"

namespace serval::tabular {

struct Value {
  Type type = Type::Any;
  State state = State::Missing;
  uint8_t precision = 0, scale = 0;  // Decimal
  union {
    double real;      // Float, Double
    int64_t integer;  // Bool, Int8 to Int64, Date, Time, Timestamp
    TextId text;      // String, Binary
    Int128 decimal;
    // Vector, List: row `row` of a column (only as an argument of functions on them)
    struct {
      const struct Column* column;
      uint32_t row;
    } list;
  };

  Value() : integer(0) {}
  bool valid() const { return state == State::Valid; }
  bool missing() const { return state == State::Missing; }

  static Value of_real(double value, Type type = Type::Double) {
    Value made;
    made.type = type;
    made.state = State::Valid;
    made.real = value;
    return made;
  }
  static Value of_integer(int64_t value, Type type = Type::Int64) {
    Value made;
    made.type = type;
    made.state = State::Valid;
    made.integer = value;
    return made;
  }
  static Value of_bool(bool value) { return of_integer(value, Type::Bool); }
  static Value of_text(TextId value) {
    Value made;
    made.type = Type::String;
    made.state = State::Valid;
    made.text = value;
    return made;
  }
  static Value missing_of(Type type) {
    Value made;
    made.type = type;
    return made;
  }
};

}  // namespace serval::tabular
