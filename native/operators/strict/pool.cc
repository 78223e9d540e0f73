// WithoutNan, MaxPoolWithArgmax: maxima of windows as in TensorFlow's kernels if an element is NaN.
// Hot path, any thread.
// Source: tensorflow/core/kernels/{pooling_ops_common.h,maxpooling_op.cc}.
#include <limits>

#include "operators/kernel_io.h"
#include "operators/strict/groups.h"
#include "operators/strict/support.h"

namespace serval::operators {
namespace {

// Input: floats or doubles. Output: the same, with NaN and anything lower replaced by the lowest
// finite number, with which TensorFlow's maxima begin. In place if nothing else reads the input.
Status without_nan(KernelContext& context) {
  KernelIo io(context);
  const TensorView input = io.view(0);
  const auto write = [&]<typename T>(TypeTag<T>) {
    const std::span<const T> from = io.elements<T>(input);
    const std::span<T> out = io.output<T>(0, input.shape);
    constexpr T kLowest = std::numeric_limits<T>::lowest();
    for (size_t i = 0; i < out.size() && i < from.size(); ++i) {
      out[i] = from[i] > kLowest ? from[i] : kLowest;
    }
  };
  if (input.dtype == DType::Fp32) write(TypeTag<float>{});
  else write(TypeTag<double>{});
  return io.take();
}

// A window along one axis of the image.
struct Axis {
  int64_t size, window, stride, before, count;
  int64_t first(int64_t at) const { return std::max<int64_t>(at * stride - before, 0); }
  int64_t end(int64_t at) const { return std::min(at * stride - before + window, size); }
};

// Input: images [n, h, w, c]. Outputs: the largest element of each window, and its position: the
// first of equal ones; a NaN only if it is the window's first. Attributes: `kernel`, `strides`,
// `same` (padding), `with_batch` (positions count through all images).
class MaxPoolWithArgmax final : public Kernel {
 public:
  explicit MaxPoolWithArgmax(const KernelAttributes& attributes)
      : kernel_(attributes.integers("kernel")),
        strides_(attributes.integers("strides")),
        same_(attributes.integer("same", 0) != 0),
        with_batch_(attributes.integer("with_batch", 0) != 0) {}

  static Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
    auto kernel = std::make_unique<MaxPoolWithArgmax>(attributes);
    const auto is_pair = [](const std::vector<int64_t>& pair) {
      return pair.size() == 2 && pair[0] > 0 && pair[1] > 0;
    };
    if (is_pair(kernel->kernel_) && is_pair(kernel->strides_)) {
      return std::unique_ptr<Kernel>(std::move(kernel));
    }
    return model_invalid("MaxPoolWithArgmax: expected two sizes of 1 or more in kernel, strides");
  }

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView input = io.view(0);
    io.require(input.shape.rank() == 4, "tensor_in must be 4-dimensional");
    if (io.failed()) return io.take();
    const Axis rows = axis_of(input.shape[1], 0), columns = axis_of(input.shape[2], 1);
    const Shape shape = shape_of({input.shape[0], rows.count, columns.count, input.shape[3]});
    const std::span<int64_t> places = io.output<int64_t>(1, shape);
    const bool known = for_number(input.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const std::span<const T> from = io.elements<T>(input);
      const std::span<T> out = io.output<T>(0, shape);
      if (!io.failed()) pool<T>(from, out, places, rows, columns, input.shape);
    });
    if (!known) return internal_failure("MaxPoolWithArgmax: no kernel for this type");
    return io.take();
  }

 private:
  Axis axis_of(int64_t size, size_t i) const {
    const int64_t window = kernel_[i], stride = strides_[i];
    const int64_t count =
        same_ ? (size + stride - 1) / stride : std::max<int64_t>(0, (size - window) / stride + 1);
    const int64_t pad = std::max<int64_t>(0, (count - 1) * stride + window - size);
    return {size, window, stride, same_ ? pad / 2 : 0, size < window && !same_ ? 0 : count};
  }

  template <typename T>
  void pool(std::span<const T> from, std::span<T> out, std::span<int64_t> places, const Axis& rows,
            const Axis& columns, const Shape& shape) const {
    const int64_t channels = shape[3], image = rows.size * columns.size * channels;
    size_t to = 0;
    for (int64_t n = 0; n < shape[0]; ++n) {
      const T* const of_image = from.data() + n * image;
      for (int64_t y = 0; y < rows.count; ++y) {
        for (int64_t x = 0; x < columns.count; ++x) {
          for (int64_t c = 0; c < channels; ++c, ++to) {
            int64_t best = -1;
            for (int64_t i = rows.first(y); i < rows.end(y); ++i) {
              for (int64_t j = columns.first(x); j < columns.end(x); ++j) {
                const int64_t at = (i * columns.size + j) * channels + c;
                if (best < 0 || of_image[best] < of_image[at]) best = at;
              }
            }
            out[to] = best < 0 ? std::numeric_limits<T>::lowest() : of_image[best];
            places[to] = with_batch_ && best >= 0 ? n * image + best : best;
          }
        }
      }
    }
  }

  const std::vector<int64_t> kernel_, strides_;
  const bool same_, with_batch_;
};

}  // namespace

std::vector<OperatorType> pool_operators() {
  constexpr Operand kAny;
  return {
      {"WithoutNan",
       {kAny},
       {kAny},
       make_function<without_nan>,
       OperatorType::OutputType::ChangesLastInput},
      {"MaxPoolWithArgmax", {kAny}, {kAny, Operand{DType::Int64}}, MaxPoolWithArgmax::make},
  };
}

}  // namespace serval::operators
