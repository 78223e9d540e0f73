// Operators before and after ONNX nodes that have a defined result for zero rows which ONNX
// Runtime's kernels do not produce. Hot path, any thread. TopKCount, TopKShape: TopK's kernel ends
// the process. It survives a request for no elements; its outputs, which are empty either way, then
// get the dim that they should have. SomeIndices, NoFeatures: ArrayFeatureExtractor's kernel
// refuses to select nothing. It is asked for the first feature, which is then removed. Most
// classifiers of scikit-learn end with it.
// Source: ONNX TopK (the outputs' shape is the input's, with `k` along the axis), and
// ArrayFeatureExtractor (the output's is the data's, with the number of indices as the last dim).
#include <algorithm>
#include <cstring>
#include <utility>

#include "operators/groups.h"
#include "operators/kernel_io.h"

namespace serval::operators {
namespace {

// The number in `k`; nullopt if it is not a number, which the runtime refuses.
std::optional<int64_t> count_in(const TensorView& k) {
  if (k.dtype != DType::Int64 || k.shape.rank() != 1 || k.shape[0] != 1) return std::nullopt;
  int64_t count = 0;
  std::memcpy(&count, k.data, sizeof count);
  return count;
}

// The axis of a shape for an attribute's value; its rank if that is out of range.
size_t axis_of(int64_t axis, const Shape& shape) {
  const int64_t rank = static_cast<int64_t>(shape.rank());
  if (axis < 0) axis += rank;
  return static_cast<size_t>(axis < 0 || axis > rank ? rank : axis);
}

// Returns `from`, in its own memory if the runtime provides it, with `shape`, whose elements are
// those of `from` or none.
void pass_on(KernelIo& io, const TensorView& from, const Shape& shape) {
  if (from.dtype == DType::Bytes) {
    const bool empty = shape.elements() == 0u;
    io.strings(0, shape, empty ? std::span<const std::string_view>() : from.strings);
    return;
  }
  const std::span<uint8_t> out = io.raw_output(0, from.dtype, shape);
  const bool copies = !io.failed() && !out.empty() && out.data() != from.data;
  if (copies) std::memcpy(out.data(), from.data, out.size());
}

// (data, k) -> k, or 0 if the data has no rows and k elements would be a valid result.
class TopKCount final : public Kernel {
 public:
  explicit TopKCount(int64_t axis) : axis_(axis) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView data = io.view(0), k = io.view(1);
    const std::span<int64_t> out = io.output<int64_t>(0, k.shape);
    if (io.failed() || out.empty()) return io.take();
    std::memcpy(out.data(), k.data, out.size_bytes());
    const std::optional<int64_t> count = count_in(k);
    const size_t axis = axis_of(axis_, data.shape);
    const auto dims = data.shape.dims();
    const bool empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
    const bool fits = count && axis < dims.size() && *count >= 0 && *count <= dims[axis];
    if (empty && fits) out[0] = 0;
    return io.take();
  }

 private:
  const int64_t axis_;
};

// (k, output of TopK) -> the output; an empty output with k along its axis.
class TopKShape final : public Kernel {
 public:
  explicit TopKShape(int64_t axis) : axis_(axis) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView k = io.view(0), from = io.view(1);
    if (io.failed()) return io.take();
    const size_t axis = axis_of(axis_, from.shape);
    const bool empty = from.shape.elements() == 0u && axis < from.shape.rank();
    Shape shape = from.shape;
    if (empty) shape.set(axis, count_in(k).value_or(shape[axis]));
    pass_on(io, from, shape);
    return io.take();
  }

 private:
  const int64_t axis_;
};

// (indices) -> a copy of them, or the index 0 if there are none.
class SomeIndices final : public Kernel {
 public:
  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const std::span<const int64_t> indices = io.elements<int64_t>(0);
    const std::span<int64_t> out =
        io.output<int64_t>(0, indices.empty() ? shape_of({1}) : io.view(0).shape);
    if (io.failed()) return io.take();
    if (indices.empty()) out[0] = 0;
    else std::copy(indices.begin(), indices.end(), out.begin());
    return io.take();
  }
};

// (indices, features) -> the features; none if there are no indices.
class NoFeatures final : public Kernel {
 public:
  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView indices = io.view(0), from = io.view(1);
    if (io.failed()) return io.take();
    Shape shape = from.shape;
    const bool none = indices.shape.elements() == 0u && shape.rank() > 0;
    if (none) shape.set(shape.rank() - 1, 0);
    pass_on(io, from, shape);
    return io.take();
  }
};

template <typename T>
Result<std::unique_ptr<Kernel>> make_plain(const KernelAttributes&) {
  return std::unique_ptr<Kernel>(std::make_unique<T>());
}

template <typename T>
Result<std::unique_ptr<Kernel>> make(const KernelAttributes& attributes) {
  return std::unique_ptr<Kernel>(std::make_unique<T>(attributes.integer("axis", -1)));
}

}  // namespace

std::vector<OperatorType> no_row_operators() {
  using Type = OperatorType::OutputType;
  return {
      {"TopKCount",
       {Operand{}, Operand{DType::Int64}},
       {Operand{}},
       make<TopKCount>,
       Type::OfLastInput},
      {"TopKShape",
       {Operand{DType::Int64}, Operand{}},
       {Operand{}},
       make<TopKShape>,
       Type::PassesLastInput},
      {"SomeIndices",
       {Operand{DType::Int64}},
       {Operand{}},
       make_plain<SomeIndices>,
       Type::OfLastInput},
      {"NoFeatures",
       {Operand{DType::Int64}, Operand{}},
       {Operand{}},
       make_plain<NoFeatures>,
       Type::PassesLastInput},
  };
}

}  // namespace serval::operators
