// Output memory for features of any of the three types. Hot path, any thread.
#pragma once

#include "operators/features/example_columns.h"

namespace serval::operators {

// Reads a list's values into `out`.
template <typename T>
void read_values(const FeatureList& list, T* out) {
  if constexpr (std::is_same_v<T, float>) read_floats(list, out);
  else if constexpr (std::is_same_v<T, int64_t>) read_integers(list, out);
  else read_strings(list, out);
}

// Output memory of any of the three types: strings are collected and written by finish().
template <typename T>
class ColumnOutput {
 public:
  ColumnOutput(KernelIo& io, size_t index, const Shape& shape)
      : ports_(io), index_(index), shape_(shape) {
    if constexpr (std::is_same_v<T, std::string_view>) {
      // Proportional to the examples' bytes except for padding, which the limit on outputs bounds.
      const uint64_t elements = shape.elements().value_or(uint64_t{1} << 40);
      if (!io.require(elements <= kTextsMax, "too many strings in an output")) return;
      texts_.resize(elements);
      values_ = texts_;
    } else {
      values_ = io.output<T>(index, shape);
    }
  }
  T* data() { return values_.data(); }
  void finish() {
    if constexpr (std::is_same_v<T, std::string_view>) ports_.strings(index_, shape_, texts_);
  }

 private:
  KernelIo& ports_;
  const size_t index_;
  const Shape shape_;
  std::vector<std::string_view> texts_;
  std::span<T> values_;
};

// Calls work(TypeTag<T>) for a feature's type.
template <typename Work>
void for_feature(DType dtype, Work work) {
  if (dtype == DType::Fp32) work(TypeTag<float>());
  else if (dtype == DType::Int64) work(TypeTag<int64_t>());
  else work(TypeTag<std::string_view>());
}

}  // namespace serval::operators
