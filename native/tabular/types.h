// Value types of a tabular model, and constants for a column's rows. Any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/dtype.h"
#include "base/values/plan_types.h"

namespace serval::tabular {

using Type = plan::Type;

// An interned text: see strings.h. Equal ids are equal texts.
using TextId = int32_t;

// State of a value. Invalid: a PMML value outside its field's domain that was kept.
enum class State : uint8_t { Valid = 0, Missing = 1, Invalid = 2 };

// The member in which a column stores its values.
enum class Storage : uint8_t { Real, Integer, Text, Decimal };

// Storage of a scalar type, or of the elements of a Vector or List.
constexpr Storage storage_of(Type type) {
  if (is_real(type) || type == Type::Vector) return Storage::Real;
  if (is_text(type)) return Storage::Text;
  return type == Type::Decimal ? Storage::Decimal : Storage::Integer;
}

// "Double", as plan.fbs names it.
std::string_view type_name(Type type);

}  // namespace serval::tabular
