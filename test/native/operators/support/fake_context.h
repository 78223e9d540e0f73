// A kernel's context without a runtime: attributes by name, tensors that own their elements. Test
// code.
#pragma once

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operators/operator.h"

namespace serval::operators {

struct FakeAttributes final : KernelAttributes {
  std::map<std::string, int64_t, std::less<>> ints;
  std::map<std::string, float, std::less<>> floats;
  std::map<std::string, std::string, std::less<>> strings;
  std::map<std::string, std::vector<int64_t>, std::less<>> int_lists;
  std::map<std::string, std::vector<float>, std::less<>> float_lists;

  template <typename Map, typename T>
  static T get(const Map& map, std::string_view name, T fallback) {
    const auto found = map.find(name);
    return found == map.end() ? fallback : T(found->second);
  }
  int64_t integer(std::string_view name, int64_t fallback) const override {
    return get(ints, name, fallback);
  }
  float real(std::string_view name, float fallback) const override {
    return get(floats, name, fallback);
  }
  std::string text(std::string_view name, std::string_view fallback) const override {
    return get(strings, name, std::string(fallback));
  }
  std::vector<int64_t> integers(std::string_view name) const override {
    return get(int_lists, name, std::vector<int64_t>());
  }
  std::vector<float> reals(std::string_view name) const override {
    return get(float_lists, name, std::vector<float>());
  }
};

// A tensor with its elements: raw bytes, or strings.
struct FakeTensor {
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims;
  std::string raw;
  std::vector<std::string> texts;

  template <typename T>
  static FakeTensor of(DType dtype, std::vector<int64_t> dims, const std::vector<T>& values) {
    FakeTensor tensor{dtype, std::move(dims), {}, {}};
    tensor.raw.assign(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
    return tensor;
  }
  static FakeTensor of_texts(std::vector<int64_t> dims, std::vector<std::string> values) {
    return {DType::Bytes, std::move(dims), {}, std::move(values)};
  }
  template <typename T>
  std::vector<T> values() const {
    std::vector<T> out(raw.size() / sizeof(T));
    if (!raw.empty()) std::memcpy(out.data(), raw.data(), raw.size());
    return out;
  }
  bool operator==(const FakeTensor&) const = default;
};

class FakeContext final : public KernelContext {
 public:
  FakeContext(std::vector<FakeTensor> inputs, size_t output_count) : outputs_(output_count) {
    for (FakeTensor& tensor : inputs) inputs_.push_back(std::move(tensor));
    views_.resize(inputs_.size());
  }
  size_t input_count() const override { return inputs_.size(); }
  size_t output_count() const override { return outputs_.size(); }
  Result<TensorView> input(size_t index) override {
    TensorView view;
    if (index >= inputs_.size()) return view;
    const FakeTensor& tensor = inputs_[index];
    view.dtype = tensor.dtype;
    view.shape = Shape(tensor.dims);
    view.data = reinterpret_cast<const uint8_t*>(tensor.raw.data());
    view.bytes = tensor.raw.size();
    views_[index].assign(tensor.texts.begin(), tensor.texts.end());
    view.strings = views_[index];
    return view;
  }
  Result<std::span<uint8_t>> output(size_t index, DType dtype, const Shape& shape) override {
    FakeTensor& tensor = outputs_.at(index);
    tensor.dtype = dtype;
    tensor.dims.assign(shape.dims().begin(), shape.dims().end());
    const auto elements = shape.elements();
    if (!elements || *elements > kElementsMax) {
      return invalid_argument("output of shape " + shape.to_string() + " is too large");
    }
    tensor.raw.assign(*elements * dtype_bytes(dtype), '\x5a');  // the memory is not zeroed
    return std::span(reinterpret_cast<uint8_t*>(tensor.raw.data()), tensor.raw.size());
  }
  Status output_strings(size_t index, const Shape& shape,
                        std::span<const std::string_view> values) override {
    FakeTensor& tensor = outputs_.at(index);
    tensor = FakeTensor::of_texts({shape.dims().begin(), shape.dims().end()}, {});
    if (shape.elements() != values.size()) {
      return make_error(ErrorCode::Internal, "wrong number of strings");
    }
    tensor.texts.assign(values.begin(), values.end());
    return ok_status();
  }
  const std::vector<FakeTensor>& outputs() const { return outputs_; }

 private:
  static constexpr uint64_t kElementsMax = 1u << 22;
  std::vector<FakeTensor> inputs_, outputs_;
  std::vector<std::vector<std::string_view>> views_;
};

// Returns the operator with this name; ends the process if there is none.
inline OperatorType operator_named(std::string_view name) {
  for (OperatorType& type : all_operators()) {
    if (type.name == name) return std::move(type);
  }
  std::abort();
}

// Runs an operator once: returns its outputs, or the error of make() or run().
inline Result<std::vector<FakeTensor>> run_operator(std::string_view name,
                                                    const FakeAttributes& attributes,
                                                    std::vector<FakeTensor> inputs,
                                                    size_t output_count) {
  Result<std::unique_ptr<Kernel>> kernel = operator_named(name).make(attributes);
  if (!kernel.ok()) return std::move(kernel.error());
  FakeContext context(std::move(inputs), output_count);
  if (Status status = kernel.value()->run(context); !status.ok()) return std::move(status.error());
  return context.outputs();
}

}  // namespace serval::operators
