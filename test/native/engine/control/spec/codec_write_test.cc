// write_model_info and write_engine_stats: what they report of a loaded model, read back with the
// generated accessors.
#include "engine/control/spec/codec.h"
#include "engine/engine_fixture.h"

namespace serval::test {
namespace {

std::shared_ptr<Model> make_model(uint32_t handle, ModelSpec spec) {
  Result<std::shared_ptr<BackendModel>> backend = make_null_backend()->load(spec);
  EXPECT_TRUE(backend.ok());
  Result<ModelShapes> shapes = ModelShapes::make(spec, backend.value()->info().signatures);
  EXPECT_TRUE(shapes.ok());
  return std::make_shared<Model>(handle, std::move(spec),
                                 std::vector<std::shared_ptr<BackendModel>>{backend.value()},
                                 std::move(shapes.value()), 77, ModelServices{});
}

ModelSpec spec_of(BatchMode mode) {
  ModelSpec spec = null_spec("m", "echo", ExecMode::Queued);
  spec.batch.mode = mode;
  spec.batch.rows_max = 8;
  return spec;
}

// Returns the table in `bytes`, or fails the test.
template <typename Table>
const Table* read(const ByteBuffer& bytes) {
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  EXPECT_TRUE(verifier.VerifyBuffer<Table>(nullptr));
  return flatbuffers::GetRoot<Table>(bytes.data());
}

TEST(WriteModelInfo, SaysWhatTheModelCameTo) {
  ByteBuffer bytes;
  const std::shared_ptr<Model> model = make_model(5, spec_of(BatchMode::On));
  ASSERT_TRUE(write_model_info(*model, bytes));
  const auto* info = read<fb::ModelInfo>(bytes);
  EXPECT_EQ(info->handle(), 5u);
  EXPECT_EQ(info->load_us(), 77);
  EXPECT_EQ(info->batch_mode(), BatchMode::On);
  EXPECT_TRUE(info->inputs_batchable());
  ASSERT_EQ(info->signatures()->size(), 1u);
  EXPECT_EQ(info->signatures()->Get(0)->inputs()->Get(0)->shape()->Get(0), -1);
}

TEST(WriteModelInfo, FixedRowsAreNotBatched) {
  ByteBuffer bytes;
  ModelSpec spec = spec_of(BatchMode::On);
  spec.batch.only_if_batchable = true;
  spec.null_signature.outputs[0].dims = {4};
  ASSERT_TRUE(write_model_info(*make_model(5, spec), bytes));
  EXPECT_EQ(read<fb::ModelInfo>(bytes)->batch_mode(), BatchMode::Off);
  EXPECT_FALSE(read<fb::ModelInfo>(bytes)->inputs_batchable());
}

TEST(WriteModelInfo, SignaturesAreThoseOfTheConfiguration) {
  ByteBuffer bytes;
  ModelSpec spec = spec_of(BatchMode::Off);
  spec.inputs.push_back({"x", {4}, {}, {}});
  ASSERT_TRUE(write_model_info(*make_model(5, spec), bytes));
  const auto* signature = read<fb::ModelInfo>(bytes)->signatures()->Get(0);
  EXPECT_EQ(signature->inputs()->Get(0)->shape()->Get(0), 4);
  EXPECT_EQ(signature->outputs()->Get(0)->shape()->Get(0), -1);
}

class WriteEngineStats : public ::testing::Test {
 protected:
  WriteEngineStats() {
    for (const uint32_t handle : {1u, 3u}) {
      models_ = models_.with(handle, make_model(handle, spec_of(BatchMode::On)));
    }
  }
  const fb::EngineStats* write(std::vector<uint32_t> handles) {
    bytes_.clear();
    EXPECT_TRUE(write_engine_stats(models_, handles, 21, 22, bytes_));
    return read<fb::EngineStats>(bytes_);
  }
  std::vector<uint32_t> written(std::vector<uint32_t> handles) {
    std::vector<uint32_t> out;
    for (const fb::ModelStats* one : *write(std::move(handles))->models()) {
      out.push_back(one->handle());
    }
    return out;
  }

  ModelsByHandle models_;  // 0 and 2 are not loaded
  ByteBuffer bytes_;
};

void expect_duration(const fb::DurationStat* got, uint64_t count, uint64_t ns) {
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(got->count(), count);
  EXPECT_EQ(got->ns(), ns);
}

TEST_F(WriteEngineStats, OfAllOrOfSome) {
  using Handles = std::vector<uint32_t>;
  EXPECT_EQ(written({}), (Handles{1, 3}));
  EXPECT_EQ(written({3}), (Handles{3}));
  EXPECT_EQ(written({3, 1}), (Handles{3, 1}));
  EXPECT_EQ(written({0, 2, 4, UINT32_MAX}), Handles{}) << "none of them is loaded";
  EXPECT_EQ(write({2})->bodies_open(), 21u);
  EXPECT_EQ(write({2})->tickets_open(), 22u);
}

TEST_F(WriteEngineStats, NothingYet) {
  const fb::ModelStats* stats = write({1})->models()->Get(0);
  EXPECT_EQ(stats->last_inference_ms(), 0u);
  EXPECT_EQ(stats->inference_count() + stats->execution_count() + stats->rejected(), 0u);
  EXPECT_EQ(stats->batches()->size(), 0u);
  expect_duration(stats->success(), 0, 0);
  expect_duration(stats->fail(), 0, 0);
}

TEST_F(WriteEngineStats, CountersAndReadings) {
  Model& model = **models_.find(1);
  model.counters().requests_inline = 1;
  model.counters().requests_queued = 2;
  model.counters().failures = 3;
  model.counters().cancelled = 4;
  model.counters().queue_full = 5;
  model.counters().queue_ns = 6;
  model.counters().compute_ns = 7;
  RequestRecord request{0, Outcome::Success, 10, 20, 30, 40, 100, 4};
  model.stats().record(request);
  request.outcome = Outcome::Rejected;
  model.stats().record(request);
  model.stats().record(request);
  model.stats().record(BatchRecord{4, 0, 21, 31, 41});
  Request waiting;
  model.queue().push(&waiting);
  const fb::ModelStats* stats = write({1})->models()->Get(0);
  EXPECT_EQ(stats->requests_inline(), 1u);
  EXPECT_EQ(stats->requests_queued(), 2u);
  EXPECT_EQ(stats->failures(), 3u);
  EXPECT_EQ(stats->cancelled(), 4u);
  EXPECT_EQ(stats->queue_full(), 5u);
  EXPECT_EQ(stats->queue_ns(), 6u);
  EXPECT_EQ(stats->compute_ns(), 7u);
  EXPECT_GT(stats->last_inference_ms(), 0u);
  EXPECT_EQ(stats->inference_count(), 4u);
  EXPECT_EQ(stats->execution_count(), 1u);
  EXPECT_EQ(stats->rejected(), 2u);
  EXPECT_EQ(stats->pending(), 1u);
  model.queue().remove(&waiting);
  expect_duration(stats->success(), 1, 100);
  expect_duration(stats->queue(), 1, 10);
  expect_duration(stats->compute_input(), 1, 20);
  expect_duration(stats->compute_infer(), 1, 30);
  expect_duration(stats->compute_output(), 1, 40);
  EXPECT_EQ(stats->fail()->count(), 2u);
  ASSERT_EQ(stats->batches()->size(), 1u);
  const fb::BatchStat* batch = stats->batches()->Get(0);
  EXPECT_EQ(batch->batch_size(), 4u);
  expect_duration(batch->compute_input(), 1, 21);
  expect_duration(batch->compute_infer(), 1, 31);
  expect_duration(batch->compute_output(), 1, 41);
}

}  // namespace
}  // namespace serval::test
