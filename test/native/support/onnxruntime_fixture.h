// The fixture of the ONNX Runtime backend's tests: the library's path, loading a written model, and
// one-line runs. Test code.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "source_folder.h"
#include "support/onnx_writer.h"

namespace serval {

// SERVAL_ORT_LIBRARY, or the library of the node_modules beside the sources; "" if neither exists.
inline std::string onnxruntime_library() {
  const char* variable = std::getenv("SERVAL_ORT_LIBRARY");
  if (variable != nullptr && *variable != '\0') return variable;
  const std::string path = source_folder() +
                           "/node_modules/onnxruntime-node/bin/napi-v6/linux/x64/"
                           "libonnxruntime.so.1";
  return std::filesystem::exists(path) ? path : "";
}

#define SKIP_WITHOUT_ONNXRUNTIME()   \
  if (onnxruntime_library().empty()) \
  GTEST_SKIP() << "NOT TESTED: no ONNX Runtime library; set SERVAL_ORT_LIBRARY, or npm ci"

// A tensor that owns its values; the view points into this object.
template <typename T>
struct TestTensor {
  TestTensor(DType dtype, std::vector<int64_t> dims, std::vector<T> given)
      : values(std::move(given)) {
    tensor.dtype = dtype;
    tensor.shape = Shape(dims);
    tensor.data = reinterpret_cast<const uint8_t*>(values.data());
    tensor.bytes = values.size() * sizeof(T);
  }
  TestTensor(const TestTensor&) = delete;
  TestTensor& operator=(const TestTensor&) = delete;
  const TensorView& view() const { return tensor; }
  std::vector<T> values;
  TensorView tensor;
};

struct TestStrings {
  TestStrings(std::vector<int64_t> dims, std::vector<std::string_view> given)
      : values(std::move(given)) {
    tensor.dtype = DType::Bytes;
    tensor.shape = Shape(dims);
    tensor.strings = values;
  }
  TestStrings(const TestStrings&) = delete;
  TestStrings& operator=(const TestStrings&) = delete;
  const TensorView& view() const { return tensor; }
  std::vector<std::string_view> values;
  TensorView tensor;
};

template <typename T>
std::vector<T> values_of(const TensorView& view) {
  std::vector<T> values(view.bytes / sizeof(T));
  if (view.bytes != 0) std::memcpy(values.data(), view.data, view.bytes);
  return values;
}

class OnnxRuntimeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_ONNXRUNTIME();
    backend_ = make_onnxruntime_backend(onnxruntime_library(), 2);
  }

  Result<std::shared_ptr<BackendModel>> try_load(const std::string& path) {
    ModelSpec spec;
    spec.path = path;
    return backend_->load(spec);
  }
  Result<std::shared_ptr<BackendModel>> try_load(const onnx::Model& model, ModelSpec spec) {
    spec.path = directory_.write("model.onnx", model.to_bytes());
    return backend_->load(spec);
  }
  // The model, or null with a failed expectation.
  std::shared_ptr<BackendModel> load(const onnx::Model& model, ModelSpec spec = {}) {
    spec.path = directory_.write("model.onnx", model.to_bytes());
    Result<std::shared_ptr<BackendModel>> loaded = backend_->load(spec);
    EXPECT_TRUE(loaded.ok()) << loaded.error().message;
    return loaded.ok() ? loaded.value() : nullptr;
  }
  // Returns the error of a load that must fail.
  Error load_error(const std::string& path, ModelSpec spec = {}) {
    spec.path = path;
    Result<std::shared_ptr<BackendModel>> loaded = backend_->load(spec);
    EXPECT_FALSE(loaded.ok());
    return loaded.ok() ? Error{} : loaded.error();
  }
  Error load_error(const onnx::Model& model) {
    return load_error(directory_.write("model.onnx", model.to_bytes()));
  }
  // Runs all outputs with `scratch`.
  static Status run(BackendModel& model, BackendScratch& scratch,
                    const std::vector<TensorView>& inputs) {
    std::vector<uint32_t> outputs(model.info().signatures[0].outputs.size());
    std::iota(outputs.begin(), outputs.end(), 0u);
    return model.run(0, inputs, outputs, scratch, nullptr);
  }

  onnx::TemporaryDirectory directory_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace serval
