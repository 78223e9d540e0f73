// RaggedTensorToTensor, RaggedTensorToSparse. Hot path, any thread.
// Source: the kernels of the same names in tensorflow/core/kernels.
#include "operators/groups.h"
#include "operators/sparse/sparse_tensor.h"

namespace serval::operators {
namespace {

constexpr int64_t kElementsMax = kRowsMax;

// Checks row splits: they begin with 0, never decrease, and end with the number of rows below.
bool check_splits(KernelIo& io, std::span<const int64_t> splits, int64_t below) {
  io.require(!splits.empty(), "ragged splits must have at least 1 element");
  if (io.failed()) return false;
  io.require(splits[0] == 0, "First value of ragged splits must be 0.");
  for (size_t i = 1; i < splits.size() && !io.failed(); ++i) {
    io.require(splits[i] >= splits[i - 1], "ragged splits must be sorted");
  }
  return io.require(below < 0 || splits.back() == below,
                    "Final value of ragged splits must match the length the corresponding "
                    "ragged array.");
}

enum class Partition : uint8_t { FirstDimSize, RowIds, RowSplits };

// Inputs: shape, values, default, one row partition for each ragged dim. Attribute
// `row_partition_types`: FIRST_DIM_SIZE, VALUE_ROWIDS or ROW_SPLITS for each (netstrings).
class RaggedToTensor final : public Kernel {
 public:
  explicit RaggedToTensor(std::vector<Partition> types) : types_(std::move(types)) {}
  Status run(KernelContext& context) const override;

 private:
  std::vector<std::vector<int64_t>> read_levels(KernelIo& io, int64_t value_count) const;
  bool make_shape(KernelIo& io, std::span<const std::vector<int64_t>> levels,
                  const TensorView& values, Shape& shape) const;

  const std::vector<Partition> types_;
};

// Converts row ids to row splits of `rows` rows.
std::vector<int64_t> splits_of(KernelIo& io, std::span<const int64_t> ids, int64_t rows) {
  std::vector<int64_t> splits(static_cast<size_t>(rows) + 1);
  int64_t last = 0;
  for (const int64_t id : ids) {
    if (!io.require(id >= last && id < rows, "Invalid value_rowids: " + std::to_string(id))) {
      return splits;
    }
    last = id;
    ++splits[static_cast<size_t>(id) + 1];
  }
  for (size_t i = 1; i < splits.size(); ++i) splits[i] += splits[i - 1];
  return splits;
}

// Returns every partition as row splits.
std::vector<std::vector<int64_t>> RaggedToTensor::read_levels(KernelIo& io,
                                                              int64_t value_count) const {
  std::vector<std::vector<int64_t>> levels;
  int64_t rows = -1;
  for (size_t i = 0; i < types_.size() && !io.failed(); ++i) {
    const std::vector<int64_t> partition = io.integers(3 + i);
    if (io.failed()) break;
    switch (types_[i]) {
      case Partition::FirstDimSize:
        io.require(
            i == 0 && partition.size() == 1 && partition[0] >= 0 && partition[0] < kElementsMax,
            "Invalid first partition: FIRST_DIM_SIZE must be one number");
        if (!io.failed()) rows = partition[0];
        continue;
      case Partition::RowIds:
        if (!io.require(rows >= 0, "VALUE_ROWIDS needs a number of rows before it")) break;
        levels.push_back(splits_of(io, partition, rows));
        break;
      case Partition::RowSplits:
        if (!check_splits(io, partition, -1)) break;
        io.require(rows < 0 || rows == static_cast<int64_t>(partition.size()) - 1,
                   "row_splits do not fit the level above");
        levels.push_back(partition);
        break;
    }
    if (!io.failed()) rows = levels.back().back();
  }
  io.require(!levels.empty(), "RaggedTensorToTensor: no row partitions");
  io.require(io.failed() || levels.back().back() == value_count,
             "row partitions end at " + std::to_string(levels.empty() ? 0 : levels.back().back()) +
                 ", values have " + std::to_string(value_count) + " rows");
  return levels;
}

// Makes the output's shape: the dims in `shape`, with the widest row where it says -1, or nothing
// given at all (-1 as a scalar).
bool RaggedToTensor::make_shape(KernelIo& io, std::span<const std::vector<int64_t>> levels,
                                const TensorView& values, Shape& shape) const {
  const TensorView shape_view = io.view(0);
  const std::vector<int64_t> wanted = io.integers(0);
  if (io.failed()) return false;
  const bool unknown = shape_view.shape.rank() == 0;
  const size_t rank = levels.size() + values.shape.rank();
  io.require(unknown ? wanted.size() == 1 && wanted[0] == -1 : wanted.size() == rank,
             "shape.dims() and the ragged tensor's rank differ: " + list_text(wanted) + " vs. " +
                 std::to_string(rank));
  if (io.failed()) return false;
  std::vector<int64_t> dims = {static_cast<int64_t>(levels[0].size()) - 1};
  for (const std::vector<int64_t>& splits : levels) {
    int64_t widest = 0;
    for (size_t i = 1; i < splits.size(); ++i) widest = std::max(widest, splits[i] - splits[i - 1]);
    dims.push_back(widest);
  }
  for (size_t i = 1; i < values.shape.rank(); ++i) dims.push_back(values.shape[i]);
  for (size_t i = 0; i < rank && !unknown; ++i) {
    if (wanted[i] < 0) continue;
    io.require(
        i <= levels.size() || wanted[i] == dims[i],
        "shape " + list_text(wanted) + " does not fit values of shape " + values.shape.to_string());
    dims[i] = wanted[i];
  }
  return to_shape(io, dims, shape);
}

// Fills `rows` (one for each innermost position of the output) with value rows; -1 = default.
void place_values(std::span<const std::vector<int64_t>> levels, const Shape& shape, size_t level,
                  int64_t row, size_t at, std::span<int64_t> rows) {
  if (level == levels.size()) {
    rows[at] = row;
    return;
  }
  const std::vector<int64_t>& splits = levels[level];
  const int64_t begin = splits[static_cast<size_t>(row)];
  const int64_t count = std::min(splits[static_cast<size_t>(row) + 1] - begin, shape[level + 1]);
  size_t width = 1;
  for (size_t i = level + 2; i <= levels.size(); ++i) width *= static_cast<size_t>(shape[i]);
  const size_t row_start = at;
  for (int64_t i = 0; i < count; ++i) {
    place_values(levels, shape, level + 1, begin + i, row_start + static_cast<size_t>(i) * width,
                 rows);
  }
}

template <typename T>
void write_padded(KernelIo& io, std::span<const int64_t> rows, std::span<const T> values,
                  std::span<const T> fallback, size_t each, T* out) {
  for (size_t i = 0; i < rows.size() && !io.failed(); ++i) {
    for (size_t j = 0; j < each; ++j) {
      out[i * each + j] = rows[i] >= 0 ? values[static_cast<size_t>(rows[i]) * each + j]
                                       : fallback[fallback.size() == 1 ? 0 : j];
    }
  }
}

Status RaggedToTensor::run(KernelContext& context) const {
  KernelIo io(context);
  const TensorView values = io.view(1), fallback = io.view(2);
  if (!io.failed()) {
    io.require(values.shape.rank() > 0, "RaggedTensorToTensor: values must have a first dim");
  }
  if (io.failed()) return io.take();
  const std::vector<std::vector<int64_t>> levels = read_levels(io, values.shape[0]);
  Shape shape;
  if (io.failed() || !make_shape(io, levels, values, shape)) return io.take();
  const size_t each = RowCopier::elements_per_row(values.shape);
  const uint64_t padding = fallback.shape.elements().value_or(0);
  if (!io.require(fallback.dtype == values.dtype && (padding == 1 || padding == each),
                  "default_value of shape " + fallback.shape.to_string() +
                      " does not fit values of shape " + values.shape.to_string())) {
    return io.take();
  }
  uint64_t places = 1;
  for (size_t i = 0; i <= levels.size(); ++i) places *= static_cast<uint64_t>(shape[i]);
  if (!io.require(places <= uint64_t{kRowsMax},
                  "RaggedTensorToTensor: shape " + shape.to_string() + " is too large")) {
    return io.take();
  }
  std::vector<int64_t> rows(places, -1);
  const int64_t given = std::min<int64_t>(shape[0], static_cast<int64_t>(levels[0].size()) - 1);
  for (int64_t r = 0; r < given && places > 0; ++r) {
    const size_t width = places / static_cast<size_t>(shape[0]);
    place_values(levels, shape, 0, r, static_cast<size_t>(r) * width, rows);
  }
  if (values.dtype == DType::Bytes) {
    std::vector<std::string_view> out(places * each);
    write_padded<std::string_view>(io, rows, values.strings, fallback.strings, each, out.data());
    io.strings(0, shape, out);
    return io.take();
  }
  if (values.dtype == DType::Bool) {
    const std::span<bool> out = io.output<bool>(0, shape);
    write_padded<bool>(io, rows, io.elements<bool>(values), io.elements<bool>(fallback), each,
                       out.data());
    return io.take();
  }
  const bool known = for_number(values.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::span<T> out = io.output<T>(0, shape);
    write_padded<T>(io, rows, io.elements<T>(values), io.elements<T>(fallback), each, out.data());
  });
  if (!known) return internal_failure("RaggedTensorToTensor: no kernel for this type");
  return io.take();
}

Result<std::unique_ptr<Kernel>> make_to_tensor(const KernelAttributes& attributes) {
  Result<std::vector<std::string>> names = attributes.texts("row_partition_types");
  if (!names.ok()) return std::move(names.error());
  std::vector<Partition> types;
  for (const std::string& name : names.value()) {
    if (name == "FIRST_DIM_SIZE") types.push_back(Partition::FirstDimSize);
    else if (name == "VALUE_ROWIDS") types.push_back(Partition::RowIds);
    else if (name == "ROW_SPLITS") types.push_back(Partition::RowSplits);
    else return model_invalid("attribute 'row_partition_types': unknown: " + name);
  }
  if (types.empty()) return model_invalid("attribute 'row_partition_types': empty");
  return std::unique_ptr<Kernel>(std::make_unique<RaggedToTensor>(std::move(types)));
}

// Inputs: one or more row splits, then values. Outputs: indices, values, shape.
Status ragged_to_sparse(KernelContext& context) {
  KernelIo io(context);
  const size_t depth = io.input_count() - 1;
  const TensorView values = io.view(depth);
  if (io.input_count() < 2) return internal_failure("RaggedTensorToSparse: no row splits");
  io.require(values.shape.rank() > 0, "RaggedTensorToSparse: values must have a first dim");
  std::vector<std::vector<int64_t>> levels;
  for (size_t i = 0; i < depth && !io.failed(); ++i) {
    levels.push_back(io.integers(i));
    const int64_t above = i == 0 ? -1 : levels[i - 1].back();
    check_splits(io, levels[i], i + 1 == depth ? values.shape[0] : -1);
    io.require(above < 0 || above == static_cast<int64_t>(levels[i].size()) - 1,
               "Final value of ragged splits must match the length the corresponding ragged "
               "array.");
  }
  if (io.failed()) return io.take();
  const size_t rank = depth + values.shape.rank();
  const size_t each = RowCopier::elements_per_row(values.shape);
  const size_t total = values.shape.elements().value_or(0);
  if (!io.require(rank <= kRankMax, "RaggedTensorToSparse: rank too high")) return io.take();
  const auto indices =
      io.output<int64_t>(0, shape_of({static_cast<int64_t>(total), static_cast<int64_t>(rank)}));
  const auto dims = io.vector_output<int64_t>(2, rank);
  if (io.failed()) return io.take();
  std::fill(dims.begin(), dims.end(), 0);
  dims[0] = static_cast<int64_t>(levels[0].size()) - 1;
  std::vector<size_t> rows(depth);  // the row of each level that holds the value
  size_t at = 0;
  for (int64_t v = 0; v < values.shape[0]; ++v) {
    int64_t position = v;
    std::vector<int64_t> index(rank);
    for (size_t level = depth; level-- > 0;) {
      while (levels[level][rows[level] + 1] <= position) ++rows[level];
      index[level + 1] = position - levels[level][rows[level]];
      position = static_cast<int64_t>(rows[level]);
    }
    index[0] = position;
    for (size_t e = 0; e < each; ++e) {
      size_t rest = e;
      for (size_t d = rank; d-- > depth + 1;) {
        const size_t size = static_cast<size_t>(values.shape[d - depth]);
        index[d] = static_cast<int64_t>(rest % size);
        rest /= size;
      }
      std::copy(index.begin(), index.end(), indices.begin() + static_cast<ptrdiff_t>(at));
      at += rank;
    }
  }
  for (size_t level = 0; level < depth; ++level) {
    const std::vector<int64_t>& splits = levels[level];
    for (size_t i = 1; i < splits.size(); ++i) {
      dims[level + 1] = std::max(dims[level + 1], splits[i] - splits[i - 1]);
    }
  }
  for (size_t d = depth + 1; d < rank; ++d) dims[d] = values.shape[d - depth];
  const Shape flat = shape_of({static_cast<int64_t>(total)});
  if (values.dtype == DType::Bytes) {
    io.strings(1, flat, values.strings);
  } else {
    const std::span<uint8_t> out = io.raw_output(1, values.dtype, flat);
    if (!out.empty()) std::memcpy(out.data(), values.data, out.size());
  }
  return io.take();
}

}  // namespace

std::vector<OperatorType> ragged_operators() {
  const Operand longs{DType::Int64}, any{}, list{DType::Invalid, Operand::Form::Variadic};
  return {
      {"RaggedTensorToTensor", {any, any, any, list}, {any}, make_to_tensor},
      {"RaggedTensorToSparse", {list}, {longs, any, longs}, make_plain<ragged_to_sparse>},
  };
}

}  // namespace serval::operators
