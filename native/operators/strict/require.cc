// Require, SliceEnds, PadsOf, BroadcastDims, ReductionAxes, InvertPermutation: refuse the sizes,
// ranges and positions that TensorFlow refuses but ONNX's operators accept. Hot path, any thread.
// Source: tensorflow/core/kernels/{slice_op,pad_op,mirror_pad_op,broadcast_to_op}.cc.
#include "operators/kernel_io.h"
#include "operators/strict/groups.h"
#include "operators/strict/support.h"

namespace serval::operators {
namespace {

std::string number_text(double value) {
  if (value == static_cast<double>(static_cast<int64_t>(value))) {
    return std::to_string(static_cast<int64_t>(value));
  }
  std::string text = std::to_string(value);
  while (text.ends_with('0')) text.pop_back();
  return text;
}

// Inputs: flags (bool), numbers for the text, a value. Output: the value, unless a flag is set.
// Attribute `text`: the error then, with {0}, {1} ... for the numbers.
class Require final : public Kernel {
 public:
  explicit Require(const KernelAttributes& attributes)
      : text_(attributes.text("text", "the input is refused")) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const std::span<const bool> flags = io.elements<bool>(0);
    if (io.failed()) return io.take();
    if (std::find(flags.begin(), flags.end(), true) != flags.end()) {
      refuse(io);
      return io.take();
    }
    const TensorView value = io.view(2);
    if (value.dtype == DType::Bytes) {
      io.strings(0, value.shape, value.strings);
      return io.take();
    }
    const std::span<uint8_t> out = io.raw_output(0, value.dtype, value.shape);
    if (!io.failed() && !out.empty() && out.data() != value.data) {
      std::memcpy(out.data(), value.data, out.size());
    }
    return io.take();
  }

 private:
  void refuse(KernelIo& io) const {
    const TensorView shown = io.view(1);
    FilledText text(text_);
    for_number(shown.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const std::span<const T> numbers = io.elements<T>(shown);
      for (size_t i = 0; i < std::min<size_t>(numbers.size(), 8); ++i) {
        const T number = numbers[i];
        text.with(std::to_string(i), std::is_integral_v<T>
                                         ? std::to_string(number)
                                         : number_text(static_cast<double>(number)));
      }
    });
    io.refuse(text.take());
  }
  const std::string text_;
};

// Inputs: a tensor's dims, the begin of a slice, its sizes (-1: to the end). Output: the end of the
// slice.
Status slice_ends(KernelContext& context) {
  KernelIo io(context);
  const std::vector<int64_t> dims = io.integers(0), begin = io.integers(1), size = io.integers(2);
  io.require(begin.size() == dims.size() && size.size() == dims.size(),
             "Expected begin and size arguments to be 1-D tensors of size " +
                 std::to_string(dims.size()) + ", but got " + std::to_string(begin.size()) +
                 " and " + std::to_string(size.size()));
  if (io.failed()) return io.take();
  const std::span<int64_t> ends = io.vector_output<int64_t>(0, dims.size());
  for (size_t i = 0; i < dims.size() && !io.failed(); ++i) {
    const std::string place = "[" + std::to_string(i) + "] in [0, ";
    io.require(begin[i] >= 0 && begin[i] <= dims[i], "Expected begin" + place +
                                                         std::to_string(dims[i]) + "], but got " +
                                                         std::to_string(begin[i]));
    if (io.failed()) break;
    const int64_t room = dims[i] - begin[i];
    io.require(
        size[i] == -1 || (size[i] >= 0 && size[i] <= room),
        "Expected size" + place + std::to_string(room) + "], but got " + std::to_string(size[i]));
    if (!io.failed()) ends[i] = size[i] == -1 ? dims[i] : begin[i] + size[i];
  }
  return io.take();
}

// Inputs: a tensor's dims, paddings [rank, 2]. Output: ONNX's pads, all befores, then all afters.
// Attribute `mirror`: 0 none, 1 without the edge, 2 with it; both repeat no element twice.
class PadsOf final : public Kernel {
 public:
  explicit PadsOf(const KernelAttributes& attributes) : mirror_(attributes.integer("mirror", 0)) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const std::vector<int64_t> dims = io.integers(0), rows = io.integers(1);
    const Shape shape = io.view(1).shape;
    io.require(shape.rank() == 2 && shape[1] == 2,
               "paddings must be a matrix with 2 columns: " + shape.to_string());
    if (io.failed()) return io.take();
    io.require(rows.size() == 2 * dims.size(),
               "The first dimension of paddings must be the rank of inputs" + shape.to_string() +
                   " " + Shape(dims).to_string());
    if (io.failed()) return io.take();
    const std::span<int64_t> pads = io.vector_output<int64_t>(0, rows.size());
    for (size_t i = 0; i < dims.size() && !io.failed(); ++i) {
      const int64_t before = rows[2 * i], after = rows[2 * i + 1];
      const std::string both = std::to_string(before) + (mirror_ == 0 ? " " : ", ");
      io.require(
          before >= 0 && after >= 0,
          "Paddings must be non-negative: " + std::to_string(before) + " " + std::to_string(after));
      const int64_t most = mirror_ == 0 ? INT64_MAX : dims[i] - (mirror_ == 1 ? 1 : 0);
      io.require(
          before <= most && after <= most,
          std::string("paddings must be ") + (mirror_ == 1 ? "less than" : "no greater than") +
              " the dimension size: " + both + std::to_string(after) +
              (mirror_ == 1 ? " not less than " : " greater than ") + std::to_string(dims[i]));
      if (io.failed()) break;
      pads[i] = before;
      pads[dims.size() + i] = after;
    }
    return io.take();
  }

 private:
  const int64_t mirror_;
};

// Inputs: a tensor's dims, and the dims to broadcast to. Output: the latter.
Status broadcast_dims(KernelContext& context) {
  KernelIo io(context);
  const std::vector<int64_t> from = io.integers(0), to = io.integers(1);
  for (const int64_t dim : to) {
    io.require(dim >= 0, "Dimension " + std::to_string(dim) + " must be >= 0");
  }
  io.require(from.size() <= to.size(), "Rank of input (" + std::to_string(from.size()) +
                                           ") must be no greater than rank of output shape (" +
                                           std::to_string(to.size()) + ").");
  if (io.failed()) return io.take();
  bool fits = true;
  for (size_t i = 0; i < from.size(); ++i) {
    fits &= from[i] == 1 || from[i] == to[to.size() - from.size() + i];
  }
  io.require(fits, "Unable to broadcast tensor of shape " + Shape(from).to_string() +
                       " to tensor of shape " + Shape(to).to_string());
  const std::span<int64_t> out = io.vector_output<int64_t>(0, to.size());
  if (!io.failed()) std::copy(to.begin(), to.end(), out.begin());
  return io.take();
}

// Inputs: a rank, axes. Output: the axes, counted from the front.
Status reduction_axes(KernelContext& context) {
  KernelIo io(context);
  const int64_t rank = io.integer(0, "the rank");
  const std::vector<int64_t> axes = io.integers(1);
  std::vector<bool> seen(io.failed() ? 0 : static_cast<size_t>(rank), false);
  const std::span<int64_t> out = io.vector_output<int64_t>(0, axes.size());
  for (size_t i = 0; i < axes.size() && !io.failed(); ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (!io.require(axis >= 0 && axis < rank, "Invalid reduction dimension (" +
                                                  std::to_string(axes[i]) + " for input with " +
                                                  std::to_string(rank) + " dimension(s)"))
      break;
    io.require(
        !seen[static_cast<size_t>(axis)],
        "Invalid reduction arguments: Axes contains duplicate dimension: " + std::to_string(axis));
    seen[static_cast<size_t>(axis)] = true;
    out[i] = axis;
  }
  return io.take();
}

// Input: a permutation. Output: its inverse.
Status invert_permutation(KernelContext& context) {
  KernelIo io(context);
  const TensorView input = io.view(0);
  const std::vector<int64_t> places = io.integers(0);
  io.require(input.shape.rank() == 1, "invert_permutation expects a 1D vector.");
  std::vector<int64_t> out(places.size(), -1);
  const int64_t count = static_cast<int64_t>(places.size());
  for (size_t i = 0; i < places.size() && !io.failed(); ++i) {
    if (!io.require(places[i] >= 0 && places[i] < count,
                    std::to_string(places[i]) + " is not between 0 and " + std::to_string(count)))
      break;
    int64_t& to = out[static_cast<size_t>(places[i])];
    io.require(to == -1, std::to_string(places[i]) + " is duplicated in the input.");
    to = static_cast<int64_t>(i);
  }
  if (!io.failed()) io.integers_output(0, input.dtype, input.shape, out);
  return io.take();
}

}  // namespace

std::vector<OperatorType> require_operators() {
  using Output = OperatorType::OutputType;
  constexpr Operand kAny, kInt64{DType::Int64};
  return {
      {"Require",
       {Operand{DType::Bool}, kAny, kAny},
       {kAny},
       make_class<Require>,
       Output::PassesLastInput},
      {"SliceEnds", {kAny, kAny, kAny}, {kInt64}, make_function<slice_ends>},
      {"PadsOf", {kAny, kAny}, {kInt64}, make_class<PadsOf>},
      {"BroadcastDims", {kAny, kAny}, {kInt64}, make_function<broadcast_dims>},
      {"ReductionAxes", {kAny, kAny}, {kInt64}, make_function<reduction_axes>},
      {"InvertPermutation", {kAny}, {kAny}, make_function<invert_permutation>, Output::OfLastInput},
  };
}

}  // namespace serval::operators
