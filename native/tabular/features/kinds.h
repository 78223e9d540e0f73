// Tables of this folder's files, which kinds.cc joins. Load thread.
#pragma once

#include "tabular/stage.h"

namespace serval::tabular {

std::span<const StageKind> string_kinds();    // strings.cc
std::span<const StageKind> number_kinds();    // numbers.cc
std::span<const StageKind> assembly_kinds();  // assembly.cc
std::span<const StageKind> scaler_kinds();    // scalers.cc
std::span<const StageKind> indexer_kinds();   // vector_indexer.cc
std::span<const StageKind> product_kinds();   // products.cc
std::span<const StageKind> project_kinds();   // projections.cc
std::span<const StageKind> token_kinds();     // tokens.cc
std::span<const StageKind> count_kinds();     // counts.cc

}  // namespace serval::tabular
