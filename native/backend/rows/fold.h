// Integers that are computed from sizes, before a model runs. Control plane; pure.
#pragma once

#include <span>
#include <string_view>

#include "backend/rows/rule.h"

namespace serval::rows {

// Tensors with more integers are not tracked element by element.
inline constexpr size_t kCellsMax = 1024;

// Applies the elementwise operator to integers that are all known; nullopt: the result is not a
// product, since it depends on the number of rows in another way.
std::optional<Dim> fold(Symbols& symbols, std::string_view op, std::span<const Dim> args);
// Evaluates the whole node if all inputs are a few known integers; nullopt: they are not. Throws if
// the result depends on the number of rows.
std::optional<Value> folded(Call& call);

}  // namespace serval::rows
