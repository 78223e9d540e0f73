// What values of a tabular model are, and the constants of a column's rows. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/dtype.h"
#include "base/values/plan_types.h"

namespace serval::tabular {

using Type = plan::Type;

// An interned text: see strings.h. Equal ids are equal texts.
using TextId = int32_t;

// Of one value. Invalid: PMML's, a value that a field's domain has not and that was left as it is.
enum class State : uint8_t { Valid = 0, Missing = 1, Invalid = 2 };

// Where a column keeps its values.
enum class Storage : uint8_t { Real, Integer, Text, Decimal };

// Of a scalar type, or of what a Vector or List holds.
constexpr Storage storage_of(Type type) {
  if (is_real(type) || type == Type::Vector) return Storage::Real;
  if (is_text(type)) return Storage::Text;
  return type == Type::Decimal ? Storage::Decimal : Storage::Integer;
}

// "Double", as plan.fbs names it.
std::string_view type_name(Type type);

}  // namespace serval::tabular
