// Integers that are computed from sizes, before a model runs. Control plane; pure.
#pragma once

#include <span>
#include <string_view>

#include "backend/rows/rule.h"

namespace serval::rows {

// More integers than that are not followed one by one.
inline constexpr size_t kCellsMax = 1024;

// The elementwise operator on integers that are all known; nullopt: it depends on the number of
// rows in a way that is no product with it.
std::optional<Dim> fold(Symbols& symbols, std::string_view op, std::span<const Dim> args);
// The whole node, where all inputs are a few known integers; nullopt: they are not. Throws where
// the number of rows decides.
std::optional<Value> folded(Call& call);

}  // namespace serval::rows
