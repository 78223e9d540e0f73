// ReduceMax, ReduceMin: ONNX's operators of the same names over floats, except for NaN: the extreme
// of elements that include a NaN is NaN, as in TensorFlow. Hot path, any thread.
// Source: tensorflow/core/kernels/reduction_ops_max.cc (Eigen's MaxReducer, which propagates NaN).
#include <array>
#include <limits>

#include "operators/kernel_io.h"
#include "operators/strict/groups.h"
#include "operators/strict/support.h"

namespace serval::operators {
namespace {

template <typename T, bool kMax>
constexpr T kStart = kMax ? -std::numeric_limits<T>::infinity()
                          : std::numeric_limits<T>::infinity();

template <bool kMax, typename T>
T extreme(T a, T b) {
  if constexpr (kMax) return b > a ? b : a;
  else return b < a ? b : a;
}

// The extreme of `count` adjacent elements.
template <typename T, bool kMax>
T of_row(const T* from, size_t count) {
  constexpr size_t kLanes = 16;  // number of independent maxima, so that the compiler vectorizes
  std::array<T, kLanes> found;
  // as wide as T, for vectorization
  using Flag = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;
  std::array<Flag, kLanes> is_nan{};
  found.fill(kStart<T, kMax>);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const T value = from[i + lane];
      found[lane] = extreme<kMax>(found[lane], value);
      is_nan[lane] |= Flag{value != value};
    }
  }
  T best = kStart<T, kMax>;
  bool any_nan = false;
  for (size_t lane = 0; lane < kLanes; ++lane) {
    best = extreme<kMax>(best, found[lane]);
    any_nan |= is_nan[lane] != 0;
  }
  for (; i < count; ++i) {
    best = extreme<kMax>(best, from[i]);
    any_nan |= from[i] != from[i];
  }
  return any_nan ? std::numeric_limits<T>::quiet_NaN() : best;
}

// Combines a row of elements with the extremes at their positions.
template <typename T, bool kMax>
void take_row(const T* from, size_t count, T* to) {
  for (size_t j = 0; j < count; ++j) {
    const T value = from[j];
    // Keeps an existing NaN, because every comparison with it is false.
    to[j] = value != value ? value : extreme<kMax>(to[j], value);
  }
}

// Minimum elements per parallel task: less is not worth a thread.
constexpr size_t kElementsPerTask = 1 << 15;

// A tensor's dims, grouped into neighbours that are all reduced or all kept.
struct Group {
  size_t count = 1;
  bool reduced = false;
  size_t stride = 0;  // in the output, if kept
};

// One pass over the input in memory order.
template <typename T, bool kMax>
void reduce_groups(std::span<const Group> groups, std::span<const T> input, std::span<T> out) {
  std::fill(out.begin(), out.end(), kStart<T, kMax>);
  if (input.empty()) return;
  const Group last = groups.empty() ? Group{} : groups.back();
  const size_t outer = groups.empty() ? 0 : groups.size() - 1;
  std::vector<size_t> at(outer, 0);
  size_t place = 0;
  for (size_t from = 0; from < input.size(); from += last.count) {
    const T* row = input.data() + from;
    if (last.reduced) {
      const T found = of_row<T, kMax>(row, last.count);
      take_row<T, kMax>(&found, 1, &out[place]);
    } else {
      take_row<T, kMax>(row, last.count, &out[place]);
    }
    for (size_t axis = outer; axis-- > 0;) {
      place += groups[axis].stride;
      if (++at[axis] < groups[axis].count) break;
      place -= groups[axis].stride * groups[axis].count;
      at[axis] = 0;
    }
  }
}

// Inputs: axes (int64; none: nothing is reduced), floats or doubles. Attribute `keepdims`.
template <bool kMax>
class ReduceExtreme final : public Kernel {
 public:
  explicit ReduceExtreme(const KernelAttributes& attributes)
      : keeps_(attributes.integer("keepdims", 1) != 0) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const std::vector<int64_t> axes = io.integers(0);
    const TensorView input = io.view(1);
    if (io.failed()) return io.take();
    const size_t rank = input.shape.rank();
    std::vector<bool> reduced(rank, false);
    for (const int64_t given : axes) {
      const int64_t axis = given < 0 ? given + static_cast<int64_t>(rank) : given;
      if (!io.require(axis >= 0 && axis < static_cast<int64_t>(rank),
                      "Invalid reduction dimension (" + std::to_string(given) + " for input with " +
                          std::to_string(rank) + " dimension(s)") ||
          !io.require(!reduced[static_cast<size_t>(axis)],
                      "Invalid reduction arguments: Axes contains duplicate dimension: " +
                          std::to_string(given))) {
        return io.take();
      }
      reduced[static_cast<size_t>(axis)] = true;
    }
    Shape shape;
    std::vector<Group> groups;
    for (size_t axis = 0; axis < rank; ++axis) {
      const int64_t dim = input.shape[axis];
      if (!reduced[axis]) (void)shape.push_back(dim);
      else if (keeps_) (void)shape.push_back(1);
      if (groups.empty() || groups.back().reduced != reduced[axis])
        groups.push_back({1, reduced[axis], 0});
      groups.back().count *= static_cast<size_t>(dim);
    }
    size_t stride = 1;
    for (size_t i = groups.size(); i-- > 0;) {
      if (groups[i].reduced) continue;
      groups[i].stride = stride;
      stride *= groups[i].count;
    }
    if (input.dtype == DType::Fp32) write<float>(context, io, groups, input, shape);
    else write<double>(context, io, groups, input, shape);
    return io.take();
  }

 private:
  template <typename T>
  static void write(KernelContext& context, KernelIo& io, std::span<const Group> groups,
                    const TensorView& input, const Shape& shape) {
    const std::span<const T> from = io.elements<T>(input);
    const std::span<T> out = io.output<T>(0, shape);
    if (io.failed()) return;
    if (groups.empty()) {
      out[0] = from[0];
      return;
    }
    const size_t rows = groups[0].count;
    const size_t tasks = std::min(rows, from.size() / kElementsPerTask);
    if (groups[0].reduced || groups.size() == 1 || tasks < 2) {
      reduce_groups<T, kMax>(groups, from, out);
      return;
    }
    const size_t width = from.size() / rows, out_width = out.size() / rows;
    Status done = context.parallel(tasks, [&](size_t task) {
      for (size_t row = rows * task / tasks; row < rows * (task + 1) / tasks; ++row) {
        reduce_groups<T, kMax>(groups.subspan(1), from.subspan(row * width, width),
                               out.subspan(row * out_width, out_width));
      }
    });
    if (!done.ok()) io.fail(std::move(done.error()));
  }
  const bool keeps_;
};

}  // namespace

std::vector<OperatorType> extreme_operators() {
  constexpr auto kLast = OperatorType::OutputType::OfLastInput;
  constexpr Operand kAny;
  return {
      {"ReduceMax", {kAny, kAny}, {kAny}, make_class<ReduceExtreme<true>>, kLast},
      {"ReduceMin", {kAny, kAny}, {kAny}, make_class<ReduceExtreme<false>>, kLast},
  };
}

}  // namespace serval::operators
