// The interface of a custom operator: TensorFlow operators that ONNX cannot express. Knows no
// runtime; the backend adapts it (backend/onnxruntime/custom_ops). Hot path; kernels are shared by
// threads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"

namespace serval::operators {

// A node's attributes, read once when its kernel is made.
class KernelAttributes {
 public:
  virtual ~KernelAttributes() = default;
  // Returns the fallback if the node has no such attribute.
  virtual int64_t integer(std::string_view name, int64_t fallback) const = 0;
  virtual float real(std::string_view name, float fallback) const = 0;
  // May be any bytes.
  virtual std::string text(std::string_view name, std::string_view fallback) const = 0;
  virtual std::vector<int64_t> integers(std::string_view name) const = 0;
  virtual std::vector<float> reals(std::string_view name) const = 0;
  // A list of byte strings: one string attribute of netstrings ("3:abc0:2:hi").
  // Errors: model_invalid.
  Result<std::vector<std::string>> texts(std::string_view name) const;
};

// One run's inputs and outputs.
class KernelContext {
 public:
  virtual ~KernelContext() = default;
  virtual size_t input_count() const = 0;
  virtual size_t output_count() const = 0;
  // A view until the run ends. An omitted optional input has dtype Invalid.
  virtual Result<TensorView> input(size_t index) = 0;
  // Allocates a tensor of fixed-size elements, aligned to 64, not zeroed. Once per output.
  virtual Result<std::span<uint8_t>> output(size_t index, DType dtype, const Shape& shape) = 0;
  // Copies the strings. values.size() is the shape's element count.
  virtual Status output_strings(size_t index, const Shape& shape,
                                std::span<const std::string_view> values) = 0;
  // Calls work(0) ... work(tasks - 1), each once, on threads of the runtime if it has some, and
  // returns when all have ended. The tasks must not touch the context or each other's memory.
  // Errors: backend_failed if one threw (memory).
  virtual Status parallel(size_t tasks, const std::function<void(size_t)>& work) {
    for (size_t i = 0; i < tasks; ++i) work(i);
    return ok_status();
  }
};

// Errors of run(): invalid_argument if the input is at fault (the client sees the text; in
// TensorFlow's words if it has any), else backend_failed.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Status run(KernelContext& context) const = 0;
};

struct Operand {
  DType dtype = DType::Invalid;  // Invalid = any (for outputs, the graph's value_info decides)
  // Variadic: only the last one, 0 or more
  enum class Form : uint8_t { Required, Optional, Variadic };
  Form form = Form::Required;
};

struct OperatorType {
  std::string name;  // in the ONNX domain "serval", version 1
  std::vector<Operand> inputs, outputs;
  // Errors: model_invalid naming the attribute.
  Result<std::unique_ptr<Kernel>> (*make)(const KernelAttributes& attributes) = nullptr;
  // Whether the runtime infers the type of the single output: it is that of the last input, which
  // PassesLastInput returns unchanged, in its own memory if the runtime can, and ChangesLastInput
  // changes in its own memory if nothing else reads it. All inputs are then required.
  enum class OutputType : uint8_t { OfTheGraph, OfLastInput, PassesLastInput, ChangesLastInput };
  OutputType output_type = OutputType::OfTheGraph;
};

// A group's operators; one file pair per group of operators, all listed in operators.cc.
std::vector<OperatorType> all_operators();

}  // namespace serval::operators
