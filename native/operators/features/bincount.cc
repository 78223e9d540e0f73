// Bincount (also DenseBincount), RaggedBincount, SparseBincount. Hot path, any thread. Every output
// is [size] or [rows, size]; empty weights count as 1; values of `size` or more are ignored.
// Attribute `binary_output`: 1 for every value that occurs.
#include "operators/groups.h"
#include "operators/sparse/sparse_tensor.h"

namespace serval::operators {
namespace {

constexpr int64_t kBinsMax = int64_t{1} << 31;

// The values to count and the row of each: row i of `rows` rows; empty = all in row 0.
struct CountInput {
  std::vector<int64_t> values;
  std::vector<size_t> rows;
  Shape shape;  // of the output, without the bins
  size_t row_count = 1;
  size_t size_input = 0, weights_input = 0;
};

class Bincount : public Kernel {
 public:
  explicit Bincount(bool binary) : binary_(binary) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    CountInput input = read(io);
    const TensorView weights = io.view(input.weights_input);
    const int64_t size = io.integer(input.size_input, "size");
    if (!io.require(size >= 0 && size < kBinsMax,
                    "size (" + std::to_string(size) + ") must be non-negative")) {
      return io.take();
    }
    io.require(input.shape.push_back(size), "Bincount: rank too high");
    for (const int64_t value : input.values) {
      if (!io.require(value >= 0, "Input arr must be non-negative!")) break;
    }
    const bool known = for_number(weights.dtype, [&](auto tag) {
      count<typename decltype(tag)::type>(io, input, static_cast<size_t>(size));
    });
    if (!known) io.fail(internal_failure("Bincount: no kernel for this type of weights"));
    return io.take();
  }

 protected:
  virtual CountInput read(KernelIo& io) const {
    CountInput input;
    const TensorView values = io.view(0);
    input.values = io.integers(0);
    input.size_input = 1;
    input.weights_input = 2;
    // TensorFlow's older Bincount treats any shape as one row.
    if (!io.failed() && values.shape.rank() == 2 && by_row_) {
      input.row_count = static_cast<size_t>(values.shape[0]);
      const size_t width = static_cast<size_t>(values.shape[1]);
      for (size_t i = 0; i < input.values.size(); ++i) input.rows.push_back(i / width);
      (void)input.shape.push_back(values.shape[0]);
    }
    return input;
  }
  bool by_row_ = true;

 private:
  template <typename T>
  void count(KernelIo& io, const CountInput& input, size_t size) const {
    const auto weights = io.elements<T>(input.weights_input);
    io.require(weights.empty() || binary_ || weights.size() == input.values.size(),
               "`weights` must be the same shape as `arr` or a length-0 `Tensor`, in which case "
               "it acts as all weights equal to 1.");
    const std::span<T> out = io.output<T>(0, input.shape);
    if (io.failed()) return;
    std::fill(out.begin(), out.end(), T{0});
    for (size_t i = 0; i < input.values.size(); ++i) {
      if (static_cast<size_t>(input.values[i]) >= size) continue;
      const size_t row = input.rows.empty() ? 0 : input.rows[i];
      T& bin = out[row * size + static_cast<size_t>(input.values[i])];
      bin = binary_ ? T{1} : sum_of(bin, weights.empty() ? T{1} : weights[i]);
    }
  }
  const bool binary_;
};

class FlatBincount final : public Bincount {
 public:
  explicit FlatBincount(bool binary) : Bincount(binary) { by_row_ = false; }
};

// Inputs: row splits, values, size, weights.
class RaggedBincount final : public Bincount {
 public:
  using Bincount::Bincount;

 protected:
  CountInput read(KernelIo& io) const override {
    CountInput input;
    const std::vector<int64_t> splits = io.integers(0);
    input.values = io.integers(1);
    input.size_input = 2;
    input.weights_input = 3;
    io.require(!splits.empty() && splits.front() == 0,
               "Splits must start with 0, not with " + list_text(splits));
    if (io.failed()) return input;
    io.require(splits.back() == static_cast<int64_t>(input.values.size()),
               "Splits must end with the number of values, got " + std::to_string(splits.back()) +
                   " instead of " + std::to_string(input.values.size()));
    input.rows.resize(input.values.size());
    input.row_count = splits.size() - 1;
    for (size_t row = 0; row + 1 < splits.size(); ++row) {
      if (!io.require(splits[row] <= splits[row + 1] &&
                          splits[row + 1] <= static_cast<int64_t>(input.values.size()),
                      "Splits must not fall")) {
        return input;
      }
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        input.rows[static_cast<size_t>(i)] = row;
      }
    }
    (void)input.shape.push_back(static_cast<int64_t>(input.row_count));
    return input;
  }
};

// Inputs: indices, values, dense shape, size, weights.
class SparseBincount final : public Bincount {
 public:
  using Bincount::Bincount;

 protected:
  CountInput read(KernelIo& io) const override {
    CountInput input;
    const SparsePlaces places = read_places(io, 0, 2, "SparseBincount");
    input.values = io.integers(1);
    input.size_input = 3;
    input.weights_input = 4;
    io.require(places.rank() == 1 || places.rank() == 2, "SparseBincount: expected rank 1 or 2");
    io.require(io.failed() || places.count == input.values.size(),
               "Number of values must match first dimension of indices");
    if (io.failed() || places.rank() == 1) return input;
    for (size_t i = 0; i < places.count; ++i) {
      const int64_t row = places.at(i)[0];
      if (!io.require(row >= 0 && row < places.dims[0],
                      "Index out of bound. `batch` (" + std::to_string(row) +
                          ") must be less than the dimension size (" +
                          std::to_string(places.dims[0]) + ").")) {
        return input;
      }
      input.rows.push_back(static_cast<size_t>(row));
    }
    input.row_count = static_cast<size_t>(places.dims[0]);
    (void)input.shape.push_back(places.dims[0]);
    return input;
  }
};

template <typename Of>
Result<std::unique_ptr<Kernel>> make_counter(const KernelAttributes& attributes) {
  return std::unique_ptr<Kernel>(std::make_unique<Of>(attributes.integer("binary_output", 0) != 0));
}

}  // namespace

std::vector<OperatorType> bincount_operators() {
  const Operand longs{DType::Int64}, any{};
  return {
      {"Bincount", {any, any, any}, {any}, make_counter<FlatBincount>},
      {"DenseBincount", {any, any, any}, {any}, make_counter<Bincount>},
      {"RaggedBincount", {any, any, any, any}, {any}, make_counter<RaggedBincount>},
      {"SparseBincount", {longs, any, longs, any, any}, {any}, make_counter<SparseBincount>},
  };
}

}  // namespace serval::operators
