// Made-up requests of one row, used to learn how a model treats rows that are batched, and the
// comparison of its outputs. Control plane (the loading thread); pure. The only caller is
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

// Size limit of one row, over all inputs.
inline constexpr uint64_t kProbeRowBytesMax = 16u << 20;

// The style of made-up values and free trailing dims. Never a dim of 0, never a huge value.
struct ProbeStyle {
  // numbers from 0 to 1, strings of digits; otherwise floats in [-2, 2), low ints
  bool narrow = false;
  bool large = false;  // free trailing dims have the size of an image instead of 5 to 15
};

// Tensors that own their memory: a made-up request, or a copy of outputs. Its views point into
// itself, so it is neither copied nor moved.
class ProbeTensors {
 public:
  ProbeTensors() = default;
  ProbeTensors(const ProbeTensors&) = delete;
  ProbeTensors& operator=(const ProbeTensors&) = delete;

  // Makes request `row` of one row: inputs with a free first dim and a known rank. `variant`
  // selects the sizes of free trailing dims; the same arguments give the same request. False: it
  // would exceed kProbeRowBytesMax.
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

// Whether any input has a free trailing dimension.
bool has_free_inner_dims(const std::vector<TensorSpec>& inputs);

// The precision of 32-bit and 64-bit float kernels. Coarse: only the first ten bits of a factor are
// used, as in GPU multiplication (TF32); which digits are lost depends on the number of rows.
enum class ProbeDigits : uint8_t { Full, Coarse };

// Describes how row `row` of `together`, the output for `rows` rows, differs from `alone`, the
// output for that row alone: shapes, number of elements, largest difference; nullopt if it does
// not. Floats may differ by 1e-3 of their value and 1e-4 of the row's largest (16-bit floats, and
// all floats if the precision is coarse, by 1e-2), NaN equals NaN; everything else is exact.
std::optional<std::string> row_difference(const TensorView& together, uint32_t rows, uint32_t row,
                                          const TensorView& alone,
                                          ProbeDigits digits = ProbeDigits::Full);

// The conclusion from the outputs for two different rows.
enum class ProbeSight : uint8_t {
  Clear,     // the outputs of the rows differ
  Constant,  // they are equal
  Blind,     // an output has no finite number
};
ProbeSight sight_of(std::span<const TensorView> one, std::span<const TensorView> other);

}  // namespace serval
