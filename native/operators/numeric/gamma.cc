// Functions of several numbers as TensorFlow's operators of these names: Igamma, Igammac, Zeta,
// Polygamma (two numbers, tensors of one shape), Betainc (three, tensors of one shape or scalars);
// and RoundFloat8, which rounds a float to an 8-bit type. Hot path, any thread. Floats are computed
// in double and rounded once. Source: tensorflow/core/kernels/{cwise_ops.h, betainc_op.cc}.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "operators/groups.h"
#include "operators/numeric/matrices.h"

#include <unsupported/Eigen/SpecialFunctions>

namespace serval::operators {
namespace {

constexpr size_t kTaskElements = 1 << 10;

// Calls work(i) for each element, on several threads if there are many.
template <typename Work>
Status for_elements(KernelContext& context, size_t count, Work work) {
  if (count == 0) return ok_status();
  return context.parallel((count - 1) / kTaskElements + 1, [&](size_t task) {
    const size_t end = std::min(count, (task + 1) * kTaskElements);
    for (size_t i = task * kTaskElements; i < end; ++i) work(i);
  });
}

using Function = double (*)(double, double);

double igamma(double a, double x) { return Eigen::numext::igamma(a, x); }
double igammac(double a, double x) { return Eigen::numext::igammac(a, x); }
double zeta(double x, double q) { return Eigen::numext::zeta(x, q); }
double polygamma(double n, double x) { return Eigen::numext::polygamma(n, x); }

template <Function function>
class OfTwo final : public FloatingKernel<OfTwo<function>> {
 public:
  template <typename T>
  Status run_as(KernelContext& context, KernelIo& io, const TensorView& view) const {
    const TensorView second = io.view(1);
    io.require(second.shape == view.shape, "Incompatible shapes: " + view.shape.to_string() +
                                               " and " + second.shape.to_string());
    const std::span<const T> a = io.elements<T>(view), b = io.elements<T>(second);
    const std::span<T> out = io.output<T>(0, view.shape);
    if (io.failed()) return io.take();
    return for_elements(context, out.size(), [&](size_t i) {
      out[i] = static_cast<T>(function(static_cast<double>(a[i]), static_cast<double>(b[i])));
    });
  }
};

class Betainc final : public FloatingKernel<Betainc> {
 public:
  template <typename T>
  Status run_as(KernelContext& context, KernelIo& io, const TensorView&) const {
    constexpr std::array<const char*, 3> kNames = {"a", "b", "x"};
    std::array<TensorView, 3> views;
    std::array<std::span<const T>, 3> in;
    size_t shaped = 0;  // the first that is not a scalar
    for (size_t i = 0; i < views.size(); ++i) {
      views[i] = io.view(i);
      in[i] = io.elements<T>(views[i]);
      if (views[shaped].shape.rank() == 0) shaped = i;
      else
        io.require(views[i].shape.rank() == 0 || views[i].shape == views[shaped].shape,
                   std::string("Shapes of ") + kNames[shaped] + " and " + kNames[i] +
                       " are inconsistent: " + views[shaped].shape.to_string() + " vs. " +
                       views[i].shape.to_string());
    }
    if (io.failed()) return io.take();
    const std::span<T> out = io.output<T>(0, views[shaped].shape);
    if (io.failed()) return io.take();
    const auto at = [&](size_t input, size_t i) {
      return static_cast<double>(in[input][views[input].shape.rank() == 0 ? 0 : i]);
    };
    return for_elements(context, out.size(), [&](size_t i) {
      out[i] = static_cast<T>(Eigen::numext::betainc(at(0, i), at(1, i), at(2, i)));
    });
  }
};

// An 8-bit type: digits after the point, the smallest exponent of a normal number, the largest
// number, and the value for larger ones.
struct Float8 {
  int digits;
  int least_exponent;
  float largest;
  float beyond;
};
constexpr Float8 kE4M3FN = {3, -6, 448.0f, std::numeric_limits<float>::quiet_NaN()};
constexpr Float8 kE5M2 = {2, -14, 57344.0f, std::numeric_limits<float>::infinity()};

// The nearest number of the type, ties to even.
float rounded(float x, const Float8& type) {
  if (std::isnan(x) || x == 0) return x;
  if (std::isinf(x)) return std::copysign(type.beyond, x);
  int exponent = 0;
  (void)std::frexp(x, &exponent);  // x = [0.5, 1) * 2^exponent
  const int step = std::max(exponent - 1, type.least_exponent) - type.digits;
  const float value = std::ldexp(std::nearbyint(std::ldexp(x, -step)), step);
  return std::abs(value) > type.largest ? std::copysign(type.beyond, x) : value;
}

class RoundFloat8 final : public Kernel {
 public:
  explicit RoundFloat8(const Float8& type) : type_(type) {}
  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView view = io.view(0);
    const std::span<const float> in = io.elements<float>(view);
    const std::span<float> out = io.output<float>(0, view.shape);
    for (size_t i = 0; i < out.size(); ++i) out[i] = rounded(in[i], type_);
    return io.take();
  }

 private:
  const Float8& type_;
};

template <typename Made>
Result<std::unique_ptr<Kernel>> make_plain(const KernelAttributes&) {
  return std::unique_ptr<Kernel>(std::make_unique<Made>());
}

Result<std::unique_ptr<Kernel>> make_round(const KernelAttributes& attributes) {
  const std::string type = attributes.text("type", "");
  if (type == "float8_e4m3fn")
    return std::unique_ptr<Kernel>(std::make_unique<RoundFloat8>(kE4M3FN));
  if (type == "float8_e5m2") return std::unique_ptr<Kernel>(std::make_unique<RoundFloat8>(kE5M2));
  return model_invalid("RoundFloat8: expected type float8_e4m3fn or float8_e5m2, got '" + type +
                       "'");
}

}  // namespace

std::vector<OperatorType> gamma_operators() {
  const Operand any{};
  const Operand floats{DType::Fp32};
  return {
      {"Igamma", {any, any}, {any}, make_plain<OfTwo<igamma>>},
      {"Igammac", {any, any}, {any}, make_plain<OfTwo<igammac>>},
      {"Zeta", {any, any}, {any}, make_plain<OfTwo<zeta>>},
      {"Polygamma", {any, any}, {any}, make_plain<OfTwo<polygamma>>},
      {"Betainc", {any, any, any}, {any}, make_plain<Betainc>},
      {"RoundFloat8", {floats}, {floats}, make_round},
  };
}

}  // namespace serval::operators
