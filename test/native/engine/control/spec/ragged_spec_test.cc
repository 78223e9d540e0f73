// Ragged batches in parse_model_spec(): every member is read, wrong values are refused.
#include <gtest/gtest.h>

#include "engine/control/spec/codec.h"

namespace serval {
namespace {

struct RaggedParts {
  BatchMode mode = BatchMode::On;
  bool split = false, pad_inner = false, ragged = true;
  std::vector<uint32_t> allowed;
  std::vector<BatchInput> inputs;
  std::vector<BatchOutput> outputs;
};

Result<ModelSpec> parse_ragged(const RaggedParts& parts) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString("m");
  const auto backend = builder.CreateString("onnxruntime");
  const std::vector<uint32_t> none;
  const auto batch = fb::CreateBatchPolicyDirect(builder, parts.mode, 8, 0, &none, &parts.allowed,
                                                 0, parts.split, parts.pad_inner);
  const std::vector tensors = {
      fb::CreateTensorOverrideDirect(builder, "x", nullptr, nullptr, nullptr, false, parts.ragged)};
  const auto overrides = builder.CreateVector(tensors);
  std::vector<flatbuffers::Offset<fb::BatchInput>> inputs;
  for (const BatchInput& one : parts.inputs) {
    inputs.push_back(fb::CreateBatchInputDirect(builder, one.input.c_str(), one.kind, one.datatype,
                                                one.source.c_str()));
  }
  std::vector<flatbuffers::Offset<fb::BatchOutput>> outputs;
  for (const BatchOutput& one : parts.outputs) {
    outputs.push_back(fb::CreateBatchOutputDirect(builder, one.output.c_str(), one.source.c_str()));
  }
  const auto inputs_at = builder.CreateVector(inputs);
  const auto outputs_at = builder.CreateVector(outputs);
  fb::ModelSpecBuilder spec(builder);
  spec.add_name(name);
  spec.add_backend(backend);
  spec.add_batch(batch);
  spec.add_inputs(overrides);
  spec.add_batch_inputs(inputs_at);
  spec.add_batch_outputs(outputs_at);
  builder.Finish(spec.Finish());
  return parse_model_spec({builder.GetBufferPointer(), builder.GetSize()});
}

std::string ragged_refusal(const RaggedParts& parts) {
  const Result<ModelSpec> spec = parse_ragged(parts);
  if (spec.ok()) return "not refused";
  EXPECT_EQ(spec.error().code, ErrorCode::InvalidArgument);
  return spec.error().message;
}

constexpr auto kFlat = fb::BatchInputKind::ItemShapeFlatten;

TEST(RaggedSpec, ReadsEveryMember) {
  const Result<ModelSpec> spec =
      parse_ragged({.inputs = {{"i", kFlat, DType::Fp32, "x"}}, .outputs = {{"y", "x"}}});
  ASSERT_TRUE(spec.ok()) << spec.error().message;
  EXPECT_TRUE(spec.value().inputs[0].ragged);
  ASSERT_EQ(spec.value().batch_inputs.size(), 1u);
  const BatchInput& input = spec.value().batch_inputs[0];
  EXPECT_EQ(input.input, "i");
  EXPECT_EQ(input.kind, kFlat);
  EXPECT_EQ(input.datatype, DType::Fp32);
  EXPECT_EQ(input.source, "x");
  ASSERT_EQ(spec.value().batch_outputs.size(), 1u);
  EXPECT_EQ(spec.value().batch_outputs[0].output, "y");
  EXPECT_EQ(spec.value().batch_outputs[0].source, "x");
}

TEST(RaggedSpec, NamesWhatIsWrong) {
  EXPECT_EQ(
      ragged_refusal({.inputs = {{"i", kFlat, DType::Fp32, "x"}, {"j", kFlat, DType::Int64, "x"}}}),
      "model spec: batch_inputs[1].datatype is INT64, expected INT32 or FP32");
  EXPECT_EQ(
      ragged_refusal({.inputs = {{"i", static_cast<fb::BatchInputKind>(6), DType::Fp32, "x"}}}),
      "model spec: batch_inputs[0].kind is 6, expected 0 to 5");
  EXPECT_EQ(ragged_refusal({.inputs = {{"i", kFlat, DType::Fp32, "z"}}}),
            "model spec: batch_inputs[0].source is 'z', expected one of the inputs");
  EXPECT_EQ(ragged_refusal({.outputs = {{"y", "z"}}}),
            "model spec: batch_outputs[0].source is 'z', expected one of the inputs");
  const std::string policy =
      "model spec: batch has mode auto, split, pad_inner or allowed_rows, expected none of them "
      "for a model with ragged inputs";
  EXPECT_EQ(ragged_refusal({.mode = BatchMode::Auto}), policy);
  EXPECT_EQ(ragged_refusal({.split = true}), policy);
  EXPECT_EQ(ragged_refusal({.pad_inner = true}), policy);
  EXPECT_EQ(ragged_refusal({.allowed = {4, 8}}), policy);
  EXPECT_EQ(ragged_refusal({.split = true, .ragged = false}), "not refused");
}

}  // namespace
}  // namespace serval
