// Special functions of one number as TensorFlow's operators of these names, and NextAfter of two;
// float and double. Hot path, any thread.
// Floats are computed in double and rounded once. Source: tensorflow/core/kernels/cwise_ops.h.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "operators/groups.h"
#include "operators/numeric/matrices.h"

#include <unsupported/Eigen/SpecialFunctions>

namespace serval::operators {
namespace {

constexpr size_t kTaskElements = 1 << 12;

using Function = double (*)(double);

// Handles the ends, where the inverse of the distribution is infinite, and values outside: NaN.
double ndtri(double x) {
  if (!(x >= 0 && x <= 1)) return NAN;
  return Eigen::numext::ndtri(x);
}
double inverse_erf(double x) { return ndtri(0.5 * x + 0.5) * (std::numbers::sqrt2 / 2); }
// For small x, 1 + x loses digits, so erf is approximated by its slope.
double erfinv(double x) {
  constexpr double kSmall = 1e-7;
  if (std::abs(x) < kSmall) return x * std::sqrt(std::numbers::pi) / 2;
  return inverse_erf(x);
}

// Functions that can be template arguments.
double bessel_i0(double x) { return Eigen::numext::bessel_i0(x); }
double bessel_i0e(double x) { return Eigen::numext::bessel_i0e(x); }
double bessel_i1(double x) { return Eigen::numext::bessel_i1(x); }
double bessel_i1e(double x) { return Eigen::numext::bessel_i1e(x); }
double bessel_j0(double x) { return Eigen::numext::bessel_j0(x); }
double bessel_j1(double x) { return Eigen::numext::bessel_j1(x); }
double bessel_k0(double x) { return Eigen::numext::bessel_k0(x); }
double bessel_k0e(double x) { return Eigen::numext::bessel_k0e(x); }
double bessel_k1(double x) { return Eigen::numext::bessel_k1(x); }
double bessel_k1e(double x) { return Eigen::numext::bessel_k1e(x); }
double bessel_y0(double x) { return Eigen::numext::bessel_y0(x); }
double bessel_y1(double x) { return Eigen::numext::bessel_y1(x); }

template <Function function>
class Special final : public FloatingKernel<Special<function>> {
 public:
  template <typename T>
  Status run_as(KernelContext& context, KernelIo& io, const TensorView& view) const {
    const std::span<const T> in = io.elements<T>(view);
    const std::span<T> out = io.output<T>(0, view.shape);
    if (io.failed() || out.empty()) return io.take();
    return context.parallel((out.size() - 1) / kTaskElements + 1, [&](size_t task) {
      const size_t end = std::min(out.size(), (task + 1) * kTaskElements);
      for (size_t i = task * kTaskElements; i < end; ++i) {
        out[i] = static_cast<T>(function(static_cast<double>(in[i])));
      }
    });
  }
};

// The next representable number from the first input towards the second; the inputs have one shape.
class NextAfter final : public FloatingKernel<NextAfter> {
 public:
  template <typename T>
  Status run_as(KernelContext&, KernelIo& io, const TensorView& view) const {
    const TensorView towards = io.view(1);
    io.require(towards.shape == view.shape, "x1 has shape " + view.shape.to_string() +
                                                ", x2 has shape " + towards.shape.to_string());
    const std::span<const T> from = io.elements<T>(view), to = io.elements<T>(towards);
    const std::span<T> out = io.output<T>(0, view.shape);
    if (io.failed()) return io.take();
    for (size_t i = 0; i < out.size(); ++i) out[i] = std::nextafter(from[i], to[i]);
    return io.take();
  }
};

template <typename Made>
Result<std::unique_ptr<Kernel>> make_plain(const KernelAttributes&) {
  return std::unique_ptr<Kernel>(std::make_unique<Made>());
}

}  // namespace

std::vector<OperatorType> special_operators() {
  const Operand any{};
  return {
      {"Erfinv", {any}, {any}, make_plain<Special<erfinv>>},
      {"Ndtri", {any}, {any}, make_plain<Special<ndtri>>},
      {"BesselI0", {any}, {any}, make_plain<Special<bessel_i0>>},
      {"BesselI0e", {any}, {any}, make_plain<Special<bessel_i0e>>},
      {"BesselI1", {any}, {any}, make_plain<Special<bessel_i1>>},
      {"BesselI1e", {any}, {any}, make_plain<Special<bessel_i1e>>},
      {"BesselJ0", {any}, {any}, make_plain<Special<bessel_j0>>},
      {"BesselJ1", {any}, {any}, make_plain<Special<bessel_j1>>},
      {"BesselK0", {any}, {any}, make_plain<Special<bessel_k0>>},
      {"BesselK0e", {any}, {any}, make_plain<Special<bessel_k0e>>},
      {"BesselK1", {any}, {any}, make_plain<Special<bessel_k1>>},
      {"BesselK1e", {any}, {any}, make_plain<Special<bessel_k1e>>},
      {"BesselY0", {any}, {any}, make_plain<Special<bessel_y0>>},
      {"BesselY1", {any}, {any}, make_plain<Special<bessel_y1>>},
      {"NextAfter", {any, any}, {any}, make_plain<NextAfter>},
  };
}

}  // namespace serval::operators
