// The rules of guarded operators: inputs that crash ONNX Runtime's kernels of these names. Hot
// path, any thread. docs/explanation/robustness.md lists them.
#include <algorithm>
#include <memory>
#include <utility>

#include "operators/guards/checked.h"

namespace serval::operators {
namespace {

// Limit on a transform's length. Longer ones take seconds and cannot be cancelled.
constexpr int64_t kTransformMax = int64_t{1} << 24;

Error refused_attribute(std::string_view op, std::string_view name, int64_t value,
                        std::string_view expected) {
  return model_invalid(std::string(op) + ": attribute '" + std::string(name) + "': expected " +
                       std::string(expected) + ", got " + std::to_string(value));
}

// For a tensor of any type, including types without a dtype here; false if it is absent.
bool has_zero_dim(const TensorView& view) {
  const auto dims = view.shape.dims();
  return std::find(dims.begin(), dims.end(), 0) != dims.end();
}

// The number in a tensor of one integer; nullopt for any other tensor.
std::optional<int64_t> number_in(const TensorView& view) {
  const bool one = view.shape.elements() == 1u;
  if (one && view.dtype == DType::Int64) {
    int64_t value = 0;
    std::memcpy(&value, view.data, sizeof value);
    return value;
  }
  if (one && view.dtype == DType::Int32) {
    int32_t value = 0;
    std::memcpy(&value, view.data, sizeof value);
    return value;
  }
  return std::nullopt;
}

// Requires that no dim of the inputs at these places is 0.
class NoZeroDims final : public GuardRule {
 public:
  explicit NoZeroDims(std::vector<int64_t> places) : places_(std::move(places)) {}
  Complaint check(const GuardedInputs& inputs) const override {
    for (const int64_t place : places_) {
      if (has_zero_dim(inputs.at(place))) return {place, "expected no dim of 0"};
    }
    return {};
  }

 private:
  const std::vector<int64_t> places_;
};

// A convolution of [batch, channels, ...] without channels never ends. An empty batch computes
// nothing, so it is allowed.
class SomeChannels final : public GuardRule {
 public:
  explicit SomeChannels(int64_t weights) : weights_(weights) {}
  Complaint check(const GuardedInputs& inputs) const override {
    const Shape& data = inputs.at(0).shape;
    if (data.rank() > 1 && data[1] == 0) return {0, "expected 1 channel or more"};
    if (has_zero_dim(inputs.at(weights_))) return {weights_, "expected no dim of 0"};
    return {};
  }

 private:
  const int64_t weights_;
};

// Attention over [batch, heads, length, size] divides by the number of heads.
class SomeHeads final : public GuardRule {
 public:
  Complaint check(const GuardedInputs& inputs) const override {
    for (int64_t place = 0; place < 3; ++place) {
      const TensorView& view = inputs.at(place);
      if (view.dtype == DType::Invalid) continue;
      if (view.shape.rank() == 4 && view.shape[1] == 0) return {place, "expected 1 head or more"};
      if (view.shape.rank() == 3 && view.shape[2] == 0) {
        return {place, "expected a hidden size of 1 or more"};
      }
    }
    return {};
  }
};

// Resize and Upsample copy as many scales, sizes and corners as they are given, without a check.
class ListsOfRank final : public GuardRule {
 public:
  // `places`: of the lists; each entry's `per_dim` is the number of list elements for each dim.
  ListsOfRank(std::vector<std::pair<int64_t, int64_t>> lists, size_t axes)
      : lists_(std::move(lists)), axes_(axes) {}
  Complaint check(const GuardedInputs& inputs) const override {
    const size_t rank = axes_ > 0 ? axes_ : inputs.at(0).shape.rank();
    for (const auto& [place, per_dim] : lists_) {
      if (!inputs.has(place)) continue;
      const uint64_t wanted = rank * static_cast<uint64_t>(per_dim);
      const uint64_t got = inputs.at(place).shape.elements().value_or(0);
      if (got == 0 || got == wanted) continue;
      return {place, "expected " + std::to_string(wanted) + " elements"};
    }
    return {};
  }

 private:
  const std::vector<std::pair<int64_t, int64_t>> lists_;
  const size_t axes_;
};

class Dft final : public GuardRule {
 public:
  Dft(int64_t axis, bool inverse, bool onesided) : axis_(axis), shrinks_(inverse && onesided) {}
  Complaint check(const GuardedInputs& inputs) const override {
    const Shape& shape = inputs.at(0).shape;
    if (has_zero_dim(inputs.at(0))) return {0, "expected no dim of 0"};
    const int64_t rank = static_cast<int64_t>(shape.rank());
    int64_t axis = axis_;
    if (inputs.has(2)) {
      const std::optional<int64_t> given = number_in(inputs.at(2));
      if (!given) return {2, "expected one integer"};
      axis = *given;
    }
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank) return {inputs.has(2) ? 2 : 0, "expected an axis of the signal"};
    int64_t length = shape[static_cast<size_t>(axis)];
    if (shrinks_) length = 2 * (length - 1);
    if (inputs.has(1)) {
      const std::optional<int64_t> given = number_in(inputs.at(1));
      if (!given || *given < 1 || *given > kTransformMax) {
        return {1, "expected a length from 1 to " + std::to_string(kTransformMax)};
      }
      length = *given;
    }
    if (length < 1 || length > kTransformMax) {
      return {0, "expected a signal of 1 to " + std::to_string(kTransformMax) + " values, got " +
                     std::to_string(length)};
    }
    return {};
  }

 private:
  const int64_t axis_;
  const bool shrinks_;
};

class Stft final : public GuardRule {
 public:
  Complaint check(const GuardedInputs& inputs) const override {
    const TensorView& signal = inputs.at(0);
    if (has_zero_dim(signal)) return {0, "expected no dim of 0"};
    if (signal.shape.rank() < 2) return {0, "expected [batch, length] or [batch, length, 1 or 2]"};
    const int64_t length = signal.shape[1];
    const std::optional<int64_t> step = number_in(inputs.at(1));
    if (!step || *step < 1) return {1, "expected a step of 1 or more"};
    int64_t window = 0;
    if (inputs.has(2)) {
      if (inputs.at(2).shape.rank() != 1) return {2, "expected a list"};
      window = inputs.at(2).shape[0];
      if (window < 1 || window > length) return {2, within(length)};
    }
    if (inputs.has(3)) {
      const std::optional<int64_t> frame = number_in(inputs.at(3));
      if (!frame || *frame < 1 || *frame > length) return {3, within(length)};
      if (window != 0 && *frame != window) return {3, "expected the window's length"};
    } else if (window == 0) {
      return {0, "expected a window or a frame_length with it"};
    }
    return {};
  }

 private:
  static std::string within(int64_t length) {
    return "expected a frame of 1 to " + std::to_string(length) + ", the signal's length";
  }
};

using Made = Result<std::unique_ptr<GuardRule>>;

Made no_zero_dims(std::vector<int64_t> places) {
  return std::unique_ptr<GuardRule>(std::make_unique<NoZeroDims>(std::move(places)));
}

Made attention(std::string_view op, const KernelAttributes& attributes) {
  for (const std::string_view name : {"q_num_heads", "kv_num_heads", "num_heads"}) {
    const int64_t heads = attributes.integer(name, 1);
    if (heads < 1) return refused_attribute(op, name, heads, "1 or more");
  }
  return std::unique_ptr<GuardRule>(std::make_unique<SomeHeads>());
}

Made resize(const KernelAttributes& attributes) {
  const size_t axes = attributes.integers("axes").size();
  std::vector<std::pair<int64_t, int64_t>> lists = {{1, 2}, {2, 1}, {3, 1}};
  return std::unique_ptr<GuardRule>(std::make_unique<ListsOfRank>(std::move(lists), axes));
}

Made upsample() {
  std::vector<std::pair<int64_t, int64_t>> lists = {{1, 1}};
  return std::unique_ptr<GuardRule>(std::make_unique<ListsOfRank>(std::move(lists), 0));
}

}  // namespace

Made make_guard_rule(std::string_view op, const KernelAttributes& attributes) {
  if (op == "TopK" || op == "LSTM" || op == "GRU" || op == "RNN" || op == "Unique") {
    return no_zero_dims({0});
  }
  if (op == "ConvTranspose" || op == "QuantizeLinear" || op == "DequantizeLinear") {
    return no_zero_dims({0, 1});
  }
  if (op == "Conv" || op == "ConvInteger" || op == "QLinearConv") {
    const int64_t weights = op == "QLinearConv" ? 3 : 1;
    return std::unique_ptr<GuardRule>(std::make_unique<SomeChannels>(weights));
  }
  if (op == "Attention" || op == "MultiHeadAttention" || op == "GroupQueryAttention") {
    return attention(op, attributes);
  }
  if (op == "Resize") return resize(attributes);
  if (op == "Upsample") return upsample();
  if (op == "STFT") return std::unique_ptr<GuardRule>(std::make_unique<Stft>());
  if (op == "DFT") {
    return std::unique_ptr<GuardRule>(
        std::make_unique<Dft>(attributes.integer("axis", 1), attributes.integer("inverse", 0) != 0,
                              attributes.integer("onesided", 0) != 0));
  }
  return std::unique_ptr<GuardRule>();
}

}  // namespace serval::operators
