// Lu and TridiagonalSolve of batches of matrices, as TensorFlow's operators of these names, float
// and double. Hot path, any thread.
// Attributes: `partial_pivoting`, `perturb_singular` (TridiagonalSolve).
// Source: tensorflow/core/kernels/linalg/{lu_op,tridiagonal_solve_op}.cc.
#include <cmath>
#include <limits>

#include "operators/groups.h"
#include "operators/numeric/matrices.h"

#include <Eigen/LU>

namespace serval::operators {
namespace {

class Lu final : public FloatingKernel<Lu> {
 public:
  template <typename T>
  Status run_as(KernelContext& context, KernelIo& io, const TensorView& view) const {
    const MatrixDims dims = matrix_dims(io, view, 0);
    io.require(dims.rows == dims.columns, "Input matrix must be square.");
    const std::span<const T> in = io.elements<T>(view);
    if (io.failed()) return io.take();
    Shape places = with_last_dims(view.shape, {dims.rows});
    const std::span<T> out = io.output<T>(0, view.shape);
    const std::span<int64_t> order = io.output<int64_t>(1, places);
    if (io.failed() || out.empty()) return io.take();
    const size_t side = static_cast<size_t>(dims.rows);
    return for_matrices(context, dims.count, cube(dims.rows), [&](size_t i) -> const char* {
      const Eigen::PartialPivLU<RowMajor<T>> lu(matrix_at(in, dims, i));
      const auto& factors = lu.matrixLU();
      for (Eigen::Index at = 0; at < factors.rows(); ++at) {
        if (!(std::abs(factors(at, at)) > 0)) return "Input is not invertible.";
      }
      matrix_out(out, dims.rows, dims.columns, i) = factors;
      const auto& places_of = lu.permutationP().indices();
      for (size_t row = 0; row < side; ++row) {
        const auto place = static_cast<size_t>(places_of(static_cast<Eigen::Index>(row)));
        order[i * side + place] = static_cast<int64_t>(row);
      }
      return nullptr;
    });
  }
};

// Returns a pivot by which neither a right-hand side nor 1 overflows when divided: a small one is
// moved away from 0 by `step`, doubled each time, or scaled up with the row.
template <typename T, typename Row>
void keep_away_from_zero(T step, T& pivot, Row& row) {
  const T least = std::numeric_limits<T>::min();
  const T greatest = 1 / least;
  step = std::copysign(std::max(std::abs(step), least), pivot);
  const T largest = row.size() == 0 ? T(0) : row.cwiseAbs().maxCoeff();
  while (std::abs(pivot) < 1) {
    const T size = std::abs(pivot);
    const bool is_tiny = size < least;
    if (is_tiny ? size == 0 || largest * least > size : largest > size * greatest) {
      pivot += step;
      step *= 2;
    } else {
      if (is_tiny) {
        pivot *= greatest;
        row *= greatest;
      }
      return;
    }
  }
}

// One system. The three diagonals: above (its last element is not read), main, below (its first is
// not read).
template <typename T>
class Tridiagonal {
 public:
  using Row = Eigen::Matrix<T, 1, Eigen::Dynamic>;

  Tridiagonal(const MatrixIn<T>& diagonals, const MatrixIn<T>& right, MatrixOut<T>& x)
      : d_(diagonals), right_(right), x_(x), n_(diagonals.cols()), u_(n_, 3) {
    u_.setZero();
  }

  void thomas() {
    if (on(0) == 0) return spoil();
    u_(0, 0) = above(0) / on(0);
    x_.row(0) = right_.row(0) / on(0);
    for (Eigen::Index i = 1; i < n_; ++i) {
      const T pivot = on(i) - below(i) * u_(i - 1, 0);
      if (pivot == 0) return spoil();
      u_(i, 0) = above(i) / pivot;
      x_.row(i) = (right_.row(i) - below(i) * x_.row(i - 1)) / pivot;
    }
    for (Eigen::Index i = n_ - 2; i >= 0; --i) x_.row(i) -= u_(i, 0) * x_.row(i + 1);
  }

  void pivoted() {
    first_row();
    for (Eigen::Index i = 0; i + 1 < n_; ++i) {
      if (std::abs(u_(i, 0)) >= std::abs(below(i + 1))) {
        if (u_(i, 0) == 0) return spoil();
        keep_rows(i);
      } else {
        swap_rows(i);
      }
    }
    if (u_(n_ - 1, 0) == 0) return spoil();
    for (Eigen::Index i = n_ - 1; i >= 0; --i) x_.row(i) = without_later(i) / u_(i, 0);
  }

  // Swaps rows by their sizes relative to their own scale; perturbs pivots near 0.
  void perturbed() {
    first_row();
    T largest = std::max(std::abs(u_(0, 0)), std::abs(u_(0, 1)));
    T scale = std::abs(u_(0, 0)) + std::abs(u_(0, 1));
    for (Eigen::Index i = 0; i + 1 < n_; ++i) {
      const T next = std::abs(below(i + 1)) + std::abs(on(i + 1)) +
                     (i + 2 < n_ ? std::abs(above(i + 1)) : T(0));
      const T one = u_(i, 0) == 0 ? T(0) : std::abs(u_(i, 0)) / scale;
      if (below(i + 1) == 0 || std::abs(below(i + 1)) / next <= one) {
        keep_rows(i);
        scale = next;
      } else {
        swap_rows(i);
      }
      if (i + 2 < n_) largest = std::max(largest, u_.row(i).abs().maxCoeff());
    }
    largest = std::max(largest, std::abs(u_(n_ - 1, 0)));
    const T step = std::numeric_limits<T>::epsilon() * largest;
    for (Eigen::Index i = n_ - 1; i >= 0; --i) {
      Row row = without_later(i);
      T pivot = u_(i, 0);
      keep_away_from_zero(step, pivot, row);
      x_.row(i) = row * (1 / pivot);
    }
  }

 private:
  T above(Eigen::Index i) const { return d_(0, i); }
  T on(Eigen::Index i) const { return d_(1, i); }
  T below(Eigen::Index i) const { return d_(2, i); }

  void spoil() { x_.setConstant(std::numeric_limits<T>::quiet_NaN()); }

  void first_row() {
    u_(0, 0) = on(0);
    u_(0, 1) = n_ > 1 ? above(0) : T(0);
    x_.row(0) = right_.row(0);
  }
  void keep_rows(Eigen::Index i) {
    const T factor = below(i + 1) == 0 ? T(0) : below(i + 1) / u_(i, 0);
    u_(i + 1, 0) = on(i + 1) - factor * u_(i, 1);
    if (i + 2 < n_) u_(i + 1, 1) = above(i + 1);
    x_.row(i + 1) = right_.row(i + 1) - factor * x_.row(i);
  }
  void swap_rows(Eigen::Index i) {
    const T factor = u_(i, 0) / below(i + 1);
    u_(i, 0) = below(i + 1);
    u_(i + 1, 0) = u_(i, 1) - factor * on(i + 1);
    u_(i, 1) = on(i + 1);
    if (i + 2 < n_) {
      u_(i, 2) = above(i + 1);
      u_(i + 1, 1) = -factor * above(i + 1);
    }
    const Row old = x_.row(i);
    x_.row(i + 1) = old - factor * right_.row(i + 1);
    x_.row(i) = right_.row(i + 1);
  }
  Row without_later(Eigen::Index i) const {
    Row row = x_.row(i);
    if (i + 1 < n_) row -= u_(i, 1) * x_.row(i + 1);
    if (i + 2 < n_) row -= u_(i, 2) * x_.row(i + 2);
    return row;
  }

  const MatrixIn<T>& d_;
  const MatrixIn<T>& right_;
  MatrixOut<T>& x_;
  const Eigen::Index n_;
  Eigen::Array<T, Eigen::Dynamic, 3> u_;
};

class TridiagonalSolve final : public FloatingKernel<TridiagonalSolve> {
 public:
  TridiagonalSolve(bool pivots, bool perturbs) : pivots_(pivots), perturbs_(perturbs) {}
  template <typename T>
  Status run_as(KernelContext& context, KernelIo& io, const TensorView& view) const {
    const TensorView right = io.view(1);
    const MatrixDims dims = matrix_dims(io, view, 0), sides = matrix_dims(io, right, 1);
    io.require(with_last_dims(view.shape, {}) == with_last_dims(right.shape, {}),
               "All input tensors must have the same outer dimensions.");
    io.require(dims.rows == 3,
               "Expected diagonals to have 3 rows, got " + std::to_string(dims.rows));
    io.require(sides.rows == dims.columns, "Expected same number of rows in both inputs, got " +
                                               std::to_string(dims.columns) + " and " +
                                               std::to_string(sides.rows));
    const std::span<const T> in = io.elements<T>(view), rhs = io.elements<T>(right);
    if (io.failed()) return io.take();
    const std::span<T> out = io.output<T>(0, right.shape);
    if (io.failed() || out.empty()) return io.take();
    const double steps = 8.0 * static_cast<double>(sides.elements());
    return for_matrices(context, dims.count, steps, [&](size_t i) -> const char* {
      MatrixOut<T> x = matrix_out(out, sides.rows, sides.columns, i);
      const MatrixIn<T> diagonals = matrix_at(in, dims, i), b = matrix_at(rhs, sides, i);
      Tridiagonal<T> system(diagonals, b, x);
      if (!pivots_) system.thomas();
      else if (perturbs_) system.perturbed();
      else system.pivoted();
      return nullptr;
    });
  }

 private:
  const bool pivots_, perturbs_;
};

}  // namespace

std::vector<OperatorType> pivot_operators() {
  using Made = Result<std::unique_ptr<Kernel>>;
  const Operand any{};
  return {
      {"Lu",
       {any},
       {any, {DType::Int64}},
       [](const KernelAttributes&) -> Made {
         return std::unique_ptr<Kernel>(std::make_unique<Lu>());
       }},
      {"TridiagonalSolve",
       {any, any},
       {any},
       [](const KernelAttributes& a) -> Made {
         return std::unique_ptr<Kernel>(std::make_unique<TridiagonalSolve>(
             a.integer("partial_pivoting", 1) != 0, a.integer("perturb_singular", 0) != 0));
       }},
  };
}

}  // namespace serval::operators
