// SegmentReduce (TensorFlow's Segment*) and UnsortedSegmentReduce (UnsortedSegment*). Hot path, any
// thread.
#include <limits>

#include "operators/groups.h"
#include "operators/kernel_io.h"

namespace serval::operators {
namespace {

constexpr int64_t kSegmentsMax = kRowsMax;

enum class Reduction : uint8_t { Sum, Mean, Prod, Min, Max };

Result<Reduction> read_reduction(const KernelAttributes& attributes) {
  const std::string name = attributes.text("reduction", "sum");
  constexpr std::string_view kNames[] = {"sum", "mean", "prod", "min", "max"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == name) return static_cast<Reduction>(i);
  }
  return model_invalid("attribute 'reduction': unknown: " + name);
}

// For values that do not compare, returns the second one, as TensorFlow's scalar kernels do.
template <typename T>
T combined(Reduction reduction, T a, T b) {
  switch (reduction) {
    case Reduction::Sum:
    case Reduction::Mean: return sum_of(a, b);
    case Reduction::Prod: return product_of(a, b);
    case Reduction::Min: return a < b ? a : b;
    case Reduction::Max: return b < a ? a : b;
  }
  return a;
}

template <typename T>
T start_of(Reduction reduction) {
  using Limits = std::numeric_limits<T>;
  switch (reduction) {
    case Reduction::Prod: return T{1};
    case Reduction::Min: return Limits::max();
    case Reduction::Max: return Limits::lowest();
    default: return T{0};
  }
}

// The same for sorted ids, whose empty segments have no extreme.
template <typename T>
T sorted_start_of(Reduction reduction) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) {
    if (reduction == Reduction::Min) return Limits::infinity();
    if (reduction == Reduction::Max) return -Limits::infinity();
  }
  return start_of<T>(reduction);
}

// Combines a number with the extreme of a column that TensorFlow computes vectorized: NaN never
// counts there.
template <typename T>
T combined_in_vector(Reduction reduction, T a, T b) {
  if (reduction == Reduction::Max) return a < b ? b : a;
  return reduction == Reduction::Min ? (b < a ? b : a) : combined(reduction, a, b);
}

// Adds row i of data into row rows[i] of out; ignores negative rows. The first `vectors` columns
// are computed like TensorFlow's vectorized ones.
template <typename T>
void reduce(Reduction reduction, std::span<const T> data, std::span<const int64_t> rows,
            std::span<T> out, size_t vectors = 0) {
  const size_t width = rows.empty() ? 0 : data.size() / rows.size();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < 0) continue;
    T* to = out.data() + static_cast<size_t>(rows[i]) * width;
    const T* from = data.data() + i * width;
    for (size_t j = 0; j < vectors; ++j) to[j] = combined_in_vector(reduction, to[j], from[j]);
    for (size_t j = vectors; j < width; ++j) to[j] = combined(reduction, to[j], from[j]);
  }
}

Shape with_rows(const Shape& data, size_t dropped, int64_t rows) {
  Shape shape;
  (void)shape.push_back(rows);
  for (size_t i = dropped; i < data.rank(); ++i) (void)shape.push_back(data[i]);
  return shape;
}

// Inputs: data [n, ...], segment ids [n], sorted. Output: [last id + 1, ...]; rows without members
// are 0 (prod: 1).
class SegmentReduce final : public Kernel {
 public:
  explicit SegmentReduce(Reduction reduction) : reduction_(reduction) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView data = io.view(0), id_view = io.view(1);
    const std::vector<int64_t> ids = io.integers(1);
    io.require(id_view.shape.rank() == 1, "segment_ids should be a vector.");
    io.require(
        data.shape.rank() > 0 && (io.failed() || data.shape[0] == static_cast<int64_t>(ids.size())),
        "segment_ids should be the same size as dimension 0 of input.");
    int64_t last = 0;
    for (const int64_t id : ids) {
      if (!io.require(id >= 0, "segment ids must be >= 0") ||
          !io.require(id >= last, "segment ids are not increasing") ||
          !io.require(id < kSegmentsMax, "segment ids are too large")) {
        break;
      }
      last = id;
    }
    if (io.failed()) return io.take();
    const Shape shape = with_rows(data.shape, 1, ids.empty() ? 0 : last + 1);
    const bool known = for_number(data.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      write<T>(io, data, ids, io.output<T>(0, shape));
    });
    if (!known) return internal_failure("SegmentReduce: no kernel for this type");
    return io.take();
  }

 private:
  template <typename T>
  void write(KernelIo& io, const TensorView& data, std::span<const int64_t> ids,
             std::span<T> out) const {
    const auto from = io.elements<T>(data);
    if (io.failed() || ids.empty() || out.empty()) return;
    const size_t rows = static_cast<size_t>(ids.back()) + 1;
    const size_t width = out.size() / rows;
    const bool is_extreme = reduction_ == Reduction::Min || reduction_ == Reduction::Max;
    const bool has_nan = is_extreme && std::is_floating_point_v<T>;
    const size_t lanes = 32 / sizeof(T);  // of AVX, for which TensorFlow is built
    std::fill(out.begin(), out.end(), sorted_start_of<T>(reduction_));
    reduce<T>(reduction_, from, ids, out, has_nan ? width - width % lanes : 0);
    std::vector<size_t> counts(rows), lasts(rows);
    for (size_t i = 0; i < ids.size(); ++i) {
      ++counts[static_cast<size_t>(ids[i])];
      lasts[static_cast<size_t>(ids[i])] = i;
    }
    const T empty = reduction_ == Reduction::Prod ? T{1} : T{0};
    for (size_t r = 0; r < rows; ++r) {
      const auto row = out.subspan(r * width, width);
      if (counts[r] == 0) std::fill(row.begin(), row.end(), empty);
      else if (counts[r] == 1) std::copy_n(from.data() + lasts[r] * width, width, row.data());
      else if (reduction_ == Reduction::Mean) {
        for (T& value : row) value = static_cast<T>(value / static_cast<T>(counts[r]));
      }
    }
  }
  const Reduction reduction_;
};

// Checked ids, whose shape is a prefix of data's, and the number of segments.
struct UnsortedIds {
  std::vector<int64_t> ids;
  Shape id_shape;
  int64_t segments = 0;
};

bool read_unsorted(KernelIo& io, const TensorView& data, UnsortedIds& out) {
  out.id_shape = io.view(1).shape;
  out.ids = io.integers(1);
  out.segments = io.integer(2, "num_segments");
  io.require(out.segments >= 0 && out.segments < kSegmentsMax,
             "Input num_segments == " + std::to_string(out.segments) + " must not be negative.");
  const auto dims = data.shape.dims();
  io.require(out.id_shape.rank() <= dims.size() &&
                 std::equal(out.id_shape.dims().begin(), out.id_shape.dims().end(), dims.begin()),
             "data.shape = " + data.shape.to_string() +
                 " does not start with segment_ids.shape = " + out.id_shape.to_string());
  for (size_t i = 0; i < out.ids.size() && !io.failed(); ++i) {
    io.require(out.ids[i] < out.segments,
               "segment_ids[" + std::to_string(i) + "] = " + std::to_string(out.ids[i]) +
                   " is out of range [0, " + std::to_string(out.segments) + ")");
  }
  return !io.failed();
}

// Rows without members are 0, 1 (prod), or the type's highest or lowest value (min, max). Attribute
// `highest`: that value, if the numbers come from a narrower type than this one (half as float).
class UnsortedSegmentReduce final : public Kernel {
 public:
  UnsortedSegmentReduce(Reduction reduction, float highest)
      : reduction_(reduction), highest_(highest) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView data = io.view(0);
    UnsortedIds given;
    if (io.failed() || !read_unsorted(io, data, given)) return io.take();
    const Shape shape = with_rows(data.shape, given.id_shape.rank(), given.segments);
    const bool known = for_number(data.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const std::span<T> out = io.output<T>(0, shape);
      const auto from = io.elements<T>(data);
      if (io.failed()) return;
      std::fill(out.begin(), out.end(), start<T>());
      reduce<T>(reduction_, from, given.ids, out);
    });
    if (!known) return internal_failure("UnsortedSegmentReduce: no kernel for this type");
    return io.take();
  }

 private:
  template <typename T>
  T start() const {
    if constexpr (std::is_same_v<T, float>) {
      if (highest_ != 0 && reduction_ == Reduction::Min) return highest_;
      if (highest_ != 0 && reduction_ == Reduction::Max) return -highest_;
    }
    return start_of<T>(reduction_);
  }
  const Reduction reduction_;
  const float highest_;
};

Result<std::unique_ptr<Kernel>> make_sorted(const KernelAttributes& attributes) {
  Result<Reduction> reduction = read_reduction(attributes);
  if (!reduction.ok()) return std::move(reduction.error());
  return std::unique_ptr<Kernel>(std::make_unique<SegmentReduce>(reduction.value()));
}

Result<std::unique_ptr<Kernel>> make_unsorted(const KernelAttributes& attributes) {
  Result<Reduction> reduction = read_reduction(attributes);
  if (!reduction.ok()) return std::move(reduction.error());
  return std::unique_ptr<Kernel>(
      std::make_unique<UnsortedSegmentReduce>(reduction.value(), attributes.real("highest", 0)));
}

}  // namespace

std::vector<OperatorType> segment_operators() {
  const Operand any{};
  return {
      {"SegmentReduce", {any, any}, {any}, make_sorted},
      {"UnsortedSegmentReduce", {any, any, any}, {any}, make_unsorted},
  };
}

}  // namespace serval::operators
