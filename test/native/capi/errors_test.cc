// The C interface with invalid arguments: each error names the argument, what was expected and what
// was given.
#include "capi_support.h"

namespace serval {
namespace {

class CapiErrorsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_ONNXRUNTIME();
    const onnx::Model half = onnx::half_plus_three();
    model_ = open_model(directory_.write("model.onnx", half.to_bytes()));
  }
  // The error of a request that differs from a good one by `change`.
  template <typename Change>
  std::string error(Change change) {
    serval_tensor tensor = numbers("x", SERVAL_FP32, x_, shape_);
    change(tensor);
    return infer_error(model_.get(), {tensor});
  }
  const std::vector<float> x_{1, 2};
  const std::vector<int64_t> shape_{2};
  onnx::TemporaryDirectory directory_;
  OwnModel model_;
};

TEST_F(CapiErrorsTest, Pointers) {
  serval_result* result = nullptr;
  const serval_tensor x = numbers("x", SERVAL_FP32, x_, shape_);
  EXPECT_EQ(text_of(serval_infer(nullptr, 0, &x, 1, nullptr, 0, &result)),
            "1 model: expected a pointer, got NULL");
  EXPECT_EQ(text_of(serval_infer(model_.get(), 0, nullptr, 1, nullptr, 0, &result)),
            "1 inputs: expected a pointer, got NULL");
  EXPECT_EQ(text_of(serval_infer(model_.get(), 0, &x, 1, nullptr, 2, &result)),
            "1 outputs: expected a pointer, got NULL");
  EXPECT_EQ(text_of(serval_infer(model_.get(), 0, &x, 1, nullptr, 0, nullptr)),
            "1 result: expected a pointer, got NULL");
  const char* names[] = {"y", nullptr};
  EXPECT_EQ(text_of(serval_infer(model_.get(), 0, &x, 1, names, 2, &result)),
            "1 outputs[1]: expected a text, got NULL");
  EXPECT_EQ(text_of(serval_infer(model_.get(), 3, &x, 1, nullptr, 0, &result)),
            "5 signature: expected an index below 1, got 3");
  EXPECT_EQ(result, nullptr);
}

TEST_F(CapiErrorsTest, Names) {
  EXPECT_EQ(error([](serval_tensor& x) { x.name = nullptr; }),
            "1 inputs[0].name: expected a text, got NULL");
  EXPECT_EQ(error([](serval_tensor& x) { x.name = "z"; }),
            "1 input 'z': the model has none of this name; expected 'x'");
  EXPECT_EQ(infer_error(model_.get(), {}), "1 input 'x' is missing; expected 'x'");
  const serval_tensor x = numbers("x", SERVAL_FP32, x_, shape_);
  EXPECT_EQ(infer_error(model_.get(), {x, x}), "1 input 'x' is given twice");
  serval_result* result = nullptr;
  const char* names[] = {"q"};
  EXPECT_EQ(text_of(serval_infer(model_.get(), 0, &x, 1, names, 1, &result)),
            "1 output 'q': the model has none of this name; expected 'y'");
}

TEST_F(CapiErrorsTest, DatatypesAndShapes) {
  EXPECT_EQ(error([](serval_tensor& x) { x.dtype = SERVAL_FP64; }),
            "1 input 'x': expected datatype FP32, got FP64");
  for (const int dtype : {0, -1, 18, 1000}) {
    EXPECT_EQ(error([&](serval_tensor& x) { x.dtype = dtype; }),
              "1 input 'x': dtype: expected a number of serval_dtype, 1 to 17, got " +
                  std::to_string(dtype));
  }
  EXPECT_EQ(error([](serval_tensor& x) { x.rank = -1; }),
            "1 input 'x': rank: expected 0 to 32, got -1");
  EXPECT_EQ(error([](serval_tensor& x) { x.rank = 33; }),
            "1 input 'x': rank: expected 0 to 32, got 33");
  EXPECT_EQ(error([](serval_tensor& x) { x.shape = nullptr; }),
            "1 input 'x': shape: expected 1 dims, got NULL");
  const int64_t negative[] = {-2};
  EXPECT_EQ(error([&](serval_tensor& x) { x.shape = negative; }),
            "1 input 'x': shape[0]: expected 0 or more, got -2");
  const int64_t huge[] = {INT64_MAX};
  EXPECT_EQ(error([&](serval_tensor& x) { x.shape = huge; }),
            "1 input 'x': shape [9223372036854775807] has too many elements");
  const int64_t two[] = {1, 2};
  EXPECT_EQ(error([&](serval_tensor& x) {
              x.rank = 2;
              x.shape = two;
            }),
            "1 unexpected shape for input 'x': expected [-1], got [1,2]");
}

TEST_F(CapiErrorsTest, Bytes) {
  EXPECT_EQ(error([](serval_tensor& x) { x.bytes = 7; }),
            "1 input 'x': expected 8 bytes (shape [2] of FP32), got 7");
  EXPECT_EQ(error([](serval_tensor& x) { x.data = nullptr; }),
            "1 input 'x': data: expected 8 bytes, got NULL");
  const uint64_t offsets[] = {0, 1, 2};
  EXPECT_EQ(error([&](serval_tensor& x) { x.offsets = offsets; }),
            "1 input 'x': offsets: expected NULL for FP32");
  const uint8_t missing[] = {0, 0};
  EXPECT_EQ(error([&](serval_tensor& x) { x.missing = missing; }),
            "1 input 'x': missing: expected NULL: only columns of tabular models have them");
  const uint32_t lengths[] = {1, 1};
  EXPECT_EQ(error([&](serval_tensor& x) { x.lengths = lengths; }),
            "1 input 'x': lengths: expected NULL: only columns of tabular models have them");
}

TEST_F(CapiErrorsTest, Texts) {
  const OwnModel model =
      open_model(directory_.write("text.onnx", onnx::identity(onnx::kString).to_bytes()));
  Texts given({"ab", "c"});
  serval_tensor x = given.tensor("x", SERVAL_BYTES);
  x.offsets = nullptr;
  EXPECT_EQ(infer_error(model.get(), {x}), "1 input 'x': offsets: expected 3 numbers, got NULL");
  given.offsets = {0, 2, 1};
  EXPECT_EQ(infer_error(model.get(), {given.tensor("x", SERVAL_BYTES)}),
            "1 input 'x': offsets[2]: expected 2 to bytes, 3, got 1");
  given.offsets = {0, 2, 4};
  EXPECT_EQ(infer_error(model.get(), {given.tensor("x", SERVAL_BYTES)}),
            "1 input 'x': offsets[2]: expected 2 to bytes, 3, got 4");
  given.offsets = {UINT64_MAX, 2, 3};
  EXPECT_EQ(infer_error(model.get(), {given.tensor("x", SERVAL_BYTES)}),
            "1 input 'x': offsets[1]: expected 18446744073709551615 to bytes, 3, got 2");
  EXPECT_EQ(infer_error(model.get(), {given.tensor("x", SERVAL_STRING)}),
            "1 input 'x': expected datatype BYTES, got STRING");
}

TEST_F(CapiErrorsTest, Options) {
  serval_model* model = nullptr;
  const std::string path = directory_.write("again.onnx", onnx::half_plus_three().to_bytes());
  const serval_options small{sizeof(serval_options) - 1, nullptr, 0};
  EXPECT_EQ(text_of(serval_open(path.c_str(), &small, &model)),
            "1 options.size: expected 24, got 23");
  const serval_options negative{sizeof(serval_options), nullptr, -1};
  EXPECT_EQ(text_of(serval_open(path.c_str(), &negative, &model)),
            "1 options.threads: expected 0 or more, got -1");
  const serval_options nowhere{sizeof(serval_options), "/nowhere/libonnxruntime.so", 0};
  EXPECT_EQ(text_of(serval_open(path.c_str(), &nowhere, &model)).substr(0, 3), "16 ");
  EXPECT_EQ(text_of(serval_open(nullptr, nullptr, &model)), "1 path: expected a pointer, got NULL");
  EXPECT_EQ(text_of(serval_open(path.c_str(), nullptr, nullptr)),
            "1 model: expected a pointer, got NULL");
  EXPECT_EQ(model, nullptr);
}

TEST_F(CapiErrorsTest, Files) {
  const std::string folder = directory_.write("model.txt", "text");
  const std::string top = std::filesystem::path(folder).parent_path();
  const std::string hint = ": expected an ONNX file or a folder that `serval compile` wrote";
  EXPECT_EQ(open_error(top + "/none.onnx"),
            "15 " + top + "/none.onnx: there is no such file or folder");
  EXPECT_EQ(open_error(top + "/model.txt"), "15 " + top + "/model.txt" + hint);
  EXPECT_EQ(open_error(top), "15 " + top + ": the folder has no model.serval" + hint);
  directory_.write("broken.onnx", "not a model");
  EXPECT_EQ(open_error(top + "/broken.onnx").substr(0, 3), "15 ");
  directory_.write("model.serval", "something else");
  EXPECT_EQ(open_error(top), "15 " + top +
                                 "/model.serval: expected a file that this version's "
                                 "`serval compile` wrote");
  directory_.write("model.serval", std::string("serval model 1\n\0 garbage", 24));
  EXPECT_EQ(open_error(top), "15 " + top + "/model.serval: model spec: not a valid flatbuffer");
}

}  // namespace
}  // namespace serval
