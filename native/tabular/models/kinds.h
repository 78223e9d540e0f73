// Tables of this folder's files, which kinds.cc joins. Load thread.
#pragma once

#include "tabular/stage.h"

namespace serval::tabular {

std::span<const StageKind> linear_kinds();        // linear.cc
std::span<const StageKind> classify_kinds();      // classify.cc
std::span<const StageKind> curve_kinds();         // curves.cc
std::span<const StageKind> layer_kinds();         // layers.cc
std::span<const StageKind> cluster_kinds();       // clusters.cc
std::span<const StageKind> recommend_kinds();     // recommend.cc
std::span<const StageKind> topic_kinds();         // topics.cc
std::span<const StageKind> contribution_kinds();  // contributions.cc
std::span<const StageKind> kernel_kinds();        // kernels.cc
std::span<const StageKind> neighbor_kinds();      // neighbors.cc

}  // namespace serval::tabular
