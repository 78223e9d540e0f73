// ScatterExtreme, SearchSorted: comparisons with NaN in the order in which TensorFlow makes them.
// Hot path, any thread.
// Source: tensorflow/core/kernels/{scatter_nd_op_cpu_impl.h,searchsorted_op.cc}.
#include "operators/kernel_io.h"
#include "operators/strict/groups.h"
#include "operators/strict/support.h"

namespace serval::operators {
namespace {

// Inputs: indices [..., depth] (int64, all in range), updates, a tensor. Output: the tensor with
// the larger (attribute `smaller`: the smaller) of its elements and the updates; a NaN, which does
// not compare, changes nothing. In place if nothing else reads the tensor.
class ScatterExtreme final : public Kernel {
 public:
  explicit ScatterExtreme(const KernelAttributes& attributes)
      : smaller_(attributes.integer("smaller", 0) != 0) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView indices = io.view(0), updates = io.view(1), tensor = io.view(2);
    if (io.failed()) return io.take();
    const size_t rank = indices.shape.rank();
    const size_t depth = rank == 0 ? 0 : static_cast<size_t>(indices.shape[rank - 1]);
    io.require(rank >= 1 && depth <= tensor.shape.rank(), "indices " + indices.shape.to_string() +
                                                              " do not fit a tensor of shape " +
                                                              tensor.shape.to_string());
    if (io.failed()) return io.take();
    const bool known = for_number(tensor.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      scatter<T>(io, indices, io.elements<T>(updates), tensor, depth);
    });
    if (!known) return internal_failure("ScatterExtreme: no kernel for this type");
    return io.take();
  }

 private:
  template <typename T>
  void scatter(KernelIo& io, const TensorView& view, std::span<const T> updates,
               const TensorView& tensor, size_t depth) const {
    const std::span<const int64_t> indices = io.elements<int64_t>(view);
    const std::span<const T> from = io.elements<T>(tensor);
    const std::span<T> out = io.output<T>(0, tensor.shape);
    if (io.failed()) return;
    if (out.data() != from.data()) std::copy(from.begin(), from.end(), out.begin());
    size_t width = 1;
    for (size_t axis = depth; axis < tensor.shape.rank(); ++axis) {
      width *= static_cast<size_t>(tensor.shape[axis]);
    }
    const size_t rows = depth == 0 || width == 0 ? 0 : indices.size() / depth;
    if (!io.require(updates.size() == rows * width || width == 0,
                    "the updates do not fit their indices and the tensor")) {
      return;
    }
    for (size_t row = 0; row < rows; ++row) {
      size_t at = 0;
      for (size_t axis = 0; axis < depth; ++axis) {
        const int64_t index = indices[row * depth + axis], dim = tensor.shape[axis];
        if (!io.require(index >= 0 && index < dim, "an index is outside of the tensor")) return;
        at = at * static_cast<size_t>(dim) + static_cast<size_t>(index);
      }
      T* const to = out.data() + at * width;
      const T* const update = updates.data() + row * width;
      for (size_t i = 0; i < width; ++i) {
        const bool wins = smaller_ ? update[i] < to[i] : to[i] < update[i];
        if (wins) to[i] = update[i];
      }
    }
  }
  const bool smaller_;
};

// Inputs: sorted rows [n, m], values [n, k]. Output: for each value, the number of smaller elements
// in its row (attribute `upper`: or equal), found by binary search. Attribute `index_type`.
class SearchSorted final : public Kernel {
 public:
  explicit SearchSorted(const KernelAttributes& attributes)
      : upper_(attributes.integer("upper", 0) != 0),
        index_type_(dtype_from_onnx(attributes.integer("index_type", 6))) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView sorted = io.view(0), values = io.view(1);
    if (io.failed()) return io.take();
    io.require(sorted.shape.rank() == 2 && values.shape.rank() == 2,
               "sorted input argument and values must be matrices");
    if (io.failed()) return io.take();
    io.require(sorted.shape[0] == values.shape[0],
               "Leading dim_size of both tensors must match: " + sorted.shape.to_string() +
                   " and " + values.shape.to_string());
    if (io.failed()) return io.take();
    std::vector<int64_t> found;
    const bool known = for_number(sorted.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      search<T>(io.elements<T>(sorted), io.elements<T>(values), values.shape, found);
    });
    if (!known) return internal_failure("SearchSorted: no kernel for this type");
    if (!io.failed()) io.integers_output(0, index_type_, values.shape, found);
    return io.take();
  }

 private:
  template <typename T>
  void search(std::span<const T> sorted, std::span<const T> values, const Shape& shape,
              std::vector<int64_t>& found) const {
    const size_t rows = static_cast<size_t>(shape[0]);
    const size_t width = rows == 0 ? 0 : sorted.size() / rows;
    const size_t count = rows == 0 ? 0 : values.size() / rows;
    found.reserve(values.size());
    for (size_t row = 0; row < rows; ++row) {
      const auto begin = sorted.begin() + static_cast<ptrdiff_t>(row * width);
      const auto end = begin + static_cast<ptrdiff_t>(width);
      for (size_t i = 0; i < count; ++i) {
        const T value = values[row * count + i];
        const auto at =
            upper_ ? std::upper_bound(begin, end, value) : std::lower_bound(begin, end, value);
        found.push_back(at - begin);
      }
    }
  }
  const bool upper_;
  const DType index_type_;
};

}  // namespace

std::vector<OperatorType> comparison_operators() {
  constexpr Operand kAny;
  return {
      {"ScatterExtreme",
       {kAny, kAny, kAny},
       {kAny},
       make_class<ScatterExtreme>,
       OperatorType::OutputType::ChangesLastInput},
      {"SearchSorted", {kAny, kAny}, {kAny}, make_class<SearchSorted>},
  };
}

}  // namespace serval::operators
