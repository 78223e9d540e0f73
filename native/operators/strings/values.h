// Helpers shared by string kernels: inputs with checked dtypes, assembly of string outputs. Hot
// path; kernels are shared by threads, these values belong to one run.
#pragma once

#include <cstring>

#include "operators/operator.h"

namespace serval::operators {

// Limit on the bytes of one string output, including kStringElementBytes per element. Joins,
// n-grams and substitutions make large outputs from small inputs, so the inputs' limits do not
// bound them.
inline constexpr size_t kStringOutputBytesMax = size_t{1} << 30;
inline constexpr size_t kStringElementBytes = sizeof(std::string_view);

// Errors: backend_failed if the input is not a string tensor (a fault of the importer).
Result<TensorView> string_input(KernelContext& context, size_t index);
// Reads INT32 or INT64. Errors: as above.
Result<TensorView> integer_input(KernelContext& context, size_t index);
// Reads one string. Errors: invalid_argument "<what> must be scalar..." for another shape.
Result<std::string_view> scalar_string(KernelContext& context, size_t index, std::string_view what);

inline bool is_scalar(const TensorView& view) { return view.shape.rank() == 0; }

template <typename T>
T element_at(const TensorView& view, size_t index) {
  T value;
  std::memcpy(&value, view.data + index * sizeof(T), sizeof(T));
  return value;
}

// Reads an element of an INT32 or INT64 tensor.
inline int64_t integer_at(const TensorView& view, size_t index) {
  if (view.dtype == DType::Int32) return element_at<int32_t>(view, index);
  return element_at<int64_t>(view, index);
}

// The number of elements of an existing tensor.
inline size_t element_count(const TensorView& view) {
  return static_cast<size_t>(view.shape.elements().value_or(0));
}

// Reads a data type attribute (ONNX's number). Errors: model_invalid unless it is one of `allowed`.
Result<DType> dtype_attribute(const KernelAttributes& attributes, std::string_view name,
                              std::span<const DType> allowed);

// Writes `values` (INT32 or INT64) as output `index`, which has one dimension.
Status write_integers(KernelContext& context, size_t index, DType dtype,
                      std::span<const int64_t> values);

inline Error invalid_attribute(std::string message) {
  return make_error(ErrorCode::ModelInvalid, std::move(message));
}

// A string output, written element after element to one growing buffer. Once it exceeds the limit
// it ignores further data, and write() fails.
class StringsOut {
 public:
  // Appends to the current element.
  void append(std::string_view piece) {
    if (grow(piece.size())) bytes_.append(piece);
  }
  void append(char byte) {
    if (grow(1)) bytes_.push_back(byte);
  }
  void end() {
    if (grow(kStringElementBytes)) ends_.push_back(bytes_.size());
  }
  void add(std::string_view whole) {
    append(whole);
    end();
  }
  // Lets loops that do not depend on the inputs' sizes stop early.
  bool is_over() const { return over_; }
  size_t size() const { return ends_.size(); }
  // The current element, for code that appends to a std::string; call check_limit() afterwards.
  std::string& bytes() { return bytes_; }
  void check_limit() { grow(0); }
  Status write(KernelContext& context, size_t index, const Shape& shape) const;

 private:
  bool grow(size_t bytes) {
    over_ |= bytes > kStringOutputBytesMax ||
             bytes_.size() + ends_.size() * kStringElementBytes > kStringOutputBytesMax - bytes;
    return !over_;
  }

  std::string bytes_;
  std::vector<size_t> ends_;
  bool over_ = false;
};

// A kernel of one string input and one string output of the same shape.
class StringMap : public Kernel {
 public:
  Status run(KernelContext& context) const override;

 protected:
  // Appends the result for one element; the caller ends it.
  virtual Status map(std::string_view element, StringsOut& out) const = 0;
};

template <typename K>
Result<std::unique_ptr<Kernel>> make_plain(const KernelAttributes&) {
  return std::unique_ptr<Kernel>(std::make_unique<K>());
}

inline Operand port(DType dtype, Operand::Form form = Operand::Form::Required) {
  return {dtype, form};
}

}  // namespace serval::operators
