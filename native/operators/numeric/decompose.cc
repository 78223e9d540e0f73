// Svd, Qr and SelfAdjointEigV2 of batches of matrices, as TensorFlow's operators of these names,
// float and double. Hot path, any thread. Attributes: `compute_uv` and `full_matrices` (Svd),
// `full_matrices` (Qr), `compute_v`. If a decomposition is not unique (signs of vectors), Eigen's
// choice is TensorFlow's too.
// Source: tensorflow/core/kernels/linalg.
#include <limits>

#include "operators/groups.h"
#include "operators/numeric/matrices.h"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>

namespace serval::operators {
namespace {

class Svd final : public FloatingKernel<Svd> {
 public:
  Svd(bool vectors, bool full) : vectors_(vectors), full_(full) {}
  template <typename T>
  Status run_as(KernelContext& context, KernelIo& io, const TensorView& view) const {
    const MatrixDims dims = matrix_dims(io, view, 0);
    const std::span<const T> in = io.elements<T>(view);
    if (io.failed()) return io.take();
    const int64_t rank = std::min(dims.rows, dims.columns);
    const int64_t left = full_ ? dims.rows : rank, right = full_ ? dims.columns : rank;
    const std::span<T> values = io.output<T>(0, with_last_dims(view.shape, {rank}));
    const Shape none;  // as in TensorFlow: a meaningless scalar
    const std::span<T> u =
        io.output<T>(1, vectors_ ? with_last_dims(view.shape, {dims.rows, left}) : none);
    const std::span<T> v =
        io.output<T>(2, vectors_ ? with_last_dims(view.shape, {dims.columns, right}) : none);
    if (io.failed()) return io.take();
    if (!vectors_) u[0] = v[0] = T(0);
    unsigned options = 0;
    if (vectors_) {
      options = full_ ? Eigen::ComputeFullU | Eigen::ComputeFullV
                      : Eigen::ComputeThinU | Eigen::ComputeThinV;
    }
    const double steps =
        20 * cube(rank) + static_cast<double>(dims.elements()) * static_cast<double>(rank);
    return for_matrices(context, dims.count, steps, [&](size_t i) -> const char* {
      if (rank == 0) {
        if (vectors_) matrix_out(u, dims.rows, left, i).setIdentity();
        if (vectors_) matrix_out(v, dims.columns, right, i).setIdentity();
        return nullptr;
      }
      const MatrixIn<T> from = matrix_at(in, dims, i);
      // The iteration would not converge on values that are not finite.
      if (!from.allFinite()) return not_finite(values, u, v, i, dims, rank, left, right);
      const Eigen::BDCSVD<RowMajor<T>> svd(from, options);
      matrix_out(values, rank, 1, i) = svd.singularValues();
      if (!vectors_) return nullptr;
      matrix_out(u, dims.rows, left, i) = svd.matrixU();
      matrix_out(v, dims.columns, right, i) = svd.matrixV();
      return nullptr;
    });
  }

 private:
  template <typename T>
  const char* not_finite(std::span<T> values, std::span<T> u, std::span<T> v, size_t i,
                         const MatrixDims& dims, int64_t rank, int64_t left, int64_t right) const {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    matrix_out(values, rank, 1, i).setConstant(nan);
    if (vectors_) matrix_out(u, dims.rows, left, i).setConstant(nan);
    if (vectors_) matrix_out(v, dims.columns, right, i).setConstant(nan);
    return nullptr;
  }

  const bool vectors_, full_;
};

class Qr final : public FloatingKernel<Qr> {
 public:
  explicit Qr(bool full) : full_(full) {}
  template <typename T>
  Status run_as(KernelContext& context, KernelIo& io, const TensorView& view) const {
    const MatrixDims dims = matrix_dims(io, view, 0);
    const std::span<const T> in = io.elements<T>(view);
    if (io.failed()) return io.take();
    const int64_t kept = full_ ? dims.rows : std::min(dims.rows, dims.columns);
    const std::span<T> q = io.output<T>(0, with_last_dims(view.shape, {dims.rows, kept}));
    const std::span<T> r = io.output<T>(1, with_last_dims(view.shape, {kept, dims.columns}));
    if (io.failed()) return io.take();
    const double steps = 2 * static_cast<double>(dims.elements()) * static_cast<double>(kept);
    return for_matrices(context, dims.count, steps, [&](size_t i) -> const char* {
      MatrixOut<T> orthogonal = matrix_out(q, dims.rows, kept, i);
      if (dims.elements() == 0) {
        orthogonal.setIdentity();
        return nullptr;
      }
      const Eigen::HouseholderQR<RowMajor<T>> qr(matrix_at(in, dims, i));
      orthogonal = qr.householderQ() * RowMajor<T>::Identity(dims.rows, kept);
      matrix_out(r, kept, dims.columns, i) =
          qr.matrixQR().topRows(kept).template triangularView<Eigen::Upper>();
      return nullptr;
    });
  }

 private:
  const bool full_;
};

class SelfAdjointEigen final : public FloatingKernel<SelfAdjointEigen> {
 public:
  explicit SelfAdjointEigen(bool vectors) : vectors_(vectors) {}
  template <typename T>
  Status run_as(KernelContext& context, KernelIo& io, const TensorView& view) const {
    const MatrixDims dims = matrix_dims(io, view, 0);
    io.require(dims.rows == dims.columns, "Input matrix must be square.");
    const std::span<const T> in = io.elements<T>(view);
    if (io.failed()) return io.take();
    const std::span<T> values = io.output<T>(0, with_last_dims(view.shape, {dims.rows}));
    const std::span<T> v = io.output<T>(1, vectors_ ? view.shape : Shape());
    if (io.failed()) return io.take();
    if (!vectors_) v[0] = T(0);  // a meaningless scalar
    if (dims.rows == 0) return io.take();
    const int options = vectors_ ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly;
    return for_matrices(context, dims.count, 10 * cube(dims.rows), [&](size_t i) -> const char* {
      const Eigen::SelfAdjointEigenSolver<RowMajor<T>> solver(matrix_at(in, dims, i), options);
      if (solver.info() != Eigen::Success) {
        return "Self-adjoint eigen decomposition was not successful. The input might not be valid.";
      }
      matrix_out(values, dims.rows, 1, i) = solver.eigenvalues();
      if (vectors_) matrix_out(v, dims.rows, dims.rows, i) = solver.eigenvectors();
      return nullptr;
    });
  }

 private:
  const bool vectors_;
};

}  // namespace

std::vector<OperatorType> decompose_operators() {
  using Made = Result<std::unique_ptr<Kernel>>;
  const Operand any{};
  return {
      {"Svd",
       {any},
       {any, any, any},
       [](const KernelAttributes& a) -> Made {
         const bool vectors = a.integer("compute_uv", 1) != 0;
         return std::unique_ptr<Kernel>(
             std::make_unique<Svd>(vectors, a.integer("full_matrices", 0) != 0));
       }},
      {"Qr",
       {any},
       {any, any},
       [](const KernelAttributes& a) -> Made {
         return std::unique_ptr<Kernel>(std::make_unique<Qr>(a.integer("full_matrices", 0) != 0));
       }},
      {"SelfAdjointEigV2",
       {any},
       {any, any},
       [](const KernelAttributes& a) -> Made {
         return std::unique_ptr<Kernel>(
             std::make_unique<SelfAdjointEigen>(a.integer("compute_v", 1) != 0));
       }},
  };
}

}  // namespace serval::operators
