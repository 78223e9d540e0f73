// Generated from proto/plan.fbs by proto/generate.mjs.
#pragma once

#include "flatbuffers/base.h"

namespace serval {
namespace plan {

enum class Type : uint8_t {
  Any = 0,
  Bool = 1,
  Int8 = 2,
  Int16 = 3,
  Int32 = 4,
  Int64 = 5,
  Float = 6,
  Double = 7,
  Decimal = 8,
  String = 9,
  Binary = 10,
  Date = 11,
  Time = 12,
  Timestamp = 13,
  Vector = 14,
  List = 15,
  MIN = Any,
  MAX = List
};

inline const Type (&EnumValuesType())[16] {
  static const Type values[] = {
    Type::Any,
    Type::Bool,
    Type::Int8,
    Type::Int16,
    Type::Int32,
    Type::Int64,
    Type::Float,
    Type::Double,
    Type::Decimal,
    Type::String,
    Type::Binary,
    Type::Date,
    Type::Time,
    Type::Timestamp,
    Type::Vector,
    Type::List
  };
  return values;
}

inline const char * const *EnumNamesType() {
  static const char * const names[17] = {
    "Any",
    "Bool",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Float",
    "Double",
    "Decimal",
    "String",
    "Binary",
    "Date",
    "Time",
    "Timestamp",
    "Vector",
    "List",
    nullptr
  };
  return names;
}

inline const char *EnumNameType(Type e) {
  if (flatbuffers::IsOutRange(e, Type::Any, Type::List)) return "";
  const size_t index = static_cast<size_t>(e);
  return EnumNamesType()[index];
}

}  // namespace plan
}  // namespace serval
