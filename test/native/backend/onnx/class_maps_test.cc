// Outputs of ZipMap become tensors with labels; other outputs are unchanged; the runtime's own
// format is refused.
#include "backend/onnx/class_maps.h"

#include "support/onnxruntime_fixture.h"

namespace serval {
namespace {

using onnx::Dim;
using Dims = std::vector<Dim>;

const onnx::Message kMaps = onnx::sequence_type(
    onnx::map_type(onnx::kString, onnx::tensor_type(onnx::kFloat, std::nullopt)));

onnx::Message strings(const std::vector<std::string>& values) {
  onnx::Message message;
  message.bytes(1, "classlabels_strings");
  for (const std::string& value : values) message.bytes(9, value);
  return message.varint(20, 8);
}

// p = the maps of x; y = x.
onnx::Model zipped(const std::vector<onnx::Message>& attributes) {
  onnx::Model model;
  model.domains.emplace_back("ai.onnx.ml", 1);
  model.node("Identity", {"x"}, {"y"}).node("Identity", {"x"}, {"scores"});
  model.node("ZipMap", {"scores"}, {"p"}, attributes, "ai.onnx.ml");
  model.input("x", onnx::kFloat, Dims{std::string("n"), int64_t{2}}).output("p", kMaps);
  return model.output("y", onnx::kFloat, Dims{std::string("n"), int64_t{2}});
}

ort::UnzippedModel unzip(const onnx::Model& model) {
  return ort::unzip_outputs(ort::bytes_of(model.to_bytes()));
}

using ClassMaps = OnnxRuntimeTest;

TEST_F(ClassMaps, AreTensorsWithLabels) {
  const auto model = load(zipped({strings({"no", "yes"})}));
  ASSERT_TRUE(model);
  const Signature& signature = model->info().signatures[0];
  ASSERT_EQ(signature.outputs.size(), 2u);
  EXPECT_EQ(signature.outputs[0].name, "p");
  EXPECT_EQ(signature.outputs[0].dims, (std::vector<int64_t>{-1, 2}));
  EXPECT_EQ(signature.outputs[0].labels, (std::vector<std::string>{"no", "yes"}));
  EXPECT_TRUE(model->info().notes.empty());
  const TestTensor<float> x(DType::Fp32, {2, 2}, {1, 2, 3, 4});
  const auto scratch = model->make_scratch();
  ASSERT_TRUE(run(*model, *scratch, {x.view()}).ok());
  EXPECT_EQ(values_of<float>(scratch->outputs()[0]), x.values);
}

TEST_F(ClassMaps, OtherSequencesAreLeftOutWithANote) {
  onnx::Model model = zipped({strings({"no", "yes"})});
  model.node("SequenceConstruct", {"x"}, {"list"});
  model.output("list", onnx::sequence_type(onnx::tensor_type(onnx::kFloat, std::nullopt)));
  const auto loaded = load(model);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->info().signatures[0].outputs.size(), 2u);
  ASSERT_EQ(loaded->info().notes.size(), 1u);
  EXPECT_NE(loaded->info().notes[0].find("output \"list\" is of type sequence"), std::string::npos);
}

TEST_F(ClassMaps, TheRuntimesOwnFormatIsRefused) {
  const std::string path = directory_.write("model.onnx", std::string("\x18\0\0\0ORTM", 8));
  EXPECT_NE(load_error(path).message.find("ONNX Runtime's own format"), std::string::npos);
}

TEST(UnzipOutputs, LeavesWhatItCannotName) {
  EXPECT_TRUE(unzip(onnx::half_plus_three()).bytes.empty());
  EXPECT_TRUE(unzip(zipped({})).bytes.empty()) << "no classes";
  EXPECT_TRUE(unzip(zipped({strings({"no", "\xff"})})).bytes.empty()) << "no text";
  onnx::Model used = zipped({strings({"no", "yes"})});
  used.node("SequenceLength", {"p"}, {"count"});
  EXPECT_TRUE(unzip(used).bytes.empty()) << "another operator takes the maps";
  EXPECT_FALSE(unzip(zipped({strings({"no", "yes"})})).bytes.empty());
}

TEST(UnzipOutputs, TakesAnyBytes) {
  const std::string good = zipped({strings({"no", "yes"})}).to_bytes();
  for (size_t size = 0; size < good.size(); ++size) {
    (void)ort::unzip_outputs(ort::bytes_of(std::string_view(good).substr(0, size)));
  }
  for (size_t at = 0; at < good.size(); ++at) {
    for (const char flip : {'\x01', '\x08', '\x7f'}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ flip);
      (void)ort::unzip_outputs(ort::bytes_of(bad));
    }
  }
}

}  // namespace
}  // namespace serval
