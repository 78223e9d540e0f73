// DynamicUpdateSlice: replaces a part of a tensor at an offset given at run time, which is clamped
// so that the part is inside the tensor. Text generators update their caches with it, one step of
// many, in the tensor's own memory if the runtime allows it. Hot path, any thread.
// Source: XLA's DynamicUpdateSlice (openxla.org/xla/operation_semantics).
#include "operators/groups.h"
#include "operators/kernel_io.h"

namespace serval::operators {
namespace {

// Copies rows of `update` (rank 1 or more) into `out`, a tensor of `shape`, at `starts`; everything
// is inside.
void write_part(std::span<uint8_t> out, const Shape& shape, const TensorView& update,
                std::span<const int64_t> starts) {
  const size_t rank = shape.rank();
  const size_t width = dtype_bytes(update.dtype);
  // The axes after `last` are complete, so one copy covers them.
  size_t last = rank - 1;
  size_t inner = width;
  while (last > 0 && update.shape[last] == shape[last]) {
    inner *= static_cast<size_t>(shape[last]);
    --last;
  }
  const size_t run = inner * static_cast<size_t>(update.shape[last]);
  if (run == 0) return;
  std::vector<size_t> strides(rank, inner);
  for (size_t axis = last; axis-- > 0;) {
    strides[axis] = strides[axis + 1] * static_cast<size_t>(shape[axis + 1]);
  }
  size_t at = 0;
  for (size_t axis = 0; axis <= last; ++axis)
    at += static_cast<size_t>(starts[axis]) * strides[axis];
  std::vector<int64_t> place(last, 0);
  const size_t runs = update.bytes / run;
  for (size_t i = 0; i < runs; ++i) {
    std::memcpy(out.data() + at, update.data + i * run, run);
    for (size_t axis = last; axis-- > 0;) {
      at += strides[axis];
      if (++place[axis] < update.shape[axis]) break;
      at -= strides[axis] * static_cast<size_t>(update.shape[axis]);
      place[axis] = 0;
    }
  }
}

// (update, starts, input) -> input with `update` written into it.
class DynamicUpdateSlice final : public Kernel {
 public:
  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView update = io.view(0);
    std::vector<int64_t> starts = io.integers(1);
    const TensorView input = io.view(2);
    if (io.failed()) return io.take();
    const Shape shape = input.shape;
    const size_t rank = shape.rank();
    if (!io.require(update.dtype == input.dtype && dtype_bytes(input.dtype) != 0,
                    "the update must be numbers of the input's type") ||
        !io.require(starts.size() == rank && update.shape.rank() == rank,
                    "the update and its indices must have the rank of the input, " +
                        shape.to_string() + "; got an update " + update.shape.to_string() +
                        " and " + std::to_string(starts.size()) + " indices")) {
      return io.take();
    }
    for (size_t axis = 0; axis < rank; ++axis) {
      const int64_t room = shape[axis] - update.shape[axis];
      if (!io.require(room >= 0, "the update " + update.shape.to_string() +
                                     " is larger than the input " + shape.to_string())) {
        return io.take();
      }
      starts[axis] = std::clamp<int64_t>(starts[axis], 0, room);
    }
    const std::span<uint8_t> out = io.raw_output(0, input.dtype, shape);
    if (io.failed() || out.empty()) return io.take();
    if (out.data() != input.data) std::memcpy(out.data(), input.data, out.size());
    if (rank == 0) std::memcpy(out.data(), update.data, out.size());
    else write_part(out, shape, update, starts);
    return io.take();
  }
};

Result<std::unique_ptr<Kernel>> make_update(const KernelAttributes&) {
  return std::unique_ptr<Kernel>(std::make_unique<DynamicUpdateSlice>());
}

}  // namespace

std::vector<OperatorType> dynamic_slice_operators() {
  return {{"DynamicUpdateSlice",
           {Operand{}, Operand{}, Operand{}},
           {Operand{}},
           make_update,
           OperatorType::OutputType::ChangesLastInput}};
}

}  // namespace serval::operators
