// The C interface with compiled folders: tabular models, their missing values and lists, settings
// of a specification.
#include "base/generated/engine_generated.h"
#include "capi_support.h"
#include "support/plan_build.h"

namespace serval {
namespace {

using tabular::PlanMaker;
using Type = plan::Type;

struct Folder {
  std::string backend = "tabular", path = "plan.bin";
  std::vector<int32_t> devices;

  // The bytes of a compiled folder's specification.
  std::string spec() const {
    flatbuffers::FlatBufferBuilder builder;
    const auto name = builder.CreateString("m");
    const auto backend_at = builder.CreateString(backend);
    const auto path_at = builder.CreateString(path);
    const auto devices_at = builder.CreateVector(devices);
    fb::ModelSpecBuilder spec(builder);
    spec.add_name(name);
    spec.add_backend(backend_at);
    spec.add_path(path_at);
    spec.add_devices(devices_at);
    builder.Finish(spec.Finish());
    std::string bytes("serval model 1\n\0", 16);
    return bytes.append(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                        builder.GetSize());
  }
};

class CapiTableTest : public ::testing::Test {
 protected:
  std::string write(PlanMaker& maker, const Folder& folder = {}) {
    const std::vector<uint8_t>& plan = maker.bytes();
    directory_.write("plan.bin", std::string(plan.begin(), plan.end()));
    return std::filesystem::path(directory_.write("model.serval", folder.spec())).parent_path();
  }
  // Fields that are outputs as well.
  static void pass(PlanMaker& maker, const char* name, Type type, Type element = Type::Any) {
    maker.output(std::string(name) + "_out", maker.field(name, type, element), type);
  }
  onnx::TemporaryDirectory directory_;
};

TEST_F(CapiTableTest, DescribesColumns) {
  PlanMaker maker;
  pass(maker, "age", Type::Double);
  pass(maker, "name", Type::String);
  pass(maker, "anything", Type::Any);
  const OwnModel model = open_model(write(maker));
  EXPECT_EQ(serval_is_tabular(model.get()), 1);
  ASSERT_EQ(serval_input_count(model.get(), 0), 3u);
  serval_tensor_info info{};
  EXPECT_EQ(text_of(serval_input(model.get(), 0, 0, &info)), "");
  EXPECT_STREQ(info.name, "age");
  EXPECT_EQ(info.dtype, SERVAL_FP64);
  EXPECT_EQ(info.rank, 1);
  EXPECT_EQ(text_of(serval_input(model.get(), 0, 1, &info)), "");
  EXPECT_EQ(info.dtype, SERVAL_STRING);
  EXPECT_EQ(text_of(serval_input(model.get(), 0, 2, &info)), "");
  EXPECT_EQ(info.dtype, 0);
}

TEST_F(CapiTableTest, TakesAMatrixOfAllColumns) {
  PlanMaker maker;
  maker.matrix = true;
  pass(maker, "age", Type::Double);
  pass(maker, "size", Type::Float);
  const OwnModel model = open_model(write(maker));
  const std::vector<float> values{40, 0.5F, 7, 1.5F, 9, 2.5F};
  const std::vector<int64_t> shape{3, 2};
  const OwnResult result = infer(model.get(), {numbers("x", SERVAL_FP32, values, shape)});
  ASSERT_NE(result, nullptr);
  EXPECT_EQ(values_in<double>(output_of(result, 0)), (std::vector<double>{40, 7, 9}));
  EXPECT_EQ(values_in<float>(output_of(result, 1)), (std::vector<float>{0.5F, 1.5F, 2.5F}));
  const std::vector<int64_t> wide{2, 3};
  EXPECT_EQ(
      infer_error(model.get(), {numbers("x", SERVAL_FP32, values, wide)}),
      "1 input 'x': expected a field's name, or all 2 fields in shape [2,2], got shape [2,3]");
}

TEST_F(CapiTableTest, ReturnsMissingValuesAndTexts) {
  PlanMaker maker;
  pass(maker, "age", Type::Double);
  pass(maker, "name", Type::String);
  const OwnModel model = open_model(write(maker));
  std::vector<int32_t> ages{40, 0, 7};
  const std::vector<int64_t> shape{3};
  const std::vector<uint8_t> missing{0, 1, 0};
  serval_tensor age = numbers("age", SERVAL_INT32, ages, shape);
  age.missing = missing.data();
  Texts names({"a", "", "cc"});
  const OwnResult result = infer(model.get(), {names.tensor("name", SERVAL_STRING), age});
  ages.assign(3, 0);
  names.block.assign(3, '?');
  ASSERT_EQ(serval_result_count(result.get()), 2u);
  const serval_tensor first = output_of(result, 0), second = output_of(result, 1);
  EXPECT_STREQ(first.name, "age_out");
  EXPECT_EQ(first.dtype, SERVAL_FP64);
  EXPECT_EQ(values_in<double>(first)[0], 40);
  EXPECT_EQ(values_in<double>(first)[2], 7);
  ASSERT_NE(first.missing, nullptr);
  EXPECT_EQ(std::vector<uint8_t>(first.missing, first.missing + 3), missing);
  EXPECT_EQ(second.dtype, SERVAL_STRING);
  EXPECT_EQ(second.missing, nullptr);
  EXPECT_EQ(texts_in(second, 3), (std::vector<std::string>{"a", "", "cc"}));
}

TEST_F(CapiTableTest, ListsOfDifferentLengths) {
  PlanMaker maker;
  pass(maker, "list", Type::List, Type::Double);
  const OwnModel model = open_model(write(maker));
  const std::vector<double> values{1, 2, 3};
  const std::vector<int64_t> shape{2, -1};
  const std::vector<uint32_t> lengths{1, 2};
  serval_tensor list = numbers("list", SERVAL_FP64, values, shape);
  EXPECT_EQ(infer_error(model.get(), {list}),
            "1 input 'list': lengths: expected one for each row, got NULL");
  list.lengths = lengths.data();
  const OwnResult result = infer(model.get(), {list});
  const serval_tensor out = output_of(result);
  ASSERT_EQ(out.rank, 2);
  EXPECT_EQ(out.shape[0], 2);
  EXPECT_EQ(out.shape[1], -1);
  ASSERT_NE(out.lengths, nullptr);
  EXPECT_EQ(std::vector<uint32_t>(out.lengths, out.lengths + 2), lengths);
  EXPECT_EQ(values_in<double>(out), values);
  const std::vector<uint32_t> more{2, 2};
  list.lengths = more.data();
  EXPECT_EQ(infer_error(model.get(), {list}),
            "1 input 'list': expected 32 bytes (shape [4] of FP64), got 24");
}

TEST_F(CapiTableTest, RefusesWrongColumns) {
  PlanMaker maker;
  pass(maker, "age", Type::Double);
  const OwnModel model = open_model(write(maker));
  const std::vector<double> values{1, 2};
  const std::vector<int64_t> shape{2};
  const serval_tensor good = numbers("age", SERVAL_FP64, values, shape);
  EXPECT_EQ(infer_error(model.get(), {}), "1 the request has no inputs: expected some rows");
  EXPECT_EQ(infer_error(model.get(), {good, good}), "1 input 'age' is given twice");
  serval_tensor column = good;
  column.name = "other";
  EXPECT_EQ(infer_error(model.get(), {column}),
            "1 input 'other': the model has no field of this name; expected 'age'");
  column = good;
  column.rank = 0;
  column.bytes = 8;
  EXPECT_NE(infer_error(model.get(), {column}).find("got a scalar"), std::string::npos);
  column = good;
  const uint8_t missing[] = {0, 2};
  column.missing = missing;
  EXPECT_EQ(infer_error(model.get(), {column}),
            "1 input 'age': missing[1]: expected 0 or 1, got 2");
  column = good;
  const uint32_t lengths[] = {1, 1};
  column.lengths = lengths;
  EXPECT_EQ(infer_error(model.get(), {column}),
            "1 input 'age': lengths: expected NULL, as shape is not [rows, -1]");
  const Texts texts({"x", "y"});
  EXPECT_EQ(infer_error(model.get(), {texts.tensor("age", SERVAL_STRING)}).substr(0, 2), "1 ");
}

TEST_F(CapiTableTest, RefusesPathsOutOfTheFolder) {
  PlanMaker maker;
  pass(maker, "age", Type::Double);
  for (const char* path : {"../plan.bin", "/etc/passwd", "a/../../plan.bin", ""}) {
    const std::string folder = write(maker, {.path = path});
    EXPECT_EQ(open_error(folder), "15 " + folder + "/model.serval: expected a path inside of its " +
                                      "folder, got '" + path + "'");
  }
}

TEST_F(CapiTableTest, RefusesSettingsOfServers) {
  PlanMaker maker;
  pass(maker, "age", Type::Double);
  EXPECT_EQ(open_error(write(maker, {.backend = "isolated"})),
            "11 backend: expected 'onnxruntime', 'tabular' or 'null', got 'isolated'");
  EXPECT_EQ(open_error(write(maker, {.devices = {0, 1}})),
            "11 devices: expected at most one, got 2; a server runs a model on several");
}

}  // namespace
}  // namespace serval
