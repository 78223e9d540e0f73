// The functions of RankedForest for CPUs with AVX-512 and VBMI, which are compiled for them
// whatever the rest is compiled for. Hot path, any thread.
#pragma once

#include "tabular/forest/ranked.h"

#if defined(__x86_64__) && !defined(SERVAL_SCALAR)
#define SERVAL_FOREST_AVX512
#endif

namespace serval::tabular::ranked {

// Borrowed from a RankedForest, which says what they are.
struct Columns {
  const double* thresholds;
  const double* pivots;
  const uint32_t* slots;
  size_t count;
  uint32_t steps;
};
struct LaneTrees {
  const uint16_t* nodes;
  const uint8_t* places;
  const int32_t* first_leaves;
  size_t count;
  uint32_t depth;
};

void rank_avx512(const Columns& columns, const double* rows, size_t stride, size_t count,
                 uint8_t* to);
// `apart`: bytes from a block's columns to the next one's.
void choose_avx512(const RankedForest::Choice* choice, size_t count, const uint8_t* columns,
                   size_t apart, size_t blocks, uint8_t* kept);
void add_avx512(const uint8_t* places, size_t count, const double* values, bool floats,
                double* sums);
void row_avx512(const Columns& columns, const LaneTrees& trees, const double* row, int32_t* found);

}  // namespace serval::tabular::ranked
