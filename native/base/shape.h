// A tensor's shape: fixed storage, no allocation. Hot path, any thread.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/limits.h"

namespace serval {

class Shape {
 public:
  Shape() {}
  Shape(const Shape& other) { *this = other; }
  Shape& operator=(const Shape& other) {
    rank_ = other.rank_;
    std::copy_n(other.dims_.data(), other.rank_, dims_.data());
    return *this;
  }
  // At most kRankMax dims: callers that read input use push_back().
  explicit Shape(std::span<const int64_t> dims) {
    assert(dims.size() <= kRankMax);
    rank_ = static_cast<uint32_t>(dims.size());
    std::copy(dims.begin(), dims.end(), dims_.begin());
  }

  size_t rank() const { return rank_; }
  std::span<const int64_t> dims() const { return {dims_.data(), rank_}; }
  int64_t operator[](size_t i) const { return dims_[i]; }
  void set(size_t i, int64_t dim) { dims_[i] = dim; }
  void clear() { rank_ = 0; }
  // False: the rank limit is reached.
  [[nodiscard]] bool push_back(int64_t dim) {
    if (rank_ == kRankMax) return false;
    dims_[rank_++] = dim;
    return true;
  }
  // Product of the dims (1 for rank 0, 0 if any dim is 0, whatever the others are); nullopt for a
  // negative dim or beyond 2^62.
  std::optional<uint64_t> elements() const {
    uint64_t count = 1;
    bool empty = false, too_many = false;
    for (int64_t dim : dims()) {
      if (dim < 0) return std::nullopt;
      empty |= dim == 0;
      too_many |= __builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count);
      too_many |= count > (uint64_t{1} << 62);
    }
    if (empty) return 0;
    if (too_many) return std::nullopt;
    return count;
  }
  // "[2,3]"
  std::string to_string() const {
    std::string text = "[";
    for (size_t i = 0; i < rank_; ++i) {
      if (i) text += ',';
      text += std::to_string(dims_[i]);
    }
    return text + "]";
  }
  bool operator==(const Shape& other) const {
    return std::equal(dims().begin(), dims().end(), other.dims().begin(), other.dims().end());
  }

 private:
  std::array<int64_t, kRankMax> dims_;  // only the first rank_ are set
  uint32_t rank_ = 0;
};

}  // namespace serval
