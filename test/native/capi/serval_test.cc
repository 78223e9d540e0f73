// The C interface with ONNX models: descriptions, answers, ownership, threads.
#include <atomic>
#include <thread>

#include "capi_support.h"

namespace serval {
namespace {

class CapiTest : public ::testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_ONNXRUNTIME(); }
  OwnModel load(const onnx::Model& model) {
    return open_model(directory_.write("model.onnx", model.to_bytes()));
  }
  onnx::TemporaryDirectory directory_;
};

TEST(CapiNames, VersionAndDatatypes) {
  EXPECT_EQ(serval_abi_version(), uint32_t{SERVAL_ABI_VERSION});
  EXPECT_STREQ(serval_dtype_name(SERVAL_FP32), "FP32");
  EXPECT_STREQ(serval_dtype_name(SERVAL_TIMESTAMP), "TIMESTAMP");
  EXPECT_EQ(serval_dtype_name(0), nullptr);
  EXPECT_EQ(serval_dtype_name(SERVAL_TIMESTAMP + 1), nullptr);
  EXPECT_EQ(serval_dtype_name(-1), nullptr);
}

TEST(CapiNames, NullObjectsAreFreedAndDescribed) {
  serval_error_free(nullptr);
  serval_close(nullptr);
  serval_result_free(nullptr);
  EXPECT_EQ(serval_error_code(nullptr), SERVAL_OK);
  EXPECT_STREQ(serval_error_message(nullptr), "");
  EXPECT_EQ(serval_signature_count(nullptr), 0u);
  EXPECT_EQ(serval_signature_name(nullptr, 0), nullptr);
  EXPECT_EQ(serval_input_count(nullptr, 0), 0u);
  EXPECT_EQ(serval_output_count(nullptr, 0), 0u);
  EXPECT_EQ(serval_is_tabular(nullptr), 0);
  EXPECT_EQ(serval_result_count(nullptr), 0u);
}

TEST_F(CapiTest, DescribesInputsAndOutputs) {
  const OwnModel model = load(onnx::half_plus_three());
  ASSERT_EQ(serval_signature_count(model.get()), 1u);
  EXPECT_STREQ(serval_signature_name(model.get(), 0), "serving_default");
  EXPECT_EQ(serval_signature_name(model.get(), 1), nullptr);
  EXPECT_EQ(serval_is_tabular(model.get()), 0);
  ASSERT_EQ(serval_input_count(model.get(), 0), 1u);
  ASSERT_EQ(serval_output_count(model.get(), 0), 1u);
  EXPECT_EQ(serval_input_count(model.get(), 1), 0u);
  serval_tensor_info info{};
  EXPECT_EQ(text_of(serval_input(model.get(), 0, 0, &info)), "");
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.dtype, SERVAL_FP32);
  ASSERT_EQ(info.rank, 1);
  EXPECT_EQ(info.shape[0], -1);
  EXPECT_EQ(info.optional, 0);
  EXPECT_EQ(text_of(serval_output(model.get(), 0, 0, &info)), "");
  EXPECT_STREQ(info.name, "y");
  EXPECT_EQ(text_of(serval_input(model.get(), 0, 1, &info)),
            "1 index: expected an index below 1, got 1");
  EXPECT_EQ(text_of(serval_output(model.get(), 2, 0, &info)),
            "1 signature: expected an index below 1, got 2");
  EXPECT_EQ(text_of(serval_input(model.get(), 0, 0, nullptr)),
            "1 info: expected a pointer, got NULL");
  EXPECT_EQ(text_of(serval_input(nullptr, 0, 0, &info)), "1 model: expected a pointer, got NULL");
}

TEST_F(CapiTest, RunsAndReadsInPlace) {
  const OwnModel model = load(onnx::half_plus_three());
  const std::vector<float> x{1, 2, 5};
  const std::vector<int64_t> shape{3};
  const OwnResult result = infer(model.get(), {numbers("x", SERVAL_FP32, x, shape)});
  ASSERT_EQ(serval_result_count(result.get()), 1u);
  const serval_tensor y = output_of(result);
  EXPECT_STREQ(y.name, "y");
  EXPECT_EQ(y.dtype, SERVAL_FP32);
  ASSERT_EQ(y.rank, 1);
  EXPECT_EQ(y.shape[0], 3);
  EXPECT_EQ(y.offsets, nullptr);
  EXPECT_EQ(y.missing, nullptr);
  EXPECT_EQ(values_in<float>(y), (std::vector<float>{3.5, 4, 5.5}));
  EXPECT_EQ(output_of(result).data, y.data);
  serval_tensor output{};
  EXPECT_EQ(text_of(serval_result_output(result.get(), 1, &output)),
            "1 index: expected an index below 1, got 1");
  EXPECT_EQ(text_of(serval_result_output(result.get(), 0, nullptr)),
            "1 output: expected a pointer, got NULL");
  EXPECT_EQ(text_of(serval_result_output(nullptr, 0, &output)),
            "1 result: expected a pointer, got NULL");
}

TEST_F(CapiTest, ResultsOutliveTheModelAndLaterRuns) {
  OwnModel model = load(onnx::half_plus_three());
  std::vector<OwnResult> results;
  const std::vector<int64_t> shape{1};
  for (int i = 0; i < 100; ++i) {
    const std::vector<float> x{static_cast<float>(i)};
    results.push_back(infer(model.get(), {numbers("x", SERVAL_FP32, x, shape)}));
  }
  model.reset();
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(values_in<float>(output_of(results[i])),
              (std::vector<float>{static_cast<float>(i) / 2 + 3}));
  }
}

TEST_F(CapiTest, OutputsAreNotInTheCallersMemory) {
  const OwnModel model = load(onnx::identity(onnx::kFloat));
  std::vector<float> x{1, 2};
  const std::vector<int64_t> shape{2};
  const OwnResult result = infer(model.get(), {numbers("x", SERVAL_FP32, x, shape)});
  x.assign(2, 9);
  EXPECT_EQ(values_in<float>(output_of(result)), (std::vector<float>{1, 2}));
}

TEST_F(CapiTest, TextsAreOneBlock) {
  const OwnModel model = load(onnx::identity(onnx::kString));
  const Texts given({"h\xc3\xa9", "", std::string("a\0b", 3)});
  const OwnResult result = infer(model.get(), {given.tensor("x", SERVAL_BYTES)});
  const serval_tensor y = output_of(result);
  EXPECT_EQ(y.dtype, SERVAL_BYTES);
  EXPECT_EQ(y.bytes, 6u);
  EXPECT_EQ(texts_in(y, 3), (std::vector<std::string>{"h\xc3\xa9", "", std::string("a\0b", 3)}));
  const OwnResult none = infer(model.get(), {Texts({}).tensor("x", SERVAL_BYTES)});
  EXPECT_EQ(output_of(none).shape[0], 0);
}

TEST_F(CapiTest, MisalignedNumbersAreAccepted) {
  const OwnModel model = load(onnx::half_plus_three());
  const std::vector<float> x{1, 2};
  std::vector<uint8_t> bytes(9);
  std::memcpy(bytes.data() + 1, x.data(), 8);
  const std::vector<int64_t> shape{2};
  serval_tensor tensor = numbers("x", SERVAL_FP32, x, shape);
  tensor.data = bytes.data() + 1;
  EXPECT_EQ(values_in<float>(output_of(infer(model.get(), {tensor}))),
            (std::vector<float>{3.5, 4}));
}

TEST_F(CapiTest, ThreadsShareAModel) {
  const OwnModel model = load(onnx::half_plus_three());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      const std::vector<int64_t> shape{2};
      OwnResult kept;
      for (int i = 0; i < 100; ++i) {
        const std::vector<float> x{static_cast<float>(thread), static_cast<float>(i)};
        OwnResult result;
        const std::string error =
            try_infer(model.get(), {numbers("x", SERVAL_FP32, x, shape)}, result);
        const std::vector<float> expected{x[0] / 2 + 3, x[1] / 2 + 3};
        if (!error.empty() || values_in<float>(output_of(result)) != expected) ++wrong;
        if (i % 3 == 0) kept = std::move(result);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(CapiTest, ThreadsOpenAndCloseModels) {
  const std::string path = directory_.write("model.onnx", onnx::half_plus_three().to_bytes());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        const OwnModel model = open_model(path);
        const std::vector<float> x{1};
        const std::vector<int64_t> shape{1};
        EXPECT_EQ(
            values_in<float>(output_of(infer(model.get(), {numbers("x", SERVAL_FP32, x, shape)}))),
            (std::vector<float>{3.5}));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace serval
