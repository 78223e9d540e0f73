// Calls of serval.h with owners for its objects, and models to open. Test time only.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "capi/serval.h"
#include "support/onnxruntime_fixture.h"

namespace serval {

struct Freed {
  void operator()(serval_error* error) const { serval_error_free(error); }
  void operator()(serval_model* model) const { serval_close(model); }
  void operator()(serval_result* result) const { serval_result_free(result); }
};
using OwnError = std::unique_ptr<serval_error, Freed>;
using OwnModel = std::unique_ptr<serval_model, Freed>;
using OwnResult = std::unique_ptr<serval_result, Freed>;

// "" for no error; else the code, a space and the message.
inline std::string text_of(serval_error* error) {
  const OwnError owned(error);
  if (error == nullptr) return "";
  return std::to_string(serval_error_code(error)) + " " + serval_error_message(error);
}

inline OwnModel open_model(const std::string& path) {
  const std::string library = onnxruntime_library();
  const serval_options options{sizeof(serval_options), library.c_str(), 1};
  serval_model* model = nullptr;
  EXPECT_EQ(text_of(serval_open(path.c_str(), &options, &model)), "");
  return OwnModel(model);
}

inline std::string open_error(const std::string& path) {
  serval_model* model = nullptr;
  const std::string text = text_of(serval_open(path.c_str(), nullptr, &model));
  EXPECT_EQ(model, nullptr);
  return text;
}

// An input of numbers; borrows the values and the shape.
template <typename T>
serval_tensor numbers(const char* name, int32_t dtype, const std::vector<T>& values,
                      const std::vector<int64_t>& shape) {
  serval_tensor tensor{};
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.rank = static_cast<int32_t>(shape.size());
  tensor.shape = shape.data();
  tensor.data = values.data();
  tensor.bytes = values.size() * sizeof(T);
  return tensor;
}

// An input of texts, which are one block.
struct Texts {
  explicit Texts(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      block += text;
      offsets.push_back(block.size());
    }
    shape = {static_cast<int64_t>(texts.size())};
  }
  serval_tensor tensor(const char* name, int32_t dtype) const {
    serval_tensor made{};
    made.name = name;
    made.dtype = dtype;
    made.rank = 1;
    made.shape = shape.data();
    made.data = block.data();
    made.bytes = block.size();
    made.offsets = offsets.data();
    return made;
  }
  std::string block;
  std::vector<uint64_t> offsets{0};
  std::vector<int64_t> shape;
};

// Runs all outputs of the first signature.
inline std::string try_infer(serval_model* model, const std::vector<serval_tensor>& inputs,
                             OwnResult& result) {
  serval_result* made = nullptr;
  const std::string error =
      text_of(serval_infer(model, 0, inputs.data(), inputs.size(), nullptr, 0, &made));
  result.reset(made);
  EXPECT_EQ(error.empty(), made != nullptr);
  return error;
}

inline OwnResult infer(serval_model* model, const std::vector<serval_tensor>& inputs) {
  OwnResult result;
  EXPECT_EQ(try_infer(model, inputs, result), "");
  return result;
}

inline std::string infer_error(serval_model* model, const std::vector<serval_tensor>& inputs) {
  OwnResult result;
  return try_infer(model, inputs, result);
}

inline serval_tensor output_of(const OwnResult& result, size_t index = 0) {
  serval_tensor output{};
  EXPECT_EQ(text_of(serval_result_output(result.get(), index, &output)), "");
  return output;
}

template <typename T>
std::vector<T> values_in(const serval_tensor& tensor) {
  std::vector<T> values(tensor.bytes / sizeof(T));
  if (tensor.bytes != 0) std::memcpy(values.data(), tensor.data, tensor.bytes);
  return values;
}

inline std::vector<std::string> texts_in(const serval_tensor& tensor, size_t count) {
  std::vector<std::string> texts;
  const auto* data = static_cast<const char*>(tensor.data);
  for (size_t i = 0; i < count; ++i) {
    texts.emplace_back(data + tensor.offsets[i], tensor.offsets[i + 1] - tensor.offsets[i]);
  }
  return texts;
}

}  // namespace serval
