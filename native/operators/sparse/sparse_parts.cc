// SparseSlice, SparseConcat, SparseTensorDenseMatMul. Hot path, any thread.
#include <numeric>

#include "operators/groups.h"
#include "operators/sparse/sparse_tensor.h"

namespace serval::operators {
namespace {

// Inputs: indices, values, shape, start, size. Outputs: indices, values, shape.
Status sparse_slice(KernelContext& context) {
  KernelIo io(context);
  const SparsePlaces places = read_places(io, 0, 2, "SparseSlice");
  const TensorView values = io.view(1);
  const auto start = io.elements<int64_t>(3), size = io.elements<int64_t>(4);
  const size_t rank = places.rank();
  io.require(start.size() == rank && size.size() == rank,
             "Expected start and size of length " + std::to_string(rank));
  io.require(values.shape.rank() == 1 &&
                 (io.failed() || values.shape[0] == static_cast<int64_t>(places.count)),
             "Input values should be a vector of as many elements as indices but received " +
                 values.shape.to_string());
  if (io.failed()) return io.take();
  std::vector<int64_t> dims(rank), kept, indices;
  for (size_t d = 0; d < rank; ++d) {
    if (!io.require(start[d] >= 0 && size[d] >= 0, "expected start and size >= 0, got start " +
                                                       std::to_string(start[d]) + ", size " +
                                                       std::to_string(size[d]))) {
      return io.take();
    }
    dims[d] = std::max<int64_t>(0, std::min(size[d], places.dims[d] - start[d]));
  }
  for (size_t i = 0; i < places.count; ++i) {
    const auto index = places.at(i);
    bool inside = true;
    for (size_t d = 0; d < rank; ++d) {
      inside &= index[d] >= start[d] && index[d] - start[d] < dims[d];
    }
    if (!inside) continue;
    kept.push_back(static_cast<int64_t>(i));
    for (size_t d = 0; d < rank; ++d) indices.push_back(index[d] - start[d]);
  }
  const int64_t count = static_cast<int64_t>(kept.size());
  io.integers_output(0, DType::Int64, shape_of({count, static_cast<int64_t>(rank)}), indices);
  RowCopier(values).gather(io, 1, shape_of({count}), kept);
  io.integers_output(2, DType::Int64, shape_of({static_cast<int64_t>(rank)}), dims);
  return io.take();
}

// Inputs: N indices, N values, N shapes. Outputs: indices, values, shape, in row-major order.
class SparseConcat final : public Kernel {
 public:
  explicit SparseConcat(int64_t axis) : axis_(axis) {}
  Status run(KernelContext& context) const override;

 private:
  const int64_t axis_;
};

struct ConcatEntry {
  size_t part = 0, row = 0;
};

void write_entries(KernelIo& io, size_t parts, std::span<const ConcatEntry> entries) {
  const TensorView first = io.view(parts);
  const Shape shape = shape_of({static_cast<int64_t>(entries.size())});
  std::vector<TensorView> values;
  for (size_t p = 0; p < parts; ++p) {
    values.push_back(io.view(parts + p));
    io.require(values.back().dtype == first.dtype, "SparseConcat: values of several types");
  }
  if (io.failed()) return;
  if (first.dtype == DType::Bytes) {
    std::vector<std::string_view> out;
    for (const ConcatEntry& entry : entries) {
      out.push_back(values[entry.part].strings[entry.row]);
    }
    io.strings(1, shape, out);
    return;
  }
  const std::span<uint8_t> out = io.raw_output(1, first.dtype, shape);
  const size_t bytes = dtype_bytes(first.dtype);
  for (size_t i = 0; i < entries.size() && !io.failed(); ++i) {
    std::memcpy(&out[i * bytes], values[entries[i].part].data + entries[i].row * bytes, bytes);
  }
}

Status SparseConcat::run(KernelContext& context) const {
  KernelIo io(context);
  const size_t parts = io.input_count() / 3;
  if (parts == 0 || io.input_count() % 3 != 0) {
    return internal_failure("SparseConcat: expected indices, values and shapes");
  }
  std::vector<int64_t> dims, indices;
  std::vector<ConcatEntry> entries;
  size_t axis = 0;
  for (size_t p = 0; p < parts; ++p) {
    const SparsePlaces places = read_places(io, p, 2 * parts + p, "SparseConcat");
    const TensorView values = io.view(parts + p);
    io.require(values.shape.elements() == places.count, "SparseConcat: wrong count of values");
    if (io.failed() || !check_places(io, places)) return io.take();
    const int64_t rank = static_cast<int64_t>(places.rank());
    if (p == 0) {
      dims.assign(places.dims.begin(), places.dims.end());
      if (!io.require(axis_ >= -rank && axis_ < rank,
                      "Concat dimension must be in range [" + std::to_string(-rank) + ", " +
                          std::to_string(rank) + "), got " + std::to_string(axis_))) {
        return io.take();
      }
      axis = static_cast<size_t>(axis_ < 0 ? axis_ + rank : axis_);
    }
    if (!io.require(places.rank() == dims.size(), "Ranks of all input tensors must match")) {
      return io.take();
    }
    const int64_t offset = p == 0 ? 0 : dims[axis];
    for (size_t d = 0; d < dims.size() && p > 0; ++d) {
      if (d == axis) {
        io.require(!__builtin_add_overflow(dims[d], places.dims[d], &dims[d]),
                   "SparseConcat: shape overflow");
      } else {
        io.require(dims[d] == places.dims[d],
                   "Input shapes must match: expected " + std::to_string(dims[d]) + " for dim " +
                       std::to_string(d) + " but got " + std::to_string(places.dims[d]));
      }
    }
    if (io.failed()) return io.take();
    for (size_t i = 0; i < places.count; ++i) {
      entries.push_back({p, i});
      for (size_t d = 0; d < dims.size(); ++d) {
        indices.push_back(places.at(i)[d] + (d == axis ? offset : 0));
      }
    }
  }
  const size_t rank = dims.size();
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int64_t *first = indices.data() + a * rank, *second = indices.data() + b * rank;
    return std::lexicographical_compare(first, first + rank, second, second + rank);
  });
  std::vector<ConcatEntry> sorted;
  const auto out = io.output<int64_t>(
      0, shape_of({static_cast<int64_t>(order.size()), static_cast<int64_t>(rank)}));
  for (size_t i = 0; i < order.size() && !io.failed(); ++i) {
    sorted.push_back(entries[order[i]]);
    for (size_t d = 0; d < rank; ++d) out[i * rank + d] = indices[order[i] * rank + d];
  }
  write_entries(io, parts, sorted);
  io.integers_output(2, DType::Int64, shape_of({static_cast<int64_t>(rank)}), dims);
  return io.take();
}

Result<std::unique_ptr<Kernel>> make_sparse_concat(const KernelAttributes& attributes) {
  return std::unique_ptr<Kernel>(
      std::make_unique<SparseConcat>(attributes.integer("concat_dim", 0)));
}

// Inputs: a's indices (int64 or int32), values, shape; dense b. Output: a . b.
class SparseMatMul final : public Kernel {
 public:
  SparseMatMul(bool adjoint_a, bool adjoint_b) : adjoint_a_(adjoint_a), adjoint_b_(adjoint_b) {}
  Status run(KernelContext& context) const override;

 private:
  template <typename T>
  void multiply(KernelIo& io, const std::vector<int64_t>& indices, int64_t rows, int64_t inner,
                const Shape& b_shape) const;
  const bool adjoint_a_, adjoint_b_;
};

template <typename T>
void SparseMatMul::multiply(KernelIo& io, const std::vector<int64_t>& indices, int64_t rows,
                            int64_t inner, const Shape& b_shape) const {
  const auto values = io.elements<T>(1), b = io.elements<T>(3);
  const int64_t columns = b_shape[adjoint_b_ ? 0 : 1];
  const std::span<T> out = io.output<T>(0, shape_of({rows, columns}));
  if (io.failed()) return;
  std::fill(out.begin(), out.end(), T{0});
  const size_t width = static_cast<size_t>(columns);
  const size_t b_width = static_cast<size_t>(b_shape[1]);
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t m = indices[2 * i + (adjoint_a_ ? 1 : 0)];
    const int64_t k = indices[2 * i + (adjoint_a_ ? 0 : 1)];
    if (m < 0 || m >= rows || k < 0 || k >= inner) {
      const std::string at = "[" + std::to_string(i) + "," + (k < 0 || k >= inner ? "1" : "0");
      io.refuse((k < 0 || k >= inner ? "k (" + std::to_string(k) : "m (" + std::to_string(m)) +
                ") from index" + at +
                "] out of bounds (>=" + std::to_string(k < 0 || k >= inner ? inner : rows) + ")");
      return;
    }
    T* const to = &out[static_cast<size_t>(m) * width];
    for (size_t n = 0; n < width; ++n) {
      const size_t from =
          adjoint_b_ ? n * b_width + static_cast<size_t>(k) : static_cast<size_t>(k) * b_width + n;
      to[n] = sum_of(to[n], product_of(values[i], b[from]));
    }
  }
}

Status SparseMatMul::run(KernelContext& context) const {
  KernelIo io(context);
  const TensorView a = io.view(0), values = io.view(1), b = io.view(3);
  const std::vector<int64_t> indices = io.integers(0);
  const auto dims = io.elements<int64_t>(2);
  io.require(b.shape.rank() == 2, "Tensor 'b' is not a matrix");
  io.require(dims.size() == 2, "Tensor 'a_shape' must have 2 elements");
  io.require(values.shape.rank() == 1, "Tensor 'a_values' is not a vector");
  io.require(
      a.shape.rank() == 2 && (io.failed() || (a.shape[1] == 2 && a.shape[0] == values.shape[0])),
      "Tensor 'a_indices' is not a matrix of a row of 2 for each value");
  if (io.failed()) return io.take();
  const int64_t rows = dims[adjoint_a_ ? 1 : 0], inner = dims[adjoint_a_ ? 0 : 1];
  const int64_t b_inner = b.shape[adjoint_b_ ? 1 : 0];
  if (!io.require(rows >= 0 && inner == b_inner,
                  "Cannot multiply A and B because inner dimension does not match: " +
                      std::to_string(inner) + " vs. " + std::to_string(b_inner) +
                      ".  Did you forget a transpose?  Dimensions of A: " + list_text(dims) +
                      ").  Dimensions of B: " + b.shape.to_string())) {
    return io.take();
  }
  const bool known = for_number(values.dtype, [&](auto tag) {
    multiply<typename decltype(tag)::type>(io, indices, rows, inner, b.shape);
  });
  if (!known) return internal_failure("SparseTensorDenseMatMul: no kernel for this type");
  return io.take();
}

Result<std::unique_ptr<Kernel>> make_mat_mul(const KernelAttributes& attributes) {
  return std::unique_ptr<Kernel>(std::make_unique<SparseMatMul>(
      attributes.integer("adjoint_a", 0) != 0, attributes.integer("adjoint_b", 0) != 0));
}

}  // namespace

std::vector<OperatorType> sparse_part_operators() {
  const Operand longs{DType::Int64}, any{}, list{DType::Invalid, Operand::Form::Variadic};
  return {
      {"SparseSlice",
       {longs, any, longs, longs, longs},
       {longs, any, longs},
       make_plain<sparse_slice>},
      {"SparseConcat", {list}, {longs, any, longs}, make_sparse_concat},
      {"SparseTensorDenseMatMul", {any, any, longs, any}, {any}, make_mat_mul},
  };
}

}  // namespace serval::operators
