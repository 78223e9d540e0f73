// Requests of one row that are made up to learn what a model does with rows that come together, and
// the comparison of its answers. Control plane (the loading thread); pure. The one caller is
// native/engine/model/batch_probe.cc.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/signature.h"
#include "base/tensor.h"

namespace serval {

// Of one row, over all inputs.
inline constexpr uint64_t kProbeRowBytesMax = 16u << 20;

// What made-up values and free inner dims are like. Never a dim of 0, never a huge value.
struct ProbeStyle {
  bool narrow = false;  // numbers from 0 to 1, strings of digits; else floats in [-2, 2), low ints
  bool large = false;   // free inner dims of an image's size instead of 5 to 15
};

// Tensors that own their memory: a made-up request, or a copy of an answer. Its views point into
// it, so it is neither copied nor moved.
class ProbeTensors {
 public:
  ProbeTensors() = default;
  ProbeTensors(const ProbeTensors&) = delete;
  ProbeTensors& operator=(const ProbeTensors&) = delete;

  // Request `row` of one row: inputs of a free first dim and a known rank. `variant` gives free
  // inner dims other sizes; the same arguments give the same request. False when it would be over
  // kProbeRowBytesMax.
  bool make(const std::vector<TensorSpec>& inputs, ProbeStyle style, uint32_t variant,
            uint32_t row);
  void copy(std::span<const TensorView> tensors);
  std::vector<TensorView>& views() { return views_; }
  std::span<const TensorView> views() const { return views_; }

 private:
  std::vector<TensorView> views_;
  std::deque<std::vector<uint8_t>> bytes_;
  std::deque<std::vector<std::string>> texts_;
  std::deque<std::vector<std::string_view>> strings_;
};

// Whether any input has a free dim behind the first.
bool has_free_inner_dims(const std::vector<TensorSpec>& inputs);

// How exactly kernels compute 32-bit and 64-bit floats. Coarse: with a factor's first ten bits, as
// GPUs multiply (TF32); which digits are lost depends on the number of rows.
enum class ProbeDigits : uint8_t { Full, Coarse };

// How row `row` of `together`, the answer to `rows` rows, differs from `alone`, the answer to that
// row: shapes, number of elements, largest difference; nullopt where it does not. Floats may differ
// by 1e-3 of themselves and 1e-4 of the row's largest (16-bit floats, and all where digits are
// coarse, by 1e-2), NaN is equal to NaN;
// all else is exact.
std::optional<std::string> row_difference(const TensorView& together, uint32_t rows, uint32_t row,
                                          const TensorView& alone,
                                          ProbeDigits digits = ProbeDigits::Full);

// Answers to two different rows: whether they tell anything.
enum class ProbeSight : uint8_t {
  Clear,     // the rows' answers differ
  Constant,  // they are the same
  Blind,     // an output has no finite number
};
ProbeSight sight_of(std::span<const TensorView> one, std::span<const TensorView> other);

}  // namespace serval
