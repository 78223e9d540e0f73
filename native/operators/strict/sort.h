// Sorts by a comparison that NaN makes inconsistent: takes the same steps as GNU's C++ library,
// with which TensorFlow is built, so that elements that do not compare get the same order, but no
// step leaves the range. Hot path, any thread.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace serval::operators {

template <typename Less>
class StrictSort {
 public:
  explicit StrictSort(Less less) : less_(std::move(less)) {}

  void operator()(int32_t* first, int32_t* last) {
    if (first == last) return;
    const size_t count = static_cast<size_t>(last - first);
    introsort(first, last, 2 * (static_cast<int>(std::bit_width(count)) - 1));
    if (count <= kThreshold) {
      insert_all(first, last);
      return;
    }
    insert_all(first, first + kThreshold);
    for (int32_t* at = first + kThreshold; at != last; ++at) insert_unbounded(first, at);
  }

 private:
  static constexpr ptrdiff_t kThreshold = 16;

  void introsort(int32_t* first, int32_t* last, int depth) {
    while (last - first > kThreshold) {
      if (depth-- == 0) {
        std::make_heap(first, last, less_);
        std::sort_heap(first, last, less_);
        return;
      }
      int32_t* const middle = first + (last - first) / 2;
      median_to(first, first + 1, middle, last - 1);
      int32_t* const cut = partition(first + 1, last, first);
      introsort(cut, last, depth);
      last = cut;
    }
  }

  void median_to(int32_t* result, int32_t* a, int32_t* b, int32_t* c) {
    if (less_(*a, *b)) {
      if (less_(*b, *c)) std::swap(*result, *b);
      else std::swap(*result, less_(*a, *c) ? *c : *a);
    } else if (less_(*a, *c)) {
      std::swap(*result, *a);
    } else {
      std::swap(*result, less_(*b, *c) ? *c : *b);
    }
  }

  // Partitions `begin` to `end`; the element before `begin` is the pivot.
  int32_t* partition(int32_t* const begin, int32_t* const end, const int32_t* pivot) {
    int32_t *first = begin, *last = end;
    while (true) {
      while (first != end && less_(*first, *pivot)) ++first;
      --last;
      while (last >= begin && less_(*pivot, *last)) --last;
      if (first >= last) return first;
      std::swap(*first, *last);
      ++first;
    }
  }

  void insert_all(int32_t* first, int32_t* last) {
    for (int32_t* at = first + 1; at < last; ++at) {
      if (less_(*at, *first)) {
        const int32_t value = *at;
        std::move_backward(first, at, at + 1);
        *first = value;
      } else {
        insert_unbounded(first, at);
      }
    }
  }

  void insert_unbounded(const int32_t* begin, int32_t* at) {
    const int32_t value = *at;
    while (at != begin && less_(value, at[-1])) {
      *at = at[-1];
      --at;
    }
    *at = value;
  }

  Less less_;
};

}  // namespace serval::operators
