// SparseReshape, SparseFillEmptyRows, SparseToDense, SparseReorder. Hot path, any thread.
// Source: tensorflow/core/kernels of the same names (semantics and texts).
#include <numeric>

#include "operators/groups.h"
#include "operators/sparse/sparse_tensor.h"

namespace serval::operators {
namespace {

// The number of elements of a shape; refuses overflow.
int64_t count_of(KernelIo& io, std::span<const int64_t> dims) {
  int64_t product = 1;
  for (const int64_t dim : dims) {
    io.require(!__builtin_mul_overflow(product, dim, &product), "shape has too many elements");
  }
  return product;
}

// The target shape with its -1 filled in.
std::vector<int64_t> fill_in(KernelIo& io, std::span<const int64_t> from,
                             std::vector<int64_t> target) {
  const int64_t total = count_of(io, from);
  int64_t known = 1;
  int unknown = -1;
  for (size_t i = 0; i < target.size() && !io.failed(); ++i) {
    if (target[i] == -1) {
      io.require(unknown == -1, "only one output dimension may be -1, not both " +
                                    std::to_string(unknown) + " and " + std::to_string(i));
      unknown = static_cast<int>(i);
      continue;
    }
    io.require(target[i] >= 0, "size " + std::to_string(i) + " must be non-negative, not " +
                                   std::to_string(target[i]));
    io.require(!__builtin_mul_overflow(known, target[i], &known), "shape has too many elements");
  }
  if (io.failed()) return target;
  if (unknown >= 0) {
    if (!io.require(known > 0,
                    "reshape cannot infer the missing input size for an empty tensor "
                    "unless all specified input sizes are non-zero")) {
      return target;
    }
    target[static_cast<size_t>(unknown)] = total / known;
    io.require(total % known == 0,
               "Input to reshape is a SparseTensor with " + std::to_string(total) +
                   " dense values, but the requested shape requires a multiple of " +
                   std::to_string(known) + ". input_shape=" + list_text(from));
    return target;
  }
  io.require(known == total, "Input to reshape is a tensor with " + std::to_string(total) +
                                 " dense values, but the requested shape has " +
                                 std::to_string(known) + ". input_shape=" + list_text(from) +
                                 " output_shape=" + list_text(target));
  return target;
}

// Inputs: indices, shape, new shape. Outputs: indices, shape.
Status sparse_reshape(KernelContext& context) {
  KernelIo io(context);
  const SparsePlaces places = read_places(io, 0, 1, "SparseReshape");
  const std::vector<int64_t> target = fill_in(io, places.dims, io.integers(2));
  if (io.failed() || !check_places(io, places)) return io.take();
  const auto out = io.output<int64_t>(
      0, shape_of({static_cast<int64_t>(places.count), static_cast<int64_t>(target.size())}));
  io.integers_output(1, DType::Int64, shape_of({static_cast<int64_t>(target.size())}), target);
  if (io.failed()) return io.take();
  for (size_t i = 0; i < places.count; ++i) {
    int64_t flat = 0;
    for (size_t d = 0; d < places.rank(); ++d) flat = flat * places.dims[d] + places.at(i)[d];
    for (size_t d = target.size(); d-- > 0;) {
      out[i * target.size() + d] = flat % target[d];
      flat /= target[d];
    }
  }
  return io.take();
}

// Inputs: indices, values, dense shape, default. Outputs: indices, values, empty rows, the new
// position of each given value. Rows are in order, a row's values in the order given.
Status sparse_fill_empty_rows(KernelContext& context) {
  KernelIo io(context);
  const SparsePlaces places = read_places(io, 0, 2, "SparseFillEmptyRows");
  const TensorView values = io.view(1), fallback = io.view(3);
  if (io.failed()) return io.take();
  const size_t rank = places.rank();
  io.require(rank > 0, "Dense shape cannot be empty.");
  io.require(values.shape.rank() == 1 && values.shape[0] == static_cast<int64_t>(places.count),
             "The length of `values` " + values.shape.to_string() +
                 " must match the first "
                 "dimension of `indices` [" +
                 std::to_string(places.count) + "]");
  io.require(fallback.shape.rank() == 0 && fallback.dtype == values.dtype,
             "default_value must be a scalar, saw: " + fallback.shape.to_string());
  if (io.failed()) return io.take();
  const int64_t row_count = places.dims[0];
  if (!io.require(row_count <= kRowsMax,
                  "SparseFillEmptyRows: too many rows: " + std::to_string(row_count))) {
    return io.take();
  }
  const size_t rows = static_cast<size_t>(row_count);
  std::vector<size_t> next(rows + 1);
  for (size_t i = 0; i < places.count; ++i) {
    const int64_t row = places.at(i)[0];
    if (!io.require(row >= 0 && row < row_count, "indices(" + std::to_string(i) +
                                                     ", 0) is invalid: " + std::to_string(row) +
                                                     " >= " + std::to_string(row_count))) {
      return io.take();
    }
    ++next[static_cast<size_t>(row) + 1];
  }
  const std::span<bool> empty = io.vector_output<bool>(2, rows);
  const std::span<int64_t> moved = io.vector_output<int64_t>(3, places.count);
  if (io.failed()) return io.take();
  for (size_t r = 0; r < rows; ++r) {
    empty[r] = next[r + 1] == 0;
    next[r + 1] = next[r] + std::max<size_t>(next[r + 1], 1);
  }
  const size_t total = next[rows];
  // Source rows: the given values followed by the default.
  std::vector<int64_t> from(total, -1);
  const auto indices =
      io.output<int64_t>(0, shape_of({static_cast<int64_t>(total), static_cast<int64_t>(rank)}));
  if (io.failed()) return io.take();
  std::fill(indices.begin(), indices.end(), 0);
  for (size_t r = 0; r < rows; ++r) indices[next[r] * rank] = static_cast<int64_t>(r);
  for (size_t i = 0; i < places.count; ++i) {
    const auto index = places.at(i);
    const size_t to = next[static_cast<size_t>(index[0])]++;
    std::copy(index.begin(), index.end(), indices.begin() + static_cast<ptrdiff_t>(to * rank));
    from[to] = static_cast<int64_t>(i);
    moved[i] = static_cast<int64_t>(to);
  }
  const Shape shape = shape_of({static_cast<int64_t>(total)});
  if (values.dtype == DType::Bytes) {
    std::vector<std::string_view> out;
    for (const int64_t i : from) {
      out.push_back(i < 0 ? fallback.strings[0] : values.strings[static_cast<size_t>(i)]);
    }
    io.strings(1, shape, out);
    return io.take();
  }
  const std::span<uint8_t> out = io.raw_output(1, values.dtype, shape);
  const size_t bytes = dtype_bytes(values.dtype);
  for (size_t i = 0; i < total && !io.failed(); ++i) {
    const uint8_t* source =
        from[i] < 0 ? fallback.data : values.data + static_cast<size_t>(from[i]) * bytes;
    std::memcpy(out.data() + i * bytes, source, bytes);
  }
  return io.take();
}

class SparseToDense final : public Kernel {
 public:
  explicit SparseToDense(bool validates) : validates_(validates) {}
  Status run(KernelContext& context) const override;

 private:
  // The flat offsets of all indices.
  std::vector<size_t> flat_places(KernelIo& io, const TensorView& view, const Shape& shape) const;
  const bool validates_;
};

std::vector<size_t> SparseToDense::flat_places(KernelIo& io, const TensorView& view,
                                               const Shape& shape) const {
  const std::vector<int64_t> indices = io.integers(0);
  const size_t rank = shape.rank();
  const size_t columns = view.shape.rank() > 1 ? static_cast<size_t>(view.shape[1]) : 1;
  const size_t count = view.shape.rank() > 0 ? static_cast<size_t>(view.shape[0]) : 1;
  std::vector<size_t> flat;
  if (!io.require(columns == rank,
                  "output_shape has incorrect number of elements: " + std::to_string(rank) +
                      " should be: " + std::to_string(columns))) {
    return flat;
  }
  flat.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const std::span<const int64_t> index(indices.data() + i * rank, rank);
    uint64_t place = 0;
    bool inside = true;
    for (size_t d = 0; d < rank; ++d) {
      inside &= index[d] >= 0 && index[d] < shape[d];
      place = place * static_cast<uint64_t>(shape[d]) + static_cast<uint64_t>(index[d]);
    }
    const std::string at = "indices[" + std::to_string(i) + "] = " + list_text(index);
    if (!io.require(inside, at + " is out of bounds: need 0 <= index < " + shape.to_string())) {
      return {};
    }
    if (validates_ && i > 0 && place <= flat.back()) {
      io.refuse(at + (place == flat.back() ? " is repeated" : " is out of order"));
      return {};
    }
    flat.push_back(place);
  }
  return flat;
}

// Inputs: indices (scalar, vector or matrix), output shape, values (one, or one for each), default.
Status SparseToDense::run(KernelContext& context) const {
  KernelIo io(context);
  const TensorView indices = io.view(0), values = io.view(2), fallback = io.view(3);
  const std::vector<int64_t> dims = io.integers(1);
  Shape shape;
  if (io.failed() || !to_shape(io, dims, shape)) return io.take();
  io.require(indices.shape.rank() <= 2,
             "sparse_indices should be a scalar, vector, or matrix, "
             "got shape " +
                 indices.shape.to_string());
  io.require(fallback.shape.elements() == 1u && fallback.dtype == values.dtype,
             "default_value should be a scalar.");
  if (io.failed()) return io.take();
  const std::vector<size_t> places = flat_places(io, indices, shape);
  const bool one = values.shape.rank() == 0;
  io.require(
      one || (values.shape.rank() == 1 && values.shape[0] == static_cast<int64_t>(places.size())),
      "sparse_values has incorrect shape " + values.shape.to_string() + ", should be [] or [" +
          std::to_string(places.size()) + "]");
  if (io.failed()) return io.take();
  const uint64_t elements = shape.elements().value_or(0);
  if (values.dtype == DType::Bytes) {
    if (!io.require(elements <= kTextsMax, "SparseToDense: too many strings")) {
      return io.take();
    }
    std::vector<std::string_view> out(elements, fallback.strings[0]);
    for (size_t i = 0; i < places.size(); ++i) out[places[i]] = values.strings[one ? 0 : i];
    io.strings(0, shape, out);
    return io.take();
  }
  const std::span<uint8_t> out = io.raw_output(0, values.dtype, shape);
  const size_t bytes = dtype_bytes(values.dtype);
  if (io.failed()) return io.take();
  for (size_t i = 0; i < elements; ++i) std::memcpy(&out[i * bytes], fallback.data, bytes);
  for (size_t i = 0; i < places.size(); ++i) {
    std::memcpy(&out[places[i] * bytes], values.data + (one ? 0 : i) * bytes, bytes);
  }
  return io.take();
}

Result<std::unique_ptr<Kernel>> make_sparse_to_dense(const KernelAttributes& attributes) {
  return std::unique_ptr<Kernel>(
      std::make_unique<SparseToDense>(attributes.integer("validate_indices", 1) != 0));
}

// Inputs: indices, values, shape. Outputs: indices, values, by row-major order.
Status sparse_reorder(KernelContext& context) {
  KernelIo io(context);
  const SparsePlaces places = read_places(io, 0, 2, "SparseReorder");
  const TensorView values = io.view(1);
  io.require(values.shape.rank() == 1 &&
                 (io.failed() || values.shape[0] == static_cast<int64_t>(places.count)),
             "Input values should be a vector of as many elements as indices but received " +
                 values.shape.to_string());
  if (io.failed()) return io.take();
  std::vector<int64_t> order(places.count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&places](int64_t a, int64_t b) {
    const auto first = places.at(static_cast<size_t>(a));
    const auto second = places.at(static_cast<size_t>(b));
    return std::lexicographical_compare(first.begin(), first.end(), second.begin(), second.end());
  });
  RowCopier(io.view(0)).gather(io, 0, io.view(0).shape, order);
  RowCopier(values).gather(io, 1, values.shape, order);
  return io.take();
}

}  // namespace

std::vector<OperatorType> sparse_operators() {
  const Operand longs{DType::Int64}, any{};
  return {
      {"SparseReshape", {longs, longs, any}, {longs, longs}, make_plain<sparse_reshape>},
      {"SparseFillEmptyRows",
       {longs, any, longs, any},
       {longs, any, Operand{DType::Bool}, longs},
       make_plain<sparse_fill_empty_rows>},
      {"SparseToDense", {any, any, any, any}, {any}, make_sparse_to_dense},
      {"SparseReorder", {longs, any, longs}, {longs, any}, make_plain<sparse_reorder>},
  };
}

}  // namespace serval::operators
