// What a custom operator is: TensorFlow operators that ONNX has no form for. Knows no runtime; the
// backend adapts it (backend/onnxruntime_custom_ops). Hot path; kernels are shared by threads.
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
  // The fallback where the node has no such attribute.
  virtual int64_t integer(std::string_view name, int64_t fallback) const = 0;
  virtual float real(std::string_view name, float fallback) const = 0;
  // Any bytes.
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
  // A view until the run ends. An optional input that was left out has dtype Invalid.
  virtual Result<TensorView> input(size_t index) = 0;
  // Memory for a tensor of fixed-size elements, aligned to 64, not zeroed. Once per output.
  virtual Result<std::span<uint8_t>> output(size_t index, DType dtype, const Shape& shape) = 0;
  // Copies the strings. values.size() is the shape's element count.
  virtual Status output_strings(size_t index, const Shape& shape,
                                std::span<const std::string_view> values) = 0;
  // Calls work(0) ... work(tasks - 1), each once, on threads of the runtime's where it has some,
  // and returns when all have ended. The tasks must not touch the context or each other's memory.
  // Errors: backend_failed where one threw (memory).
  virtual Status parallel(size_t tasks, const std::function<void(size_t)>& work) {
    for (size_t i = 0; i < tasks; ++i) work(i);
    return ok_status();
  }
};

// Errors of run(): invalid_argument where the input is to blame (the client sees the text; words as
// TensorFlow's own where it has some), else backend_failed.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Status run(KernelContext& context) const = 0;
};

struct Operand {
  DType dtype = DType::Invalid;  // Invalid = any (outputs: the graph's value_info says which)
  enum class Form : uint8_t { Required, Optional, Variadic };  // Variadic: last one only, 0 or more
  Form form = Form::Required;
};

struct OperatorType {
  std::string name;  // in the ONNX domain "serval", version 1
  std::vector<Operand> inputs, outputs;
  // Errors: model_invalid naming the attribute.
  Result<std::unique_ptr<Kernel>> (*make)(const KernelAttributes& attributes) = nullptr;
  // Where the runtime itself finds the type of the one output: it is that of the last input, which
  // PassesLastInput gives on unchanged, in its own memory if the runtime can, and ChangesLastInput
  // in its own memory where nothing else reads it. All inputs are required then.
  enum class OutputType : uint8_t { OfTheGraph, OfLastInput, PassesLastInput, ChangesLastInput };
  OutputType output_type = OutputType::OfTheGraph;
};

// A group's operators; one file pair per group of operators, all listed in operators.cc.
std::vector<OperatorType> all_operators();

}  // namespace serval::operators
