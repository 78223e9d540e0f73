// Walks of trees over ranks with AVX-512. Hot path, any thread.
#include "tabular/forest/ranked_avx512.h"

#if defined(SERVAL_FOREST_AVX512)
// GCC 12 warns of _mm512_undefined_epi32(), which its own functions pass. Source: GCC's bug 105593.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>

#include <algorithm>

#define SERVAL_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi2")))

namespace serval::tabular::ranked {
namespace {

constexpr size_t kRows = RankedForest::kRows, kLanes = RankedForest::kLanes;
constexpr size_t kDoubles = 8;   // of a vector
constexpr size_t kTogether = 4;  // vectors whose searches are interleaved
constexpr uint32_t kPivotSteps = 4;

// Searches of kTogether * 8 values at once.
struct Search {
  __m512d value[kTogether];
  __m512i rank[kTogether];
};

// Continues searches that have `step * 2` thresholds left each, which begin at `thresholds` plus
// `base`.
SERVAL_AVX512 inline void search_on(Search& search, const double* thresholds,
                                    const __m512i (&base)[kTogether], int64_t step) {
  for (; step > 0; step /= 2) {
    const __m512i ahead = _mm512_set1_epi64(step - 1), width = _mm512_set1_epi64(step);
    for (size_t i = 0; i < kTogether; ++i) {
      const __m512i at = _mm512_add_epi64(_mm512_add_epi64(search.rank[i], base[i]), ahead);
      const __m512d found = _mm512_i64gather_pd(at, thresholds, 8);
      const __mmask8 passed = _mm512_cmp_pd_mask(found, search.value[i], _CMP_NGE_UQ);
      search.rank[i] = _mm512_mask_add_epi64(search.rank[i], passed, search.rank[i], width);
    }
  }
}

// The first four steps, in registers.
SERVAL_AVX512 inline void search_pivots(Search& search, const double* pivots, uint32_t steps) {
  const __m512d low = _mm512_loadu_pd(pivots), high = _mm512_loadu_pd(pivots + kDoubles);
  for (int64_t step = 8; step > 0; step /= 2) {
    const __m512i ahead = _mm512_set1_epi64(step - 1), width = _mm512_set1_epi64(step);
    for (size_t i = 0; i < kTogether; ++i) {
      const __m512i at = _mm512_add_epi64(search.rank[i], ahead);
      const __m512d found = _mm512_permutex2var_pd(low, at, high);
      const __mmask8 passed = _mm512_cmp_pd_mask(found, search.value[i], _CMP_NGE_UQ);
      search.rank[i] = _mm512_mask_add_epi64(search.rank[i], passed, search.rank[i], width);
    }
  }
  const auto shift = static_cast<unsigned>(steps - kPivotSteps);
  for (size_t i = 0; i < kTogether; ++i) {
    search.rank[i] = _mm512_slli_epi64(search.rank[i], shift);
  }
}

template <size_t blocks>
SERVAL_AVX512 inline void choose(const RankedForest::Choice* choice, size_t count,
                                 const uint8_t* columns, size_t apart, uint8_t* kept) {
  for (const RankedForest::Choice* end = choice + count; choice != end; ++choice) {
    const __m512i key = _mm512_set1_epi32(static_cast<int>(choice->key));
    const __m512i before = _mm512_set1_epi32(static_cast<int>(choice->before));
    const uint8_t* column = columns + choice->column * kRows;
    for (size_t i = 0; i < blocks; ++i) {
      const __m512i ranks = _mm512_load_si512(column + i * apart);
      const __mmask64 right = _mm512_cmpge_epi8_mask(ranks, key);
      const __m512i chosen =
          _mm512_mask_add_epi8(_mm512_load_si512(kept + choice->left + i * kRows), right,
                               _mm512_load_si512(kept + choice->right + i * kRows), before);
      _mm512_store_si512(kept + choice->to + i * kRows, chosen);
    }
  }
}

template <size_t groups>
SERVAL_AVX512 inline void walk_lanes(const LaneTrees& trees, size_t group, __m512i low_ranks,
                                     __m512i high_ranks, int32_t* found_leaves) {
  const size_t full = kLanes << trees.depth;
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const __m512i byte = _mm512_set1_epi32(0xff), one = _mm512_set1_epi32(1);
  const uint16_t* nodes = trees.nodes + group * full;
  __m512i at[groups];  // the node of a full tree
  for (size_t i = 0; i < groups; ++i) at[i] = one;
  for (uint32_t level = 0; level < trees.depth; ++level) {
    for (size_t i = 0; i < groups; ++i) {
      const __m512i place = _mm512_add_epi32(_mm512_slli_epi32(at[i], 4), lane);
      const __m512i node = _mm512_i32gather_epi32(place, nodes + i * full, 2);
      const __m512i column = _mm512_srli_epi32(node, 8);
      const __m512i rank =
          _mm512_and_si512(_mm512_permutex2var_epi8(low_ranks, column, high_ranks), byte);
      const __mmask16 right = _mm512_cmpge_epu32_mask(rank, _mm512_and_si512(node, byte));
      at[i] = _mm512_add_epi32(at[i], at[i]);
      at[i] = _mm512_mask_or_epi32(at[i], right, at[i], one);
    }
  }
  for (size_t i = 0; i < groups; ++i) {
    const uint8_t* places = trees.places + (group + i) * full;
    const __m512i leaf = _mm512_sub_epi32(at[i], _mm512_set1_epi32(1 << trees.depth));
    const __m512i place = _mm512_add_epi32(_mm512_slli_epi32(leaf, 4), lane);
    const __m512i found = _mm512_and_si512(_mm512_i32gather_epi32(place, places, 1), byte);
    const size_t tree = (group + i) * kLanes;
    const __m512i first = _mm512_loadu_si512(trees.first_leaves + tree);
    const size_t count = std::min(trees.count - tree, kLanes);
    const auto mask = static_cast<__mmask16>((1u << count) - 1);
    _mm512_mask_storeu_epi32(found_leaves + tree, mask, _mm512_add_epi32(found, first));
  }
}

}  // namespace

SERVAL_AVX512 void rank_avx512(const Columns& columns, const double* rows, size_t stride,
                               size_t count, uint8_t* to) {
  const size_t width = size_t{1} << columns.steps;
  const __m512i lane = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
  const __m512i apart = _mm512_mullo_epi64(lane, _mm512_set1_epi64(static_cast<int64_t>(stride)));
  __m512i base[kTogether];
  for (size_t i = 0; i < kTogether; ++i) base[i] = _mm512_setzero_si512();
  for (size_t column = 0; column < columns.count; ++column, to += kRows) {
    const double* thresholds = columns.thresholds + column * width;
    const double* value = rows + columns.slots[column];
    for (size_t row = 0; row < count; row += kTogether * kDoubles) {
      Search search;
      for (size_t i = 0; i < kTogether; ++i) {
        const size_t first = row + i * kDoubles;
        const size_t held = first < count ? std::min(count - first, kDoubles) : 0;
        const auto mask = static_cast<__mmask8>((1u << held) - 1);
        search.value[i] = _mm512_mask_i64gather_pd(_mm512_setzero_pd(), mask, apart,
                                                   value + std::min(first, count - 1) * stride, 8);
        search.rank[i] = _mm512_setzero_si512();
      }
      auto step = static_cast<int64_t>(width / 2);
      if (columns.steps >= kPivotSteps) {
        search_pivots(search, columns.pivots + column * 16, columns.steps);
        step = static_cast<int64_t>(width >> (kPivotSteps + 1));
      }
      search_on(search, thresholds, base, step);
      for (size_t i = 0; i < kTogether; ++i) {
        const __m512i biased = _mm512_xor_si512(search.rank[i], _mm512_set1_epi64(0x80));
        _mm_storel_epi64(reinterpret_cast<__m128i*>(to + row + i * kDoubles),
                         _mm512_cvtepi64_epi8(biased));
      }
    }
  }
}

SERVAL_AVX512 void choose_avx512(const RankedForest::Choice* choice, size_t count,
                                 const uint8_t* columns, size_t apart, size_t blocks,
                                 uint8_t* kept) {
  if (blocks == 1) choose<1>(choice, count, columns, apart, kept);
  else choose<RankedForest::kTogether>(choice, count, columns, apart, kept);
}

SERVAL_AVX512 void add_avx512(const uint8_t* places, size_t count, const double* values,
                              bool floats, double* sums) {
  for (size_t row = 0; row < count; row += kDoubles) {
    const auto held = static_cast<__mmask8>((1u << std::min(count - row, kDoubles)) - 1);
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(places + row));
    const __m512d found =
        _mm512_mask_i32gather_pd(_mm512_setzero_pd(), held, _mm256_cvtepu8_epi32(bytes), values, 8);
    __m512d sum = _mm512_maskz_loadu_pd(held, sums + row);
    if (floats) {
      const __m256 added = _mm256_add_ps(_mm512_cvtpd_ps(sum), _mm512_cvtpd_ps(found));
      sum = _mm512_cvtps_pd(added);
    } else {
      sum = _mm512_add_pd(sum, found);
    }
    _mm512_mask_storeu_pd(sums + row, held, sum);
  }
}

SERVAL_AVX512 void row_avx512(const Columns& columns, const LaneTrees& trees, const double* row,
                              int32_t* found_leaves) {
  alignas(64) uint8_t ranks[RankedForest::kRowColumnsMax] = {};
  const size_t width = size_t{1} << columns.steps;
  for (size_t column = 0; column < columns.count; column += kTogether * kDoubles) {
    Search search;
    __m512i base[kTogether];
    for (size_t i = 0; i < kTogether; ++i) {
      const size_t first = column + i * kDoubles;
      const size_t held = first < columns.count ? std::min(columns.count - first, kDoubles) : 0;
      const auto mask = static_cast<__mmask8>((1u << held) - 1);
      const __m256i slots = _mm256_maskz_loadu_epi32(mask, columns.slots + first);
      search.value[i] = _mm512_mask_i32gather_pd(_mm512_setzero_pd(), mask, slots, row, 8);
      search.rank[i] = _mm512_setzero_si512();
      const __m512i number = _mm512_add_epi64(_mm512_set1_epi64(static_cast<int64_t>(first)),
                                              _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
      base[i] = _mm512_maskz_slli_epi64(mask, number, static_cast<unsigned>(columns.steps));
    }
    search_on(search, columns.thresholds, base, static_cast<int64_t>(width / 2));
    for (size_t i = 0; i < kTogether; ++i) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(ranks + column + i * kDoubles),
                       _mm512_cvtepi64_epi8(search.rank[i]));
    }
  }
  const __m512i low = _mm512_load_si512(ranks), high = _mm512_load_si512(ranks + 64);
  const size_t groups = (trees.count + kLanes - 1) / kLanes;
  size_t group = 0;
  for (; group + 4 <= groups; group += 4) walk_lanes<4>(trees, group, low, high, found_leaves);
  if (groups - group == 3) walk_lanes<3>(trees, group, low, high, found_leaves);
  if (groups - group == 2) walk_lanes<2>(trees, group, low, high, found_leaves);
  if (groups - group == 1) walk_lanes<1>(trees, group, low, high, found_leaves);
}

}  // namespace serval::tabular::ranked

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#endif
