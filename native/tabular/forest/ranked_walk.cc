// Walks of trees over ranks, in plain C++ and vectors of the compiler. Hot path, any thread.
#include <cstring>

#include "tabular/forest/ranked.h"
#include "tabular/forest/ranked_avx512.h"

namespace serval::tabular {
namespace {

#if defined(__AVX2__)
constexpr size_t kBytes = 32;
#else
constexpr size_t kBytes = 16;
#endif
using Bytes [[gnu::vector_size(kBytes), gnu::may_alias]] = int8_t;
using Places [[gnu::vector_size(kBytes), gnu::may_alias]] = uint8_t;

template <size_t blocks>
void choose_portable(const RankedForest::Choice* choice, size_t count, const uint8_t* columns,
                     size_t apart, uint8_t* kept) {
  constexpr size_t kRows = RankedForest::kRows, kVectors = kRows / kBytes;
  for (const RankedForest::Choice* end = choice + count; choice != end; ++choice) {
    const auto key = static_cast<int8_t>(choice->key & 0xff) - Bytes{};
    const auto before = static_cast<uint8_t>(choice->before & 0xff) - Places{};
    const uint8_t* column = columns + choice->column * kRows;
    const auto* left = reinterpret_cast<const Places*>(kept + choice->left);
    const auto* right = reinterpret_cast<const Places*>(kept + choice->right);
    auto* to = reinterpret_cast<Places*>(kept + choice->to);
    for (size_t i = 0; i < blocks * kVectors; ++i) {
      const auto* ranks = reinterpret_cast<const Bytes*>(column + i / kVectors * apart);
      to[i] = ranks[i % kVectors] < key ? left[i] : right[i] + before;
    }
  }
}

}  // namespace

void RankedForest::begin(uint8_t* work) { std::memset(work, 0, kTogether * kRows); }

void RankedForest::rank_block(const double* rows, size_t stride, size_t count, size_t block,
                              uint8_t* work) const {
  uint8_t* columns = columns_of(block, work);
#if defined(SERVAL_FOREST_AVX512)
  if (path_ == Path::Avx512) {
    return ranked::rank_avx512(
        {thresholds_.data(), pivots_.data(), columns_.data(), columns_.size(), steps_}, rows,
        stride, count, columns);
  }
#endif
  const size_t width = size_t{1} << steps_;
  for (size_t column = 0; column < columns_.size(); ++column, columns += kRows) {
    const double* thresholds = thresholds_.data() + column * width;
    const double* value = rows + columns_[column];
    for (size_t row = 0; row < count; ++row, value += stride) {
      size_t rank = 0;
      for (size_t step = width / 2; step > 0; step /= 2) {
        rank += thresholds[rank + step - 1] >= *value ? 0 : step;
      }
      columns[row] = static_cast<uint8_t>(rank ^ 0x80);
    }
  }
}

const uint8_t* RankedForest::walk_blocks(size_t tree, size_t block, size_t count,
                                         uint8_t* work) const {
  const Tree& one = trees_[tree];
  if (one.count == 0) return work;  // a single leaf
  const Choice* choices = choices_.data() + one.first;
  const uint8_t* columns = columns_of(block, work);
  const size_t apart = columns_.size() * kRows;
#if defined(SERVAL_FOREST_AVX512)
  if (path_ == Path::Avx512) {
    ranked::choose_avx512(choices, one.count, columns, apart, count, work);
    return work + kTogether * kRows;
  }
#endif
  if (count == 1) choose_portable<1>(choices, one.count, columns, apart, work);
  else choose_portable<kTogether>(choices, one.count, columns, apart, work);
  return work + kTogether * kRows;
}

void RankedForest::add(size_t tree, const uint8_t* places, size_t count, bool floats,
                       double* sums) const {
  const double* values = values_.data() + trees_[tree].first_leaf;
#if defined(SERVAL_FOREST_AVX512)
  if (path_ == Path::Avx512) return ranked::add_avx512(places, count, values, floats, sums);
#endif
  if (floats) {
    for (size_t i = 0; i < count; ++i) {
      sums[i] =
          static_cast<float>(static_cast<float>(sums[i]) + static_cast<float>(values[places[i]]));
    }
    return;
  }
  for (size_t i = 0; i < count; ++i) sums[i] += values[places[i]];
}

void RankedForest::walk_row([[maybe_unused]] const double* row,
                            [[maybe_unused]] int32_t* found) const {
#if defined(SERVAL_FOREST_AVX512)
  ranked::row_avx512({thresholds_.data(), pivots_.data(), columns_.data(), columns_.size(), steps_},
                     {nodes_.data(), places_.data(), first_leaves_.data(), trees_.size(), depth_},
                     row, found);
#endif
}

}  // namespace serval::tabular
