// SparseSegmentReduce: TensorFlow's SparseSegmentSum, ...Mean, ...SqrtN and their WithNumSegments
// forms: embedding lookups without storing the gathered rows. Hot path, any thread. Inputs: data
// [n, ...]; indices [k]; segment ids [k], sorted; the number of segments (optional). Attribute
// `reduction`: sum, mean or sqrtn. Rows without members are 0.
#include <cmath>

#include "operators/groups.h"
#include "operators/kernel_io.h"

namespace serval::operators {
namespace {

enum class Combiner : uint8_t { Sum, Mean, SqrtN };

class SparseSegmentReduce final : public Kernel {
 public:
  explicit SparseSegmentReduce(Combiner combiner) : combiner_(combiner) {}
  Status run(KernelContext& context) const override;

 private:
  template <typename T>
  void write(KernelIo& io, const TensorView& data, std::span<const int64_t> indices,
             std::span<const int64_t> ids, std::span<T> out) const;
  const Combiner combiner_;
};

template <typename T>
void SparseSegmentReduce::write(KernelIo& io, const TensorView& data,
                                std::span<const int64_t> indices, std::span<const int64_t> ids,
                                std::span<T> out) const {
  const auto from = io.elements<T>(data);
  if (io.failed()) return;
  std::fill(out.begin(), out.end(), T{0});
  const size_t width = RowCopier::elements_per_row(data.shape);
  for (size_t i = 0; i < ids.size();) {
    size_t end = i;
    T* const to = out.data() + static_cast<size_t>(ids[i]) * width;
    for (; end < ids.size() && ids[end] == ids[i]; ++end) {
      const T* row = from.data() + static_cast<size_t>(indices[end]) * width;
      for (size_t j = 0; j < width; ++j) to[j] = sum_of(to[j], row[j]);
    }
    const double count = static_cast<double>(end - i);
    if (combiner_ != Combiner::Sum && end - i > 1) {
      const T divisor = static_cast<T>(combiner_ == Combiner::Mean ? count : std::sqrt(count));
      for (size_t j = 0; j < width; ++j) to[j] = static_cast<T>(to[j] / divisor);
    }
    i = end;
  }
}

Status SparseSegmentReduce::run(KernelContext& context) const {
  KernelIo io(context);
  const TensorView data = io.view(0);
  const std::vector<int64_t> indices = io.integers(1), ids = io.integers(2);
  io.require(data.shape.rank() > 0, "data must be at least rank 1");
  io.require(indices.size() == ids.size(), "segment_ids and indices should have same size.");
  int64_t rows = ids.empty() ? 0 : ids.back() + 1;
  if (io.input_count() > 3 && io.has(3)) {
    const int64_t segments = io.integer(3, "num_segments");
    io.require(segments >= 0, "segment ids must be >= 0");
    io.require(ids.empty() || ids.back() < segments, "segment ids must be < num_segments");
    rows = segments;
  }
  int64_t last = 0;
  for (size_t i = 0; i < ids.size() && !io.failed(); ++i) {
    io.require(ids[i] >= 0, "segment ids must be >= 0");
    io.require(ids[i] >= last && ids[i] < rows, "segment ids are not increasing");
    io.require(indices[i] >= 0 && indices[i] < data.shape[0],
               "indices[" + std::to_string(i) + "] == " + std::to_string(indices[i]) +
                   " out of range [0, " + std::to_string(data.shape[0]) + ")");
    last = ids[i];
  }
  if (io.failed()) return io.take();
  Shape shape = data.shape;
  shape.set(0, rows);
  const bool known = for_number(data.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    write<T>(io, data, indices, ids, io.output<T>(0, shape));
  });
  if (!known) return internal_failure("SparseSegmentReduce: no kernel for this type");
  return io.take();
}

Result<std::unique_ptr<Kernel>> make_reduce(const KernelAttributes& attributes) {
  const std::string name = attributes.text("reduction", "sum");
  Combiner combiner = Combiner::Sum;
  if (name == "mean") combiner = Combiner::Mean;
  else if (name == "sqrtn") combiner = Combiner::SqrtN;
  else if (name != "sum") return model_invalid("attribute 'reduction': unknown: " + name);
  return std::unique_ptr<Kernel>(std::make_unique<SparseSegmentReduce>(combiner));
}

}  // namespace

std::vector<OperatorType> sparse_segment_operators() {
  const Operand any{}, maybe{DType::Invalid, Operand::Form::Optional};
  return {{"SparseSegmentReduce", {any, any, any, maybe}, {any}, make_reduce}};
}

}  // namespace serval::operators
