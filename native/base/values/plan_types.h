// Classes of a plan's types (plan.fbs). Found by argument-dependent lookup: is_real(type). Any
// thread.
#pragma once

#include "base/generated/plan_names.h"

namespace serval::plan {

constexpr bool is_real(Type type) { return type == Type::Float || type == Type::Double; }
constexpr bool is_integer(Type type) { return type >= Type::Int8 && type <= Type::Int64; }
constexpr bool is_text(Type type) { return type == Type::String || type == Type::Binary; }
constexpr bool is_list(Type type) { return type == Type::Vector || type == Type::List; }

}  // namespace serval::plan
