// Bitcast: reinterprets a tensor's bytes as elements of another type. Hot path, any thread.
// Source: tensorflow/core/kernels/bitcast_op.cc, array_ops.cc.
#include "operators/groups.h"
#include "operators/kernel_io.h"

namespace serval::operators {
namespace {

// A wider element type removes the last dim, whose entries form one element; a narrower one adds a
// dim.
class Bitcast final : public Kernel {
 public:
  explicit Bitcast(DType to) : to_(to) {}

  Status run(KernelContext& context) const override {
    KernelIo io(context);
    const TensorView from = io.view(0);
    if (io.failed()) return io.take();
    const size_t in = dtype_bytes(from.dtype), out = dtype_bytes(to_);
    Shape shape = from.shape;
    if (in > out) {
      const bool fits = in != 0 && in % out == 0;
      if (!io.require(fits && shape.push_back(static_cast<int64_t>(in / out)), refusal(from))) {
        return io.take();
      }
    } else if (in < out) {
      const size_t rank = shape.rank();
      const bool fits =
          in != 0 && out % in == 0 && rank > 0 && shape[rank - 1] == static_cast<int64_t>(out / in);
      if (!io.require(fits, refusal(from))) return io.take();
      shape = Shape(from.shape.dims().first(rank - 1));
    }
    const std::span<uint8_t> bytes = io.raw_output(0, to_, shape);
    if (!io.failed() && !bytes.empty()) std::memcpy(bytes.data(), from.data, bytes.size());
    return io.take();
  }

 private:
  std::string refusal(const TensorView& from) const {
    return "Cannot bitcast from " + std::string(dtype_tf_name(from.dtype)) + " to " +
           std::string(dtype_tf_name(to_)) + ": shape " + from.shape.to_string();
  }
  const DType to_;
};

// `to`: an ONNX element type.
Result<std::unique_ptr<Kernel>> make_bitcast(const KernelAttributes& attributes) {
  const int64_t to = attributes.integer("to", 0);
  const DType dtype = dtype_from_onnx(static_cast<int32_t>(to));
  if (dtype_bytes(dtype) == 0 || dtype == DType::Bool) {
    return model_invalid("attribute 'to': expected the type of a number, got " +
                         std::to_string(to));
  }
  return std::unique_ptr<Kernel>(std::make_unique<Bitcast>(dtype));
}

}  // namespace

std::vector<OperatorType> bitcast_operators() {
  return {{"Bitcast", {Operand{}}, {Operand{}}, make_bitcast}};
}

}  // namespace serval::operators
