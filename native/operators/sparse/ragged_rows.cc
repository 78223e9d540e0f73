// RaggedRange, RaggedGather. Hot path, any thread.
#include <cmath>

#include "operators/groups.h"
#include "operators/sparse/sparse_tensor.h"

namespace serval::operators {
namespace {

constexpr int64_t kElementsMax = kRowsMax;

// The number of elements of a range. Errors: invalid_argument through `ports`.
template <typename T>
int64_t range_size(KernelIo& io, T start, T limit, T delta) {
  if (!io.require(delta != T{0}, "Requires delta != 0")) return 0;
  if ((delta > T{0} && limit < start) || (delta < T{0} && limit > start)) return 0;
  double size = 0;
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    const U distance = delta > 0 ? static_cast<U>(static_cast<U>(limit) - static_cast<U>(start))
                                 : static_cast<U>(static_cast<U>(start) - static_cast<U>(limit));
    const U step = delta > 0 ? static_cast<U>(delta) : static_cast<U>(U{0} - static_cast<U>(delta));
    size = static_cast<double>(distance / step + (distance % step != 0 ? 1 : 0));
  } else {
    size = static_cast<double>(std::ceil(std::abs((limit - start) / delta)));
  }
  io.require(size <= static_cast<double>(kElementsMax),
             "Requires ((limit - start) / delta) <= " + std::to_string(kElementsMax));
  return io.failed() ? 0 : static_cast<int64_t>(size);
}

// Inputs: starts, limits, deltas (vectors, or scalars for all rows). Outputs: row splits, values.
class RaggedRange final : public Kernel {
 public:
  explicit RaggedRange(DType splits) : splits_(splits) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const bool known =
        for_number(io.view(0).dtype, [&](auto tag) { write<typename decltype(tag)::type>(io); });
    if (!known) io.fail(internal_failure("RaggedRange: no kernel for this type"));
    return io.take();
  }

 private:
  template <typename T>
  void write(KernelIo& io) const {
    std::span<const T> given[3];
    size_t rows = 1;
    bool scalars = true;
    const char* const kNames[] = {"starts", "limits", "deltas"};
    for (size_t i = 0; i < 3; ++i) {
      given[i] = io.elements<T>(i);
      const size_t rank = io.view(i).shape.rank();
      io.require(rank <= 1, std::string(kNames[i]) + " must be a scalar or vector");
      if (rank == 0) continue;
      io.require(scalars || rows == given[i].size(),
                 "starts, limits, and deltas must have the same shape");
      rows = given[i].size();
      scalars = false;
    }
    std::vector<int64_t> splits = {0};
    const auto at = [&given](size_t i, size_t row) {
      return given[i][given[i].size() == 1 ? 0 : row];
    };
    for (size_t row = 0; row < rows && !io.failed(); ++row) {
      const int64_t size = range_size<T>(io, at(0, row), at(1, row), at(2, row));
      splits.push_back(splits.back() + size);
      io.require(splits.back() <= kElementsMax, "RaggedRange: too many values");
    }
    if (io.failed()) return;
    io.integers_output(0, splits_, shape_of({static_cast<int64_t>(splits.size())}), splits);
    const std::span<T> out = io.vector_output<T>(1, static_cast<size_t>(splits.back()));
    if (io.failed()) return;
    size_t to = 0;
    for (size_t row = 0; row < rows; ++row) {
      T value = at(0, row);
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        out[to++] = value;
        if (i + 1 < splits[row + 1]) value = static_cast<T>(value + at(2, row));
      }
    }
  }
  const DType splits_;
};

Result<std::unique_ptr<Kernel>> make_range(const KernelAttributes& attributes) {
  const DType splits = dtype_from_onnx(attributes.integer("splits_type", 7));
  if (splits != DType::Int32 && splits != DType::Int64) {
    return model_invalid("attribute 'splits_type': expected int32 or int64");
  }
  return std::unique_ptr<Kernel>(std::make_unique<RaggedRange>(splits));
}

// Runs of rows that were gathered, in one level.
struct RowRun {
  int64_t begin = 0, end = 0;
};

// Replaces runs of rows by the runs of their content; returns the gathered rows' splits.
std::vector<int64_t> descend(KernelIo& io, std::span<const int64_t> splits,
                             std::vector<RowRun>& runs) {
  const int64_t rows = static_cast<int64_t>(splits.size()) - 1;
  std::vector<int64_t> gathered = {0};
  for (RowRun& run : runs) {
    if (!io.require(run.end <= rows, "Ragged splits must not point past values")) break;
    for (int64_t row = run.begin; row < run.end; ++row) {
      const size_t at = static_cast<size_t>(row);
      gathered.push_back(gathered.back() + splits[at + 1] - splits[at]);
      if (!io.require(gathered.size() < static_cast<size_t>(kElementsMax),
                      "RaggedGather: too many rows")) {
        return gathered;
      }
    }
    run = {splits[static_cast<size_t>(run.begin)], splits[static_cast<size_t>(run.end)]};
  }
  return gathered;
}

// Inputs: one or more row splits, values, indices (of any shape). Outputs: row splits (those for
// the indices' own dims first), values.
Status ragged_gather(KernelContext& context) {
  KernelIo io(context);
  if (io.input_count() < 3) return internal_failure("RaggedGather: expected splits and values");
  const size_t depth = io.input_count() - 2;
  const TensorView values = io.view(depth), index_view = io.view(depth + 1);
  const std::vector<int64_t> indices = io.integers(depth + 1);
  io.require(values.shape.rank() > 0, "params.rank must be nonzero");
  io.require(index_view.shape.rank() > 0, "RaggedGather: indices must be a vector at least");
  if (io.failed()) return io.take();
  const DType splits_type = io.view(0).dtype;
  const size_t outer = index_view.shape.rank() - 1;
  size_t out_index = 0;
  int64_t rows_above = 1;
  for (size_t d = 0; d < outer; ++d) {  // uniform dims of the indices
    rows_above *= index_view.shape[d];
    std::vector<int64_t> splits;
    if (!io.require(rows_above <= kElementsMax, "RaggedGather: too many rows")) break;
    for (int64_t r = 0; r <= rows_above; ++r) splits.push_back(r * index_view.shape[d + 1]);
    io.integers_output(out_index++, splits_type, shape_of({static_cast<int64_t>(splits.size())}),
                       splits);
  }
  std::vector<RowRun> runs;
  for (size_t level = 0; level < depth && !io.failed(); ++level) {
    const std::vector<int64_t> splits = io.integers(level);
    if (!io.require(!splits.empty() && splits[0] == 0,
                    "Ragged splits must start with 0 and may not be empty")) {
      break;
    }
    const int64_t rows = static_cast<int64_t>(splits.size()) - 1;
    for (size_t i = 1; i < splits.size(); ++i) {
      io.require(splits[i] >= splits[i - 1], "Ragged splits must be sorted");
    }
    if (level == 0) {
      for (size_t i = 0; i < indices.size() && !io.failed(); ++i) {
        if (!io.require(indices[i] >= 0 && indices[i] < rows,
                        "indices[" + std::to_string(i) + "] = " + std::to_string(indices[i]) +
                            " is not in [0, " + std::to_string(rows) + ")")) {
          break;
        }
        runs.push_back({indices[i], indices[i] + 1});
      }
    }
    if (io.failed()) break;
    const std::vector<int64_t> gathered = descend(io, splits, runs);
    io.integers_output(out_index++, splits_type, shape_of({static_cast<int64_t>(gathered.size())}),
                       gathered);
  }
  std::vector<int64_t> rows;
  for (const RowRun& run : runs) {
    if (!io.require(run.end <= values.shape[0], "Ragged splits must not point past values") ||
        !io.require(static_cast<int64_t>(rows.size()) + run.end - run.begin <= kElementsMax,
                    "RaggedGather: too many values")) {
      break;
    }
    for (int64_t row = run.begin; row < run.end; ++row) rows.push_back(row);
  }
  if (io.failed()) return io.take();
  Shape shape = values.shape;
  shape.set(0, static_cast<int64_t>(rows.size()));
  RowCopier(values).gather(io, out_index, shape, rows);
  return io.take();
}

}  // namespace

std::vector<OperatorType> ragged_row_operators() {
  const Operand any{}, list{DType::Invalid, Operand::Form::Variadic};
  return {
      {"RaggedRange", {any, any, any}, {any, any}, make_range},
      {"RaggedGather", {list}, {list}, make_plain<ragged_gather>},
  };
}

}  // namespace serval::operators
