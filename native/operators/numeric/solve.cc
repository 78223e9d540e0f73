// Cholesky, MatrixSolve, MatrixTriangularSolve, MatrixInverse, MatrixDeterminant and
// LogMatrixDeterminant of batches of matrices, as TensorFlow's operators of these names, float and
// double. Hot path, any thread.
// Attributes: `adjoint` (solves and the inverse), `lower` (the triangular solve).
// Source: tensorflow/core/kernels/linalg.
#include <cmath>
#include <limits>

#include "operators/groups.h"
#include "operators/numeric/matrices.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>

namespace serval::operators {
namespace {

constexpr const char* kNotInvertible = "Input matrix is not invertible.";

// Whether an LU or a triangle has a 0 on its diagonal. (A NaN does not count; the result is then
// NaN.)
template <typename Matrix>
bool has_zero_pivot(const Matrix& matrix) {
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    if (matrix(i, i) == 0) return true;
  }
  return false;
}

MatrixDims square_dims(KernelIo& io, const TensorView& view, size_t index = 0) {
  const MatrixDims dims = matrix_dims(io, view, index);
  io.require(dims.rows == dims.columns, "Input matrix must be square.");
  return dims;
}

class Cholesky final : public FloatingKernel<Cholesky> {
 public:
  template <typename T>
  Status run_as(KernelContext& context, KernelIo& io, const TensorView& view) const {
    const MatrixDims dims = square_dims(io, view);
    const std::span<const T> in = io.elements<T>(view);
    const std::span<T> out = io.output<T>(0, view.shape);
    if (io.failed() || out.empty()) return io.take();
    return for_matrices(context, dims.count, cube(dims.rows) / 3, [&](size_t i) -> const char* {
      const Eigen::LLT<RowMajor<T>> decomposition(matrix_at(in, dims, i));
      MatrixOut<T> to = matrix_out(out, dims.rows, dims.columns, i);
      if (decomposition.info() == Eigen::Success) {
        to = decomposition.matrixL();
      } else {  // as in TensorFlow 2: a triangle of NaNs, no error
        to.setZero();
        to.template triangularView<Eigen::Lower>().setConstant(std::numeric_limits<T>::quiet_NaN());
      }
      return nullptr;
    });
  }
};

class Inverse final : public FloatingKernel<Inverse> {
 public:
  explicit Inverse(bool adjoint) : adjoint_(adjoint) {}
  template <typename T>
  Status run_as(KernelContext& context, KernelIo& io, const TensorView& view) const {
    const MatrixDims dims = square_dims(io, view);
    const std::span<const T> in = io.elements<T>(view);
    const std::span<T> out = io.output<T>(0, view.shape);
    if (io.failed() || out.empty()) return io.take();
    return for_matrices(context, dims.count, cube(dims.rows) * 2, [&](size_t i) -> const char* {
      Eigen::PartialPivLU<RowMajor<T>> lu(dims.rows);
      if (adjoint_) lu.compute(matrix_at(in, dims, i).transpose());
      else lu.compute(matrix_at(in, dims, i));
      if (has_zero_pivot(lu.matrixLU())) return kNotInvertible;
      MatrixOut<T> to = matrix_out(out, dims.rows, dims.columns, i);
      to.noalias() = lu.inverse();
      return nullptr;
    });
  }

 private:
  const bool adjoint_;
};

// Sign and logarithm of the determinant from the pivots, because their product may overflow.
template <typename T>
std::pair<T, T> log_determinant(const MatrixIn<T>& matrix) {
  if (matrix.rows() == 0) return {T(1), T(0)};
  const Eigen::PartialPivLU<RowMajor<T>> lu(matrix);
  T sign = static_cast<T>(lu.permutationP().determinant()), sum = 0;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    const T pivot = lu.matrixLU()(i, i);
    sum += std::log(std::abs(pivot));
    if (pivot < 0) sign = -sign;
    else if (!(pivot > 0)) sign = pivot == 0 ? T(0) : pivot;  // keeps a NaN
  }
  if (std::isnan(sum)) return {sum, sum};
  if (!std::isfinite(sum)) return {T(0), sum > 0 ? sum : -std::numeric_limits<T>::infinity()};
  return {sign, sum};
}

class Determinant final : public FloatingKernel<Determinant> {
 public:
  explicit Determinant(bool logarithm) : logarithm_(logarithm) {}
  template <typename T>
  Status run_as(KernelContext& context, KernelIo& io, const TensorView& view) const {
    const MatrixDims dims = square_dims(io, view);
    const std::span<const T> in = io.elements<T>(view);
    if (io.failed()) return io.take();
    const Shape shape = with_last_dims(view.shape, {});
    const std::span<T> out = io.output<T>(0, shape);
    const std::span<T> logs = logarithm_ ? io.output<T>(1, shape) : std::span<T>();
    if (io.failed()) return io.take();
    return for_matrices(context, dims.count, cube(dims.rows), [&](size_t i) -> const char* {
      const auto [sign, logarithm] = log_determinant<T>(matrix_at(in, dims, i));
      out[i] = logarithm_ ? sign : sign * std::exp(logarithm);
      if (logarithm_) logs[i] = logarithm;
      return nullptr;
    });
  }

 private:
  const bool logarithm_;
};

class Solve final : public FloatingKernel<Solve> {
 public:
  explicit Solve(bool adjoint) : adjoint_(adjoint) {}
  template <typename T>
  Status run_as(KernelContext& context, KernelIo& io, const TensorView& view) const {
    const TensorView right = io.view(1);
    const MatrixDims dims = square_dims(io, view), sides = matrix_dims(io, right, 1);
    io.require(with_last_dims(view.shape, {}) == with_last_dims(right.shape, {}),
               "All input tensors must have the same outer dimensions.");
    io.require(dims.rows == sides.rows, "Input matrix and rhs are incompatible.");
    const std::span<const T> in = io.elements<T>(view), rhs = io.elements<T>(right);
    if (io.failed()) return io.take();
    const std::span<T> out = io.output<T>(0, right.shape);
    if (io.failed() || out.empty()) return io.take();
    const double steps =
        cube(dims.rows) + static_cast<double>(sides.elements()) * static_cast<double>(dims.rows);
    return for_matrices(context, dims.count, steps, [&](size_t i) -> const char* {
      Eigen::PartialPivLU<RowMajor<T>> lu(dims.rows);
      if (adjoint_) lu.compute(matrix_at(in, dims, i).transpose());
      else lu.compute(matrix_at(in, dims, i));
      if (has_zero_pivot(lu.matrixLU())) return kNotInvertible;
      matrix_out(out, sides.rows, sides.columns, i) = lu.solve(matrix_at(rhs, sides, i));
      return nullptr;
    });
  }

 private:
  const bool adjoint_;
};

// The index of a broadcast batch's matrix that belongs to matrix `index` of the result.
size_t batch_index(const Shape& out, const Shape& in, size_t index) {
  size_t at = 0, step = 1;
  for (size_t i = 0; i < out.rank(); ++i) {
    const size_t axis = out.rank() - 1 - i;
    const size_t place = index % static_cast<size_t>(out[axis]);
    index /= static_cast<size_t>(out[axis]);
    if (i >= in.rank()) continue;
    const size_t dim = static_cast<size_t>(in[in.rank() - 1 - i]);
    if (dim != 1) at += place * step;
    step *= dim;
  }
  return at;
}

// The shape of two batches that broadcast; refuses others.
Shape broadcast_batch(KernelIo& io, const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.rank(), b.rank());
  Shape out;
  for (size_t i = 0; i < rank; ++i) {
    const size_t back = rank - i;
    const int64_t x = back <= a.rank() ? a[a.rank() - back] : 1;
    const int64_t y = back <= b.rank() ? b[b.rank() - back] : 1;
    io.require(x == y || x == 1 || y == 1,
               "In[0] and In[1] must have compatible batch dimensions: " + a.to_string() + " vs. " +
                   b.to_string());
    (void)out.push_back(x == 1 ? y : x);
  }
  return out;
}

class TriangularSolve final : public FloatingKernel<TriangularSolve> {
 public:
  TriangularSolve(bool lower, bool adjoint) : lower_(lower), adjoint_(adjoint) {}
  template <typename T>
  Status run_as(KernelContext& context, KernelIo& io, const TensorView& view) const {
    const TensorView right = io.view(1);
    io.require(view.shape.rank() >= 2 && right.shape.rank() >= 2,
               "In[0] and In[1] ndims must be >= 2: " + std::to_string(view.shape.rank()));
    if (io.failed()) return io.take();
    const MatrixDims dims = matrix_dims(io, view, 0), sides = matrix_dims(io, right, 1);
    io.require(dims.rows == dims.columns, "In[0] matrices in the last dimensions must be square (" +
                                              std::to_string(dims.rows) +
                                              " =/= " + std::to_string(dims.columns) + ")");
    io.require(dims.rows == sides.rows,
               "In[0] and In[1] have incompatible dimensions: " + view.shape.to_string() + " and " +
                   right.shape.to_string());
    const Shape a = with_last_dims(view.shape, {}), b = with_last_dims(right.shape, {});
    const Shape batch = broadcast_batch(io, a, b);
    Shape shape = batch;
    (void)shape.push_back(sides.rows);
    io.require(shape.push_back(sides.columns), "the rank of the result is too high");
    const std::span<const T> in = io.elements<T>(view), rhs = io.elements<T>(right);
    if (io.failed()) return io.take();
    const std::span<T> out = io.output<T>(0, shape);
    if (io.failed() || out.empty()) return io.take();
    const double steps = static_cast<double>(sides.elements()) * static_cast<double>(dims.rows);
    const size_t count = batch.elements().value_or(0);
    return for_matrices(context, count, steps, [&](size_t i) -> const char* {
      const MatrixIn<T> matrix = matrix_at(in, dims, batch_index(batch, a, i));
      MatrixOut<T> to = matrix_out(out, sides.rows, sides.columns, i);
      to = matrix_at(rhs, sides, batch_index(batch, b, i));
      if (lower_ && adjoint_) {
        matrix.template triangularView<Eigen::Lower>().transpose().solveInPlace(to);
      } else if (lower_) {
        matrix.template triangularView<Eigen::Lower>().solveInPlace(to);
      } else if (adjoint_) {
        matrix.template triangularView<Eigen::Upper>().transpose().solveInPlace(to);
      } else {
        matrix.template triangularView<Eigen::Upper>().solveInPlace(to);
      }
      return nullptr;
    });
  }

 private:
  const bool lower_, adjoint_;
};

template <typename Made, typename... Args>
std::unique_ptr<Kernel> made(Args... args) {
  return std::make_unique<Made>(args...);
}

bool flag(const KernelAttributes& attributes, std::string_view name, bool fallback = false) {
  return attributes.integer(name, fallback ? 1 : 0) != 0;
}

}  // namespace

std::vector<OperatorType> solve_operators() {
  using Made = Result<std::unique_ptr<Kernel>>;
  const Operand any{};
  return {
      {"Cholesky", {any}, {any}, [](const KernelAttributes&) -> Made { return made<Cholesky>(); }},
      {"MatrixInverse",
       {any},
       {any},
       [](const KernelAttributes& a) -> Made { return made<Inverse>(flag(a, "adjoint")); }},
      {"MatrixDeterminant",
       {any},
       {any},
       [](const KernelAttributes&) -> Made { return made<Determinant>(false); }},
      {"LogMatrixDeterminant",
       {any},
       {any, any},
       [](const KernelAttributes&) -> Made { return made<Determinant>(true); }},
      {"MatrixSolve",
       {any, any},
       {any},
       [](const KernelAttributes& a) -> Made { return made<Solve>(flag(a, "adjoint")); }},
      {"MatrixTriangularSolve",
       {any, any},
       {any},
       [](const KernelAttributes& a) -> Made {
         return made<TriangularSolve>(flag(a, "lower", true), flag(a, "adjoint"));
       }},
  };
}

}  // namespace serval::operators
