// Batches of matrices along the last two dims, in the form that kernels over Eigen read and write.
// Hot path.
#pragma once

#include <algorithm>
#include <string>

#include "operators/kernel_io.h"
#include "operators/numeric/eigen.h"

namespace serval::operators {

template <typename T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <typename T>
using MatrixIn = Eigen::Map<const RowMajor<T>>;
template <typename T>
using MatrixOut = Eigen::Map<RowMajor<T>>;

// A tensor of matrices: their dims and number.
struct MatrixDims {
  int64_t rows = 0, columns = 0;
  size_t count = 0;
  size_t elements() const { return static_cast<size_t>(rows) * static_cast<size_t>(columns); }
};

// The dims of input `index`; refuses ranks below 2 in TensorFlow's words.
inline MatrixDims matrix_dims(KernelIo& io, const TensorView& view, size_t index) {
  MatrixDims dims;
  const size_t rank = view.shape.rank();
  if (!io.require(rank >= 2, "Input tensor " + std::to_string(index) +
                                 " must have rank >= 2, got " + std::to_string(rank))) {
    return dims;
  }
  dims.rows = view.shape[rank - 2];
  dims.columns = view.shape[rank - 1];
  dims.count = 1;
  for (size_t i = 0; i + 2 < rank; ++i) dims.count *= static_cast<size_t>(view.shape[i]);
  return dims;
}

// The batch dims of a shape, with other last dims.
inline Shape with_last_dims(const Shape& shape, std::initializer_list<int64_t> last) {
  Shape out;
  for (size_t i = 0; i + 2 < shape.rank(); ++i) (void)out.push_back(shape[i]);
  for (const int64_t dim : last) (void)out.push_back(dim);
  return out;
}

// The start of matrix `index` in a contiguous tensor.
template <typename T>
MatrixIn<T> matrix_at(std::span<const T> from, const MatrixDims& dims, size_t index) {
  return MatrixIn<T>(from.data() + index * dims.elements(), dims.rows, dims.columns);
}
template <typename T>
MatrixOut<T> matrix_out(std::span<T> to, int64_t rows, int64_t columns, size_t index) {
  const size_t elements = static_cast<size_t>(rows) * static_cast<size_t>(columns);
  return MatrixOut<T>(to.data() + index * elements, rows, columns);
}

// Runs work(i) -> error text or nullptr for each of `count` matrices, on several threads if that
// pays; the first failure (by index) is the request's error. `steps`: cost of one.
template <typename Work>
Status for_matrices(KernelContext& context, size_t count, double steps, Work work) {
  constexpr double kTaskSteps = 1 << 16;
  constexpr size_t kTasksMax = 64;
  if (count == 0) return ok_status();
  const double wanted = std::max(1.0, static_cast<double>(count) * steps / kTaskSteps);
  const size_t tasks = static_cast<size_t>(
      std::min({wanted, static_cast<double>(count), static_cast<double>(kTasksMax)}));
  const size_t each = (count + tasks - 1) / tasks;
  std::vector<const char*> problems(tasks, nullptr);
  Status status = context.parallel(tasks, [&](size_t task) {
    for (size_t i = task * each; i < std::min(count, (task + 1) * each); ++i) {
      problems[task] = work(i);
      if (problems[task] != nullptr) return;
    }
  });
  if (!status.ok()) return status;
  for (const char* problem : problems) {
    if (problem != nullptr) return invalid_argument(problem);
  }
  return ok_status();
}

// An estimate of steps: the cube of a matrix's side.
inline double cube(int64_t side) {
  const double length = static_cast<double>(side);
  return length * length * length;
}

// The kernel of a float or double operator: calls run_as<T> for the first input's type. (A base
// class, to keep the two instances of each operator apart from the choice between them.)
template <typename Derived>
class FloatingKernel : public Kernel {
 public:
  Status run(KernelContext& context) const final {
    KernelIo io(context);
    const TensorView first = io.view(0);
    if (io.failed()) return io.take();
    const auto& derived = static_cast<const Derived&>(*this);
    if (first.dtype == DType::Fp64) return derived.template run_as<double>(context, io, first);
    if (first.dtype == DType::Fp32) return derived.template run_as<float>(context, io, first);
    return internal_failure("expected a tensor of FP32 or FP64, got " +
                            std::string(dtype_name(first.dtype)));
  }
};

}  // namespace serval::operators
