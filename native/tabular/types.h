// What values of a tabular model are, and the constants of a column's rows. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/generated/plan_names.h"

namespace serval::tabular {

using Type = plan::Type;

// An interned text: see strings.h. Equal ids are equal texts.
using TextId = int32_t;

__extension__ using Int128 = __int128;  // decimals: the value times 10^scale

// Of one value. Invalid: PMML's, a value that a field's domain has not and that was left as it is.
enum class State : uint8_t { Valid = 0, Missing = 1, Invalid = 2 };

// Where a column keeps its values.
enum class Storage : uint8_t { Real, Integer, Text, Decimal };

constexpr bool is_real(Type type) { return type == Type::Float || type == Type::Double; }
constexpr bool is_integer(Type type) { return type >= Type::Int8 && type <= Type::Int64; }
constexpr bool is_text(Type type) { return type == Type::String || type == Type::Binary; }

// Of a scalar type, or of what a Vector or List holds.
constexpr Storage storage_of(Type type) {
  if (is_real(type) || type == Type::Vector) return Storage::Real;
  if (is_text(type)) return Storage::Text;
  return type == Type::Decimal ? Storage::Decimal : Storage::Integer;
}

// "Double", as plan.fbs names it.
std::string_view type_name(Type type);

}  // namespace serval::tabular
