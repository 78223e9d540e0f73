// ComplexAbs and Angle: the absolute value and the angle of complex numbers, given as their real
// and imaginary parts. Hot path, any thread.
#include <algorithm>
#include <cmath>

#include "operators/groups.h"
#include "operators/kernel_io.h"

namespace serval::operators {
namespace {

constexpr size_t kTaskElements = 1 << 15;

// Floats are computed in double, in which no square overflows.
struct Length {
  static float of(float re, float im) {
    const double a = re, b = im;
    if (std::isinf(re) || std::isinf(im)) return INFINITY;  // even if the other part is NaN
    return static_cast<float>(std::sqrt(a * a + b * b));
  }
  static double of(double re, double im) { return std::hypot(re, im); }
};

struct Direction {
  template <typename T>
  static T of(T re, T im) {
    return std::atan2(im, re);
  }
};

template <typename Function>
class OfParts final : public Kernel {
 public:
  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView real = io.view(0), imaginary = io.view(1);
    io.require(real.shape == imaginary.shape, "the imaginary parts have shape " +
                                                  imaginary.shape.to_string() + ", the real ones " +
                                                  real.shape.to_string());
    if (io.failed()) return io.take();
    if (real.dtype == DType::Fp64) return run_as<double>(context, io, real, imaginary);
    return run_as<float>(context, io, real, imaginary);
  }

 private:
  template <typename T>
  Status run_as(KernelContext& context, KernelIo& io, const TensorView& real,
                const TensorView& imaginary) const {
    const std::span<const T> re = io.elements<T>(real), im = io.elements<T>(imaginary);
    const std::span<T> out = io.output<T>(0, real.shape);
    if (io.failed() || out.empty()) return io.take();
    return context.parallel((out.size() - 1) / kTaskElements + 1, [&](size_t task) {
      const size_t end = std::min(out.size(), (task + 1) * kTaskElements);
      for (size_t i = task * kTaskElements; i < end; ++i) out[i] = Function::of(re[i], im[i]);
    });
  }
};

template <typename Function>
Result<std::unique_ptr<Kernel>> make_of_parts(const KernelAttributes&) {
  return std::unique_ptr<Kernel>(std::make_unique<OfParts<Function>>());
}

}  // namespace

std::vector<OperatorType> complex_operators() {
  const Operand any{};
  return {{"ComplexAbs", {any, any}, {any}, make_of_parts<Length>},
          {"Angle", {any, any}, {any}, make_of_parts<Direction>}};
}

}  // namespace serval::operators
