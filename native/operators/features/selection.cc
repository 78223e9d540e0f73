// Unique, DynamicPartition, DynamicStitch, Bucketize. Hot path, any thread.
#include <unordered_map>

#include "operators/groups.h"
#include "operators/sparse/sparse_tensor.h"

namespace serval::operators {
namespace {

// Input: values, of rank 1 or with an axis. Outputs: the distinct values in order of first
// occurrence; for each given value, the index of its distinct value; the number of occurrences of
// each (optional). Attributes: `axis`, `has_axis`, `index_type` (ONNX int32 or int64).
class Unique final : public Kernel {
 public:
  Unique(bool has_axis, int64_t axis, DType index_type)
      : has_axis_(has_axis), axis_(axis), index_type_(index_type) {}
  Status run(KernelContext& context) const override;

 private:
  const bool has_axis_;
  const int64_t axis_;
  const DType index_type_;
};

// A tensor as [outer, n, inner], whose slices along n are compared.
struct Slices {
  size_t outer = 1, count = 1, inner = 1;
};

// The bytes of slice i, so that slices are equal if and only if their bytes are; 0.0 equals -0.0.
std::string slice_key(const TensorView& values, const Slices& slices, size_t i) {
  std::string key;
  for (size_t o = 0; o < slices.outer; ++o) {
    const size_t first = (o * slices.count + i) * slices.inner;
    for (size_t j = first; j < first + slices.inner; ++j) {
      if (values.dtype == DType::Bytes) {
        const uint64_t length = values.strings[j].size();
        key.append(reinterpret_cast<const char*>(&length), sizeof length);
        key.append(values.strings[j]);
        continue;
      }
      const size_t bytes = dtype_bytes(values.dtype);
      const char* at = reinterpret_cast<const char*>(values.data) + j * bytes;
      double real = 1;
      if (values.dtype == DType::Fp64) std::memcpy(&real, at, sizeof real);
      if (values.dtype == DType::Fp32) {
        float single;
        std::memcpy(&single, at, sizeof single);
        real = single;
      }
      if (real == 0) key.append(bytes, '\0');
      else key.append(at, bytes);
    }
  }
  return key;
}

// The number of each slice among the distinct ones; `firsts` receives the first occurrence of each.
std::vector<int64_t> number_slices(const TensorView& values, const Slices& slices,
                                   std::vector<int64_t>& firsts) {
  std::vector<int64_t> numbers(slices.count);
  const bool plain = slices.outer == 1 && slices.inner == 1;
  const auto enter = [&](auto& seen, auto key, size_t i) {
    const auto [entry, added] = seen.try_emplace(key, static_cast<int64_t>(firsts.size()));
    if (added) firsts.push_back(static_cast<int64_t>(i));
    numbers[i] = entry->second;
  };
  if (plain && values.dtype == DType::Bytes) {
    std::unordered_map<std::string_view, int64_t> seen;
    for (size_t i = 0; i < slices.count; ++i) enter(seen, values.strings[i], i);
  } else if (plain && values.dtype != DType::Fp32 && values.dtype != DType::Fp64) {
    std::unordered_map<uint64_t, int64_t> seen;
    const size_t bytes = dtype_bytes(values.dtype);
    for (size_t i = 0; i < slices.count; ++i) {
      uint64_t key = 0;
      std::memcpy(&key, values.data + i * bytes, bytes);
      enter(seen, key, i);
    }
  } else {
    std::unordered_map<std::string, int64_t> seen;
    for (size_t i = 0; i < slices.count; ++i) enter(seen, slice_key(values, slices, i), i);
  }
  return numbers;
}

Status Unique::run(KernelContext& context) const {
  KernelIo io(context);
  const TensorView values = io.view(0);
  const int64_t rank = static_cast<int64_t>(values.shape.rank());
  const int64_t axis = axis_ < 0 ? axis_ + rank : axis_;
  io.require(has_axis_ ? axis >= 0 && axis < rank : rank == 1,
             has_axis_ ? "axis has to be between [0, input_rank)" : "unique expects a 1D vector.");
  if (io.failed()) return io.take();
  Slices slices;
  for (int64_t d = 0; d < rank; ++d) {
    const size_t size = static_cast<size_t>(values.shape[static_cast<size_t>(d)]);
    (d < axis ? slices.outer : d == axis ? slices.count : slices.inner) *= size;
  }
  std::vector<int64_t> firsts;
  const std::vector<int64_t> numbers = number_slices(values, slices, firsts);
  Shape shape = values.shape;
  shape.set(static_cast<size_t>(axis), static_cast<int64_t>(firsts.size()));
  // Slices as rows of a tensor [outer * count, inner].
  TensorView flat = values;
  flat.shape = shape_of(
      {static_cast<int64_t>(slices.outer * slices.count), static_cast<int64_t>(slices.inner)});
  std::vector<int64_t> rows;
  for (size_t o = 0; o < slices.outer; ++o) {
    for (const int64_t first : firsts) {
      rows.push_back(static_cast<int64_t>(o * slices.count) + first);
    }
  }
  RowCopier(flat).gather(io, 0, shape, rows);
  io.integers_output(1, index_type_, shape_of({static_cast<int64_t>(numbers.size())}), numbers);
  if (context.output_count() > 2) {
    std::vector<int64_t> counts(firsts.size());
    for (const int64_t number : numbers) ++counts[static_cast<size_t>(number)];
    io.integers_output(2, index_type_, shape_of({static_cast<int64_t>(counts.size())}), counts);
  }
  return io.take();
}

Result<std::unique_ptr<Kernel>> make_unique_kernel(const KernelAttributes& attributes) {
  const DType type = dtype_from_onnx(attributes.integer("index_type", 6));
  if (type != DType::Int32 && type != DType::Int64) {
    return model_invalid("attribute 'index_type': expected int32 or int64");
  }
  return std::unique_ptr<Kernel>(std::make_unique<Unique>(attributes.integer("has_axis", 0) != 0,
                                                          attributes.integer("axis", 0), type));
}

bool begins_with(const Shape& whole, const Shape& start) {
  return start.rank() <= whole.rank() &&
         std::equal(start.dims().begin(), start.dims().end(), whole.dims().begin());
}

// `whole` with its first `dropped` dims replaced by one of `rows`.
Shape with_selected_rows(const Shape& whole, size_t dropped, int64_t rows) {
  Shape shape;
  (void)shape.push_back(rows);
  for (size_t d = dropped; d < whole.rank(); ++d) (void)shape.push_back(whole[d]);
  return shape;
}

// Inputs: data, partitions (whose shape is a prefix of data's). Outputs: the rows of each
// partition.
class DynamicPartition final : public Kernel {
 public:
  explicit DynamicPartition(size_t count) : count_(count) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    TensorView data = io.view(0);
    const Shape start = io.view(1).shape;
    const std::vector<int64_t> partitions = io.integers(1);
    io.require(begins_with(data.shape, start),
               "data.shape must start with partitions.shape, got data.shape = " +
                   data.shape.to_string() + ", partitions.shape = " + start.to_string());
    std::vector<std::vector<int64_t>> rows(count_);
    for (size_t i = 0; i < partitions.size() && !io.failed(); ++i) {
      const int64_t to = partitions[i];
      if (!io.require(to >= 0 && to < static_cast<int64_t>(count_),
                      "partitions[" + std::to_string(i) + "] = " + std::to_string(to) +
                          " is not in [0, " + std::to_string(count_) + ")")) {
        break;
      }
      rows[static_cast<size_t>(to)].push_back(static_cast<int64_t>(i));
    }
    if (io.failed()) return io.take();
    const Shape given = data.shape;
    data.shape = with_selected_rows(given, start.rank(), static_cast<int64_t>(partitions.size()));
    const RowCopier copier(data);
    for (size_t p = 0; p < count_ && p < context.output_count(); ++p) {
      const int64_t size = static_cast<int64_t>(rows[p].size());
      copier.gather(io, p, with_selected_rows(given, start.rank(), size), rows[p]);
    }
    return io.take();
  }

 private:
  const size_t count_;
};

Result<std::unique_ptr<Kernel>> make_partition(const KernelAttributes& attributes) {
  const int64_t count = attributes.integer("num_partitions", 0);
  if (count < 1 || count > 65'536) return model_invalid("attribute 'num_partitions': out of range");
  return std::unique_ptr<Kernel>(std::make_unique<DynamicPartition>(static_cast<size_t>(count)));
}

// One pair of inputs of DynamicStitch.
struct StitchPart {
  std::vector<int64_t> indices;
  TensorView data;
};

void write_stitched(KernelIo& io, std::span<const StitchPart> parts, const Shape& shape) {
  const DType dtype = parts[0].data.dtype;
  const size_t width = RowCopier::elements_per_row(shape);
  if (dtype == DType::Bytes) {
    const uint64_t elements = shape.elements().value_or(UINT64_MAX);
    if (!io.require(elements <= kTextsMax, "DynamicStitch: too many strings")) return;
    std::vector<std::string_view> out(elements);
    for (const StitchPart& part : parts) {
      for (size_t i = 0; i < part.indices.size(); ++i) {
        for (size_t j = 0; j < width; ++j) {
          out[static_cast<size_t>(part.indices[i]) * width + j] = part.data.strings[i * width + j];
        }
      }
    }
    io.strings(0, shape, out);
    return;
  }
  const std::span<uint8_t> out = io.raw_output(0, dtype, shape);
  const size_t bytes = width * dtype_bytes(dtype);
  if (io.failed() || bytes == 0 || out.empty()) return;
  std::memset(out.data(), 0, out.size());
  for (const StitchPart& part : parts) {
    for (size_t i = 0; i < part.indices.size(); ++i) {
      std::memcpy(&out[static_cast<size_t>(part.indices[i]) * bytes], part.data.data + i * bytes,
                  bytes);
    }
  }
}

// Inputs: N index tensors, then N data tensors. Output: row indices[i] is data[i]; of duplicates
// the last one counts.
Status dynamic_stitch(KernelContext& context) {
  KernelIo io(context);
  const size_t count = io.input_count() / 2;
  if (count == 0 || io.input_count() % 2 != 0) {
    return internal_failure("DynamicStitch: expected as many data as indices");
  }
  std::vector<StitchPart> parts;
  int64_t rows = 0;
  Shape row_shape;
  for (size_t p = 0; p < count && !io.failed(); ++p) {
    StitchPart part{io.integers(p), io.view(count + p)};
    const Shape start = io.view(p).shape;
    if (io.failed()) break;
    io.require(begins_with(part.data.shape, start),
               "data[" + std::to_string(p) + "].shape = " + part.data.shape.to_string() +
                   " does not start with indices[" + std::to_string(p) +
                   "].shape = " + start.to_string());
    if (io.failed()) break;
    const Shape shape = with_selected_rows(part.data.shape, start.rank(), 0);
    if (p == 0) row_shape = shape;
    const DType dtype = p == 0 ? part.data.dtype : parts[0].data.dtype;
    io.require(shape == row_shape && part.data.dtype == dtype,
               "Need data[0].shape[" + std::to_string(start.rank()) + ":] = data[" +
                   std::to_string(p) + "].shape, got data[" + std::to_string(p) +
                   "].shape = " + part.data.shape.to_string());
    for (size_t i = 0; i < part.indices.size() && !io.failed(); ++i) {
      io.require(part.indices[i] >= 0 && part.indices[i] < kRowsMax,
                 "indices[" + std::to_string(i) + "] is out of range");
      rows = std::max(rows, part.indices[i] + 1);
    }
    parts.push_back(std::move(part));
  }
  if (io.failed()) return io.take();
  row_shape.set(0, rows);
  write_stitched(io, parts, row_shape);
  return io.take();
}

// Input: numbers. Output: int32, the bucket of each number among the attribute `boundaries`.
class Bucketize final : public Kernel {
 public:
  explicit Bucketize(std::vector<float> boundaries) : boundaries_(std::move(boundaries)) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView input = io.view(0);
    const std::span<int32_t> out = io.output<int32_t>(0, input.shape);
    const bool known = for_number(input.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const auto values = io.elements<T>(input);
      for (size_t i = 0; i < out.size() && !io.failed(); ++i) {
        const auto place = std::upper_bound(
            boundaries_.begin(), boundaries_.end(), static_cast<Wide<T>>(values[i]),
            [](Wide<T> value, float boundary) { return value < boundary; });
        out[i] = static_cast<int32_t>(place - boundaries_.begin());
      }
    });
    if (!known) return internal_failure("Bucketize: no kernel for this type");
    return io.take();
  }

 private:
  // The result of TensorFlow's comparison of a T with a float.
  template <typename T>
  using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const std::vector<float> boundaries_;
};

Result<std::unique_ptr<Kernel>> make_bucketize(const KernelAttributes& attributes) {
  std::vector<float> boundaries = attributes.reals("boundaries");
  if (!std::is_sorted(boundaries.begin(), boundaries.end())) {
    return model_invalid("attribute 'boundaries': expected sorted boundaries");
  }
  return std::unique_ptr<Kernel>(std::make_unique<Bucketize>(std::move(boundaries)));
}

}  // namespace

std::vector<OperatorType> selection_operators() {
  const Operand any{}, list{DType::Invalid, Operand::Form::Variadic};
  const Operand maybe{DType::Invalid, Operand::Form::Optional};
  return {
      {"Unique", {any}, {any, any, maybe}, make_unique_kernel},
      {"DynamicPartition", {any, any}, {list}, make_partition},
      {"DynamicStitch", {list}, {any}, make_plain<dynamic_stitch>},
      {"Bucketize", {any}, {Operand{DType::Int32}}, make_bucketize},
  };
}

}  // namespace serval::operators
