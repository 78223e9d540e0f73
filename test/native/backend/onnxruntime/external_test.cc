// Weights in external data files. They are read when the model is loaded, so later changes to the
// file have no effect; and files that are refused.
#include <unistd.h>

#include <filesystem>

#include "support/onnxruntime_fixture.h"

namespace serval {
namespace {

using onnx::Dim;
using Dims = std::vector<Dim>;
using External = OnnxRuntimeTest;

constexpr int64_t kWeights = 1 << 20;

std::string bytes_of_floats(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// y = x + w, both with kWeights floats.
onnx::Model adder(std::string_view file) {
  onnx::Model model;
  model.external_initializer("w", onnx::kFloat, {kWeights}, file);
  model.node("Add", {"x", "w"}, {"y"}).input("x", onnx::kFloat, Dims{kWeights});
  return model.output("y", onnx::kFloat, Dims{kWeights});
}

class Ones {
 public:
  Ones() : tensor_(DType::Fp32, {kWeights}, std::vector<float>(kWeights, 1)) {}
  const TensorView& view() const { return tensor_.view(); }

 private:
  const TestTensor<float> tensor_;
};

TEST_F(External, AFileThatIsCutOrOverwrittenChangesNothing) {
  const std::string seven = bytes_of_floats(std::vector<float>(kWeights, 7));
  const std::string file = directory_.write("w.bin", seven);
  const auto model = load(adder("w.bin"));
  ASSERT_TRUE(model);
  EXPECT_GT(model->info().file_bytes, kWeights * 4);
  const Ones ones;
  const std::vector<float> eight(kWeights, 8);
  const auto answers = [&] {
    const auto scratch = model->make_scratch();
    const Status status = run(*model, *scratch, {ones.view()});
    return status.ok() ? values_of<float>(scratch->outputs()[0]) : std::vector<float>{};
  };
  directory_.write("w.bin", std::string(seven.size(), 'x'));
  EXPECT_TRUE(answers() == eight);
  ASSERT_EQ(truncate(file.c_str(), 0), 0);
  EXPECT_TRUE(answers() == eight);
  ASSERT_EQ(unlink(file.c_str()), 0);
  EXPECT_TRUE(answers() == eight);
}

// backend.cc passes such a folder for engines beside a model that is given as bytes.
TEST_F(External, AFolderForOtherFilesChangesNothing) {
  directory_.write("w.bin", bytes_of_floats(std::vector<float>(kWeights, 7)));
  ModelSpec spec;
  spec.session_config = {{"session.model_external_initializers_file_folder_path", "/nowhere/"}};
  const auto model = load(adder("w.bin"), spec);
  ASSERT_TRUE(model);
  const auto scratch = model->make_scratch();
  const Ones ones;
  ASSERT_TRUE(run(*model, *scratch, {ones.view()}).ok());
  EXPECT_EQ(values_of<float>(scratch->outputs()[0])[0], 8);
}

size_t resident_bytes() {
  size_t pages = 0, resident = 0;
  FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  const int read = std::fscanf(file, "%zu %zu", &pages, &resident);
  std::fclose(file);
  return read == 2 ? resident * static_cast<size_t>(sysconf(_SC_PAGESIZE)) : 0;
}

// A MatMul keeps its weights in its own order; the weights that were read are then released.
TEST_F(External, WeightsAreHeldOnce) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizers keep freed memory";
#endif
  constexpr int64_t kSide = 4096;
  constexpr size_t kBytes = kSide * kSide * sizeof(float);
  directory_.write("w.bin", bytes_of_floats(std::vector<float>(kSide * kSide, 0.5f)));
  ASSERT_TRUE(load(adder("w.bin")));  // the memory that the first model of a process needs
  onnx::Model product;
  product.external_initializer("w", onnx::kFloat, {kSide, kSide}, "w.bin");
  product.node("MatMul", {"x", "w"}, {"y"});
  product.input("x", onnx::kFloat, Dims{std::string("n"), kSide});
  product.output("y", onnx::kFloat, std::nullopt);
  const size_t before = resident_bytes();
  const auto model = load(product);
  ASSERT_TRUE(model);
  EXPECT_LT(resident_bytes() - before, kBytes + kBytes / 2);
  const TestTensor<float> x(DType::Fp32, {1, kSide}, std::vector<float>(kSide, 1));
  const auto scratch = model->make_scratch();
  const Status status = run(*model, *scratch, {x.view()});
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(values_of<float>(scratch->outputs()[0])[7], kSide / 2);
}

TEST_F(External, GuardsAndExternalDataGoTogether) {
  directory_.write("w.bin", bytes_of_floats({2, 4}));
  onnx::Model model;
  model.external_initializer("w", onnx::kFloat, {2}, "w.bin");
  model.node("Add", {"x", "w"}, {"s"}).node("Div", {"a", "b"}, {"q"});
  model.input("x", onnx::kFloat, Dims{int64_t{2}}).output("s", onnx::kFloat, Dims{int64_t{2}});
  model.input("a", onnx::kInt32, Dims{}).input("b", onnx::kInt32, Dims{});
  model.output("q", onnx::kInt32, Dims{});
  const auto loaded = load(model);
  ASSERT_TRUE(loaded);
  const auto scratch = loaded->make_scratch();
  const TestTensor<float> x(DType::Fp32, {2}, {1, 1});
  const TestTensor<int32_t> a(DType::Int32, {}, {6}), b(DType::Int32, {}, {-4});
  ASSERT_TRUE(run(*loaded, *scratch, {x.view(), a.view(), b.view()}).ok());
  EXPECT_EQ(values_of<float>(scratch->outputs()[0]), (std::vector<float>{3, 5}));
  EXPECT_EQ(values_of<int32_t>(scratch->outputs()[1]), std::vector<int32_t>{-1});
}

// A branch of If with an external initializer.
TEST_F(External, TensorsInBodiesAreReadToo) {
  const std::string file = directory_.write("w.bin", bytes_of_floats({2, 4}));
  onnx::Model inner;
  inner.external_initializer("w", onnx::kFloat, {2}, "w.bin");
  inner.node("Add", {"x", "w"}, {"s"}).output("s", onnx::kFloat, Dims{int64_t{2}});
  onnx::Message body = inner.graph;
  body.bytes(2, "body");
  const auto branch = [&body](std::string_view name) {
    return onnx::Message().bytes(1, name).message(6, body).varint(20, 5);
  };
  onnx::Model model;
  model.node("If", {"c"}, {"y"}, {branch("then_branch"), branch("else_branch")});
  model.input("c", onnx::kBool, Dims{}).input("x", onnx::kFloat, Dims{int64_t{2}});
  model.output("y", onnx::kFloat, Dims{int64_t{2}});
  const auto loaded = load(model);
  ASSERT_TRUE(loaded);
  ASSERT_EQ(truncate(file.c_str(), 0), 0);
  const auto scratch = loaded->make_scratch();
  const TestTensor<uint8_t> yes(DType::Bool, {}, {1});
  const TestTensor<float> x(DType::Fp32, {2}, {1, 1});
  ASSERT_TRUE(run(*loaded, *scratch, {yes.view(), x.view()}).ok());
  EXPECT_EQ(values_of<float>(scratch->outputs()[0]), (std::vector<float>{3, 5}));
}

TEST_F(External, AFileThatIsTooShortIsRefused) {
  directory_.write("w.bin", "1234");
  const Error error = load_error(adder("w.bin"));
  EXPECT_EQ(error.code, ErrorCode::ModelInvalid);
  EXPECT_NE(error.message.find("the file ends after 4"), std::string::npos) << error.message;
}

TEST_F(External, FilesOutsideTheModelsFolderAreRefused) {
  const onnx::TemporaryDirectory other;
  const std::string seven = bytes_of_floats(std::vector<float>(kWeights, 7));
  const std::string outside = other.write("w.bin", seven);
  std::filesystem::create_symlink(outside, directory_.path("link.bin"));
  const std::filesystem::path folder = std::filesystem::path(outside).parent_path();
  const std::string climb = "../" + folder.filename().string();
  for (const std::string& file : {outside, climb + "/w.bin", std::string("link.bin")}) {
    const Error error = load_error(adder(file));
    EXPECT_EQ(error.code, ErrorCode::ModelInvalid);
    EXPECT_NE(error.message.find("folder"), std::string::npos) << error.message;
  }
}

TEST_F(External, AModelThatIsALinkHasItsDataBesideTheTarget) {
  const onnx::TemporaryDirectory other;
  const std::string data = other.write("blob-w", bytes_of_floats(std::vector<float>(kWeights, 7)));
  const std::string target = other.write("blob-m", adder("w.bin").to_bytes());
  std::filesystem::create_symlink(data, directory_.path("w.bin"));
  std::filesystem::create_symlink(target, directory_.path("model.onnx"));
  const auto loaded = try_load(directory_.path("model.onnx"));
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
}

}  // namespace
}  // namespace serval
