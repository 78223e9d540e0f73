// Typed access to a kernel's inputs and outputs. The first failure is recorded and makes every
// later access return nothing, so that a kernel checks failed() once, before it reads. Hot path.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>

#include "operators/operator.h"

namespace serval::operators {

// Limits on a kernel's memory besides its inputs and outputs, when a number in the input determines
// it: rows (about 8 bytes each), and strings.
inline constexpr int64_t kRowsMax = int64_t{1} << 26;
inline constexpr uint64_t kTextsMax = uint64_t{1} << 24;

// Calls work(TypeTag<T>) for a numeric dtype; false for the others (including Bool and halves).
template <typename Work>
bool for_number(DType dtype, Work work) {
  return visit(dtype, [&]<typename T>(TypeTag<T> tag) {
    if constexpr (std::is_arithmetic_v<T> && !std::same_as<T, bool>) work(tag);
    return std::is_arithmetic_v<T> && !std::same_as<T, bool>;
  });
}

inline Error internal_failure(std::string message) {
  return make_error(ErrorCode::BackendFailed, std::move(message));
}

inline Error model_invalid(std::string message) {
  return make_error(ErrorCode::ModelInvalid, std::move(message));
}

inline Shape shape_of(std::initializer_list<int64_t> dims) {
  return Shape(std::span<const int64_t>(dims.begin(), dims.size()));
}

// Sums and products as in TensorFlow's kernels: integers wrap around. (The language widens narrow
// ones to int; their products fit 64 bits.)
template <typename T>
T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}
template <typename T>
T product_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
  } else {
    return a * b;
  }
}

class KernelIo {
 public:
  explicit KernelIo(KernelContext& context) : context_(context) {}

  bool failed() const { return !status_.ok(); }
  Status take() { return std::move(status_); }
  void fail(Error error) {
    if (status_.ok()) status_ = std::move(error);
  }
  void refuse(std::string message) { fail(invalid_argument(std::move(message))); }
  // Calls refuse() unless `holds`; returns whether there has been no failure so far.
  template <typename Text>
  bool require(bool holds, Text&& text) {
    if (!holds) refuse(std::string(std::forward<Text>(text)));
    return !failed();
  }

  bool has(size_t index) { return view(index).dtype != DType::Invalid; }
  size_t input_count() const { return context_.input_count(); }

  TensorView view(size_t index) {
    if (failed()) return {};
    Result<TensorView> input = context_.input(index);
    if (input.ok()) return input.value();
    fail(std::move(input.error()));
    return {};
  }
  // Errors: backend_failed, if the input has another dtype: a fault of the importer.
  template <typename T>
  std::span<const T> elements(const TensorView& input) {
    if (failed()) return {};
    if (input.dtype != dtype_for<T>()) {
      fail(internal_failure("expected a tensor of " + std::string(dtype_name(dtype_for<T>())) +
                            ", got " + std::string(dtype_name(input.dtype))));
      return {};
    }
    if constexpr (dtype_for<T>() == DType::Bytes) return input.strings;
    else return {reinterpret_cast<const T*>(input.data), input.bytes / sizeof(T)};
  }
  template <typename T>
  std::span<const T> elements(size_t index) {
    return elements<T>(view(index));
  }
  // The numbers of an int32 or int64 tensor.
  std::vector<int64_t> integers(size_t index) {
    const TensorView input = view(index);
    std::vector<int64_t> values;
    if (failed()) return values;
    if (input.dtype == DType::Int64) {
      const auto from = elements<int64_t>(input);
      values.assign(from.begin(), from.end());
    } else {
      const auto from = elements<int32_t>(input);
      values.assign(from.begin(), from.end());
    }
    return values;
  }
  // The number in a tensor of one int32 or int64.
  int64_t integer(size_t index, std::string_view name) {
    const std::vector<int64_t> values = integers(index);
    if (require(values.size() == 1, std::string(name) + " must be a scalar")) return values[0];
    return 0;
  }

  template <typename T>
  std::span<T> output(size_t index, const Shape& shape) {
    static_assert(dtype_for<T>() != DType::Bytes);
    const std::span<uint8_t> bytes = raw_output(index, dtype_for<T>(), shape);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  template <typename T>
  std::span<T> vector_output(size_t index, size_t count) {
    return output<T>(index, shape_of({static_cast<int64_t>(count)}));
  }
  std::span<uint8_t> raw_output(size_t index, DType dtype, const Shape& shape) {
    if (failed()) return {};
    Result<std::span<uint8_t>> memory = context_.output(index, dtype, shape);
    if (memory.ok()) return memory.value();
    fail(std::move(memory.error()));
    return {};
  }
  void strings(size_t index, const Shape& shape, std::span<const std::string_view> values) {
    if (failed()) return;
    if (Status status = context_.output_strings(index, shape, values); !status.ok()) {
      status_ = std::move(status);
    }
  }
  // Writes integers as int32 or int64.
  void integers_output(size_t index, DType dtype, const Shape& shape,
                       std::span<const int64_t> values) {
    if (dtype == DType::Int32) {
      const std::span<int32_t> out = output<int32_t>(index, shape);
      for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int32_t>(values[i]);
    } else {
      const std::span<int64_t> out = output<int64_t>(index, shape);
      std::copy(values.begin(), values.begin() + static_cast<ptrdiff_t>(out.size()), out.begin());
    }
  }

 private:
  KernelContext& context_;
  Status status_;
};

// Copies rows (along the first axis) of a tensor of any dtype, to gather or scatter them.
class RowCopier {
 public:
  explicit RowCopier(const TensorView& from)
      : from_(from), row_elements_(elements_per_row(from.shape)) {}
  static size_t elements_per_row(const Shape& shape) {
    Shape row;
    for (size_t i = 1; i < shape.rank(); ++i) (void)row.push_back(shape[i]);
    return row.elements().value_or(0);
  }
  size_t row_elements() const { return row_elements_; }
  // Writes rows[i] of the source as row i of output `index`; -1 leaves zeros (or empty strings).
  // Rows are in range.
  void gather(KernelIo& io, size_t index, const Shape& shape, std::span<const int64_t> rows) const {
    if (from_.dtype == DType::Bytes) {
      std::vector<std::string_view> out;
      if (!io.require(shape.elements().has_value(), "shape overflow")) return;
      out.reserve(rows.size() * row_elements_);
      for (const int64_t row : rows) {
        for (size_t j = 0; j < row_elements_; ++j) {
          out.push_back(row < 0 ? std::string_view()
                                : from_.strings[static_cast<size_t>(row) * row_elements_ + j]);
        }
      }
      io.strings(index, shape, out);
      return;
    }
    const std::span<uint8_t> out = io.raw_output(index, from_.dtype, shape);
    const size_t row_bytes = row_elements_ * dtype_bytes(from_.dtype);
    if (io.failed() || row_bytes == 0) return;
    for (size_t i = 0; i < rows.size(); ++i) {
      uint8_t* to = out.data() + i * row_bytes;
      if (rows[i] < 0) std::memset(to, 0, row_bytes);
      else std::memcpy(to, from_.data + static_cast<size_t>(rows[i]) * row_bytes, row_bytes);
    }
  }

 private:
  const TensorView from_;
  const size_t row_elements_;
};

}  // namespace serval::operators
