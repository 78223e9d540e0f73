// CheckIndices, CheckTuples: return indices unchanged, unless one of them is out of range. ONNX's
// own operators count negative indices from the end. Hot path, any thread.
// Source: tensorflow/core/kernels/{gather_functor,gather_nd_op,scatter_nd_op}.cc.
#include <limits>

#include "operators/kernel_io.h"
#include "operators/strict/groups.h"
#include "operators/strict/support.h"

namespace serval::operators {
namespace {

// Returns the last input, in its own memory if the runtime provides it.
void pass(KernelIo& io, const TensorView& input) {
  const std::span<uint8_t> out = io.raw_output(0, input.dtype, input.shape);
  if (io.failed() || out.empty() || out.data() == input.data) return;
  std::memcpy(out.data(), input.data, out.size());
}

// The first element that is below 0 or not below `bound`; the number of elements if there is none.
template <typename T>
size_t first_outside(std::span<const T> values, int64_t bound, bool negative_ok) {
  using Unsigned = std::make_unsigned_t<T>;
  const int64_t most = std::min<int64_t>(bound, std::numeric_limits<T>::max());
  const auto limit = static_cast<Unsigned>(most);
  // If the bound exceeds the type's range, even the largest index is below it.
  const bool all_fit = bound > std::numeric_limits<T>::max();
  const auto outside = [&](T value) {
    if (value < 0) return !negative_ok;
    return !all_fit && static_cast<Unsigned>(value) >= limit;
  };
  bool any = false;
  if (!negative_ok && !all_fit) {
    for (const T value : values) any |= static_cast<Unsigned>(value) >= limit;
    if (!any) return values.size();
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (outside(values[i])) return i;
  }
  return values.size();
}

// Inputs: the bound (one int64), indices (int32 or int64). Attributes `below` and `beyond`: the
// texts for an index below 0 and one that is not below the bound, with {place}, {index}, {bound},
// {last} (the bound less 1) and {at} (the index's number); `negative_ok`: any index below 0 is
// accepted.
class CheckIndices final : public Kernel {
 public:
  explicit CheckIndices(const KernelAttributes& attributes)
      : below_(attributes.text("below", kDefault)),
        beyond_(attributes.text("beyond", kDefault)),
        negative_ok_(attributes.integer("negative_ok", 0) != 0) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const int64_t bound = io.integer(0, "the bound of indices");
    const TensorView indices = io.view(1);
    if (io.failed()) return io.take();
    if (indices.dtype == DType::Int32) check<int32_t>(io, indices, bound);
    else check<int64_t>(io, indices, bound);
    if (!io.failed()) pass(io, indices);
    return io.take();
  }

 private:
  static constexpr std::string_view kDefault = "indices{place} = {index} is not in [0, {bound})";

  template <typename T>
  void check(KernelIo& io, const TensorView& view, int64_t bound) const {
    const std::span<const T> indices = io.elements<T>(view);
    const size_t at = first_outside(indices, bound, negative_ok_);
    if (io.failed() || at == indices.size()) return;
    io.refuse(FilledText(indices[at] < 0 ? below_ : beyond_)
                  .with("place", place_text(view.shape, view.shape.rank(), at))
                  .with("index", std::to_string(indices[at]))
                  .with("bound", std::to_string(bound))
                  .with("last", std::to_string(bound - 1))
                  .with("at", std::to_string(at))
                  .take());
  }
  const std::string below_, beyond_;
  const bool negative_ok_;
};

// Inputs: a tensor's shape (int64), indices [..., depth] (int32 or int64), each row of which
// addresses an element or a slice of such a tensor. Attributes: `of` ("param shape"), `node`.
class CheckTuples final : public Kernel {
 public:
  explicit CheckTuples(const KernelAttributes& attributes)
      : of_(attributes.text("of", "shape")), node_(attributes.text("node", "")) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const std::vector<int64_t> dims = io.integers(0);
    const TensorView indices = io.view(1);
    if (io.failed()) return io.take();
    const size_t rank = indices.shape.rank();
    const int64_t depth = rank == 0 ? 1 : indices.shape[rank - 1];
    io.require(depth <= static_cast<int64_t>(dims.size()),
               "index innermost dimension length must be <= params rank; saw: " +
                   std::to_string(depth) + " vs. " + std::to_string(dims.size()));
    if (io.failed()) return io.take();
    if (indices.dtype == DType::Int32) check<int32_t>(io, indices, dims);
    else check<int64_t>(io, indices, dims);
    if (!io.failed()) pass(io, indices);
    return io.take();
  }

 private:
  template <typename T>
  void check(KernelIo& io, const TensorView& view, std::span<const int64_t> dims) const {
    const std::span<const T> values = io.elements<T>(view);
    const size_t rank = view.shape.rank();
    const size_t depth = rank == 0 ? 1 : static_cast<size_t>(view.shape[rank - 1]);
    if (io.failed() || depth == 0) return;
    for (size_t row = 0; row < values.size() / depth; ++row) {
      const std::span<const T> tuple = values.subspan(row * depth, depth);
      bool outside = false;
      for (size_t i = 0; i < depth; ++i) outside |= tuple[i] < 0 || tuple[i] >= dims[i];
      if (!outside) continue;
      std::string text = "indices" + place_text(view.shape, rank == 0 ? 0 : rank - 1, row) + " = [";
      for (size_t i = 0; i < depth; ++i) text += (i == 0 ? "" : ", ") + std::to_string(tuple[i]);
      text += "] does not index into " + of_ + " " + Shape(dims).to_string();
      io.refuse(node_.empty() ? text : text + ", node name: " + node_);
      return;
    }
  }
  const std::string of_, node_;
};

}  // namespace

std::vector<OperatorType> index_check_operators() {
  constexpr auto kPasses = OperatorType::OutputType::PassesLastInput;
  constexpr Operand kAny;
  return {
      {"CheckIndices", {kAny, kAny}, {kAny}, make_class<CheckIndices>, kPasses},
      {"CheckTuples", {kAny, kAny}, {kAny}, make_class<CheckTuples>, kPasses},
  };
}

}  // namespace serval::operators
