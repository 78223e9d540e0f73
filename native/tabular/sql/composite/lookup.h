// One part of an array, a map or a structure. Hot path; any thread.
#pragma once

#include "tabular/sql/composite/items.h"

namespace serval::tabular::sql {

// arguments[0] at arguments[1]: an item of an array counted from `first` (1: from the end below 0),
// a map's value of a key, or the field that a constant names. Missing where there is none.
Value look_up(Eval& eval, std::string_view function, std::span<const Value> arguments, int first);

}  // namespace serval::tabular::sql
