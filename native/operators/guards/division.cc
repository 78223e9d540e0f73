// IntegerDivide, IntegerModulo, IntegerPower: ONNX's Div and Mod for the cases in which the
// processor's own instruction would end the process: division by 0, and of the smallest integer by
// -1. Floats are computed as ONNX does, for graphs whose types are unknown before they run.
// IntegerPower is TensorFlow's: it wraps around and refuses exponents below 0. Hot path, any
// thread. Source: ONNX Div and Mod; the smallest integer divided by -1 wraps around, as
// TensorFlow's does (tensorflow/core/kernels/cwise_ops.h, safe_div_or_mod_op).
#include <cmath>
#include <string>
#include <utility>

#include "operators/groups.h"
#include "operators/kernel_io.h"

namespace serval::operators {
namespace {

enum class Form : uint8_t { Divide, FloorModulo, TruncatedModulo, Power };

template <typename T>
T power_of(T x, T y) {
  T result = 1;
  for (; y > 0; y = static_cast<T>(y / 2)) {
    if (y % 2 != 0) result = product_of<T>(result, x);
    x = product_of<T>(x, x);
  }
  return result;
}

template <typename T>
T compute_integer(Form form, T x, T y) {
  if (form == Form::Power) return power_of(x, y);
  if constexpr (std::is_signed_v<T>) {
    if (y == T{-1}) return form == Form::Divide ? product_of<T>(x, y) : T{0};
  }
  if (form == Form::Divide) return static_cast<T>(x / y);
  const T rest = static_cast<T>(x % y);
  if constexpr (std::is_signed_v<T>) {
    if (form == Form::FloorModulo && rest != 0 && (rest < 0) != (y < 0)) {
      return static_cast<T>(rest + y);
    }
  }
  return rest;
}

template <typename T>
T compute_real(Form form, T x, T y) {
  if (form == Form::Power) return std::pow(x, y);
  if (form == Form::Divide) return x / y;
  const T rest = std::fmod(x, y);
  if (form == Form::FloorModulo && rest != 0 && (rest < 0) != (y < 0)) return rest + y;
  return rest;
}

// The strides of an operand along the output's dims, 0 where it is broadcast.
std::vector<size_t> strides_of(const Shape& operand, const Shape& out) {
  std::vector<size_t> strides(out.rank(), 0);
  size_t step = 1;
  for (size_t i = 0; i < operand.rank(); ++i) {
    const size_t from = operand.rank() - 1 - i;
    if (operand[from] != 1) strides[out.rank() - 1 - i] = step;
    step *= static_cast<size_t>(operand[from]);
  }
  return strides;
}

// ONNX's multidirectional broadcasting; false if the shapes are incompatible.
bool broadcast(const Shape& x, const Shape& y, Shape& out) {
  const size_t rank = std::max(x.rank(), y.rank());
  for (size_t i = 0; i < rank; ++i) {
    const size_t from_end = rank - i;
    const int64_t a = from_end <= x.rank() ? x[x.rank() - from_end] : 1;
    const int64_t b = from_end <= y.rank() ? y[y.rank() - from_end] : 1;
    if (a != b && a != 1 && b != 1) return false;
    if (!out.push_back(a == 1 ? b : a)) return false;
  }
  return true;
}

// Calls work(i, j) with the elements of x and y for each output element, in order.
template <typename Work>
void for_pairs(const Shape& x, const Shape& y, const Shape& out, Work work) {
  const uint64_t count = out.elements().value_or(0);
  if (count == 0) return;
  if (x == y) {
    for (size_t i = 0; i < count; ++i) work(i, i);
    return;
  }
  const std::vector<size_t> x_steps = strides_of(x, out), y_steps = strides_of(y, out);
  std::vector<int64_t> at(out.rank(), 0);
  size_t i = 0, j = 0;
  for (uint64_t done = 0; done < count; ++done) {
    work(i, j);
    for (size_t axis = out.rank(); axis-- > 0;) {
      i += x_steps[axis];
      j += y_steps[axis];
      if (++at[axis] < out[axis]) break;
      i -= x_steps[axis] * static_cast<size_t>(out[axis]);
      j -= y_steps[axis] * static_cast<size_t>(out[axis]);
      at[axis] = 0;
    }
  }
}

template <typename T>
void divide(Form form, const std::string& node, KernelIo& io, const TensorView& x,
            const TensorView& y, const Shape& shape) {
  const std::span<const T> a = io.elements<T>(x), b = io.elements<T>(y);
  if constexpr (std::is_integral_v<T>) {
    const bool refused =
        shape.elements().value_or(0) > 0 && std::any_of(b.begin(), b.end(), [=](T value) {
          return form == Form::Power ? value < T{0} : value == T{0};
        });
    io.require(!refused, form == Form::Power
                             ? "Integers to negative integer powers are not allowed: " + node
                             : "Integer division by zero: " + node);
  }
  const std::span<T> out = io.output<T>(0, shape);
  if (io.failed()) return;
  T* to = out.data();
  for_pairs(x.shape, y.shape, shape, [&](size_t i, size_t j) {
    if constexpr (std::is_integral_v<T>) *to++ = compute_integer<T>(form, a[i], b[j]);
    else if constexpr (IsHalf<T>)
      *to++ = T(compute_real(form, static_cast<float>(a[i]), static_cast<float>(b[j])));
    else *to++ = compute_real<T>(form, a[i], b[j]);
  });
}

class IntegerDivision final : public Kernel {
 public:
  IntegerDivision(Form form, std::string node) : form_(form), node_(std::move(node)) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView x = io.view(0), y = io.view(1);
    if (io.failed()) return io.take();
    Shape shape;
    const bool fits = broadcast(x.shape, y.shape, shape);
    io.require(fits, node_ + ": shapes " + x.shape.to_string() + " and " + y.shape.to_string() +
                         " do not fit");
    if (io.failed()) return io.take();
    return visit(x.dtype, [&]<typename T>(TypeTag<T>) -> Status {
      if constexpr (IsNumber<T>) {
        divide<T>(form_, node_, io, x, y, shape);
        return io.take();
      } else {
        return internal_failure(node_ + ": no division of " + std::string(dtype_name(x.dtype)));
      }
    });
  }

 private:
  const Form form_;
  const std::string node_;
};

Result<std::unique_ptr<Kernel>> make_divide(const KernelAttributes& attributes) {
  const std::string node = "Div '" + attributes.text("serval_node", "") + "'";
  return std::unique_ptr<Kernel>(std::make_unique<IntegerDivision>(Form::Divide, node));
}

Result<std::unique_ptr<Kernel>> make_modulo(const KernelAttributes& attributes) {
  const std::string node = "Mod '" + attributes.text("serval_node", "") + "'";
  const Form form = attributes.integer("fmod", 0) == 0 ? Form::FloorModulo : Form::TruncatedModulo;
  return std::unique_ptr<Kernel>(std::make_unique<IntegerDivision>(form, node));
}

Result<std::unique_ptr<Kernel>> make_power(const KernelAttributes& attributes) {
  const std::string node = "Pow '" + attributes.text("serval_node", "") + "'";
  return std::unique_ptr<Kernel>(std::make_unique<IntegerDivision>(Form::Power, node));
}

}  // namespace

std::vector<OperatorType> division_operators() {
  constexpr auto kType = OperatorType::OutputType::OfLastInput;
  return {
      {"IntegerDivide", {Operand{}, Operand{}}, {Operand{}}, make_divide, kType},
      {"IntegerModulo", {Operand{}, Operand{}}, {Operand{}}, make_modulo, kType},
      {"IntegerPower", {Operand{}, Operand{}}, {Operand{}}, make_power, kType},
  };
}

}  // namespace serval::operators
