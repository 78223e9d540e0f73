// Ragged batches in the engine: requests of different shapes run together and are answered as if
// alone. The model is ONNX: it adds up each request's elements by their accumulated counts.
#include <map>
#include <random>
#include <set>

#include "engine/engine_fixture.h"
#include "engine/ragged/ragged_model.h"
#include "support/onnxruntime_fixture.h"

namespace serval::test {
namespace {

using Kind = fb::BatchInputKind;

EngineOptions ragged_options() {
  EngineOptions options;
  options.onnxruntime_library = onnxruntime_library();
  return options;
}

// x [elements], bias [rows, 1], ENDS [requests] -> sum [requests, 1] of each request's elements;
// rest [elements]: x - sum of its request; shifted [rows, 1]: bias + 1.
onnx::Model segment_sums() {
  onnx::Model model;
  model.opset = 18;
  model.ir_version = 8;
  const auto scalar = [&](const std::string& name, int64_t value) {
    model.initializer<int64_t>(name, onnx::kInt64, {}, {value});
  };
  const auto list = [&](const std::string& name, int64_t value) {
    model.initializer<int64_t>(name, onnx::kInt64, {1}, {value});
  };
  scalar("zero", 0);
  scalar("one", 1);
  list("first", 0);
  list("second", 1);
  model.initializer<float>("step", onnx::kFloat, {}, {1.0f});
  const auto to_int64 = onnx::attribute("to", int64_t{onnx::kInt64});
  model.node("Size", {"x"}, {"count"});
  model.node("Range", {"zero", "count", "one"}, {"places"});
  model.node("Unsqueeze", {"places", "second"}, {"columns"});
  model.node("Cast", {"ENDS"}, {"ends"}, {to_int64});
  model.node("Unsqueeze", {"ends", "first"}, {"row"});
  model.node("LessOrEqual", {"row", "columns"}, {"passed"});
  model.node("Cast", {"passed"}, {"ones"}, {to_int64});
  model.node("ReduceSum", {"ones", "second"}, {"owners"},
             {onnx::attribute("keepdims", int64_t{0})});
  model.node("Shape", {"ends"}, {"requests"});
  model.node("ConstantOfShape", {"requests"}, {"zeros"});
  const onnx::Message add = onnx::Message().bytes(1, "reduction").bytes(4, "add").varint(20, 3);
  model.node("ScatterElements", {"zeros", "owners", "x"}, {"sums"}, {add});
  model.node("Unsqueeze", {"sums", "second"}, {"sum"});
  model.node("Gather", {"sums", "owners"}, {"own_sums"});
  model.node("Sub", {"x", "own_sums"}, {"rest"});
  model.node("Add", {"bias", "step"}, {"shifted"});
  model.input("x", onnx::kFloat, std::vector<onnx::Dim>{std::string("elements")});
  model.input("bias", onnx::kFloat, std::vector<onnx::Dim>{std::string("rows"), int64_t{1}});
  model.input("ENDS", onnx::kInt32, std::vector<onnx::Dim>{std::string("requests")});
  model.output("sum", onnx::kFloat, std::vector<onnx::Dim>{std::string("requests"), int64_t{1}});
  model.output("rest", onnx::kFloat, std::vector<onnx::Dim>{std::string("elements")});
  model.output("shifted", onnx::kFloat, std::vector<onnx::Dim>{std::string("rows"), int64_t{1}});
  return model;
}

std::string ragged_body(const std::vector<float>& values, int64_t rows, const std::string& bias) {
  std::string data;
  for (const float value : values) data += (data.empty() ? "" : ",") + std::to_string(value);
  const int64_t columns = rows == 0 ? 0 : static_cast<int64_t>(values.size()) / rows;
  return R"({"inputs":[{"name":"x","datatype":"FP32","shape":[)" + std::to_string(rows) + "," +
         std::to_string(columns) + R"(],"data":[)" + data +
         R"(]},{"name":"bias","datatype":"FP32","shape":[)" + std::to_string(rows) +
         R"(,1],"data":[)" + bias + "]}]}";
}

class RaggedTest : public EngineTest {
 protected:
  RaggedTest() : EngineTest(ragged_options()) {}
  void SetUp() override { SKIP_WITHOUT_ONNXRUNTIME(); }

  ModelSpec spec_of(BatchMode mode) {
    ModelSpec spec;
    spec.name = "m";
    spec.version = 1;
    spec.backend = "onnxruntime";
    spec.path = directory_.write("model.onnx", segment_sums().to_bytes());
    spec.exec_mode = ExecMode::Queued;
    spec.batch_dim = true;
    spec.batch.mode = mode;
    spec.batch.rows_max = 8;
    spec.batch.request_rows_max = 8;
    spec.batch.delay_us = 2'000;
    spec.inputs = {{"x", {-1, -1}, {}, {}, false, true}, {"bias", {-1, 1}, {}, {}, false, false}};
    spec.outputs = {{"rest", {-1, -1}, {}, {}, false, false}};
    spec.batch_inputs = {{"ENDS", Kind::AccumulatedElementCount, DType::Int32, "x"}};
    spec.batch_outputs = {{"rest", "x"}};
    return spec;
  }
  std::pair<ErrorCode, std::string> take() {
    Request* done = next();
    if (done == nullptr) return {ErrorCode::Internal, "no completion"};
    taken_ = lane_->slots().ticket_of(*done);
    std::pair<ErrorCode, std::string> outcome{done->code, text(*done)};
    lane_->slots().release(*done);
    return outcome;
  }
  std::pair<ErrorCode, std::string> ask(uint32_t handle, const std::string& body) {
    EXPECT_TRUE(lane_->infer(Protocol::V2Rest, handle, bytes_of(body), -1).pending);
    return take();
  }
  std::string refused(ModelSpec spec) {
    const Result<uint32_t> ticket = lane_->open_control();
    engine_->load(std::move(spec), *lane_->slots().find(ticket.value()), lane_->home());
    const auto [code, why] = take();
    EXPECT_EQ(code, ErrorCode::ModelInvalid) << why;
    return why;
  }
  Model& model(uint32_t handle) { return **engine_->published()->find(handle); }

  onnx::TemporaryDirectory directory_;
  uint32_t taken_ = 0;
};

TEST_F(RaggedTest, ClientsSeeTheConfigurationsShapes) {
  const uint32_t handle = load(spec_of(BatchMode::On));
  const Signature& signature = model(handle).signatures()[0];
  ASSERT_EQ(signature.inputs.size(), 2u) << "ENDS is computed";
  EXPECT_EQ(dims_text(signature.inputs[0]), "[-1,-1]");
  EXPECT_EQ(dims_text(signature.outputs[1]), "[-1,-1]");
  const auto [code, answer] = ask(handle, ragged_body({1, 2, 4}, 1, "5"));
  EXPECT_EQ(code, ErrorCode::Ok) << answer;
  EXPECT_NE(answer.find(R"("shape":[1,1],"data":[7.0])"), std::string::npos) << answer;
  EXPECT_NE(answer.find(R"("shape":[1,3],"data":[-6.0,-5.0,-3.0])"), std::string::npos) << answer;
  EXPECT_NE(answer.find(R"("data":[6.0])"), std::string::npos) << answer;
}

// Random requests, answered together, get the bytes that they get alone: outputs with the rows of
// the batch, with the elements of an input, and of an input that is not ragged. Requests of several
// rows have one count, so their batches are split only by running each request.
TEST_F(RaggedTest, JoinedRequestsAreAnsweredAsAlone) {
  const uint32_t alone = load(spec_of(BatchMode::Off));
  const uint32_t joined = load(spec_of(BatchMode::On));
  std::mt19937 random(7);
  std::uniform_real_distribution<float> values(-9, 9);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::string> bodies;
    for (int i = 0; i < 12; ++i) {
      const int64_t rows = round % 3 == 2 && random() % 4 == 0 ? 2 : 1;
      std::vector<float> x(static_cast<size_t>(rows) * (random() % 7));
      for (float& value : x) value = values(random);
      bodies.push_back(ragged_body(x, rows, rows == 1 ? std::to_string(i) : "1,2"));
    }
    std::vector<std::string> answers;
    for (const std::string& body : bodies) {
      auto [code, answer] = ask(alone, body);
      ASSERT_EQ(code, ErrorCode::Ok) << answer;
      answers.push_back(std::move(answer));
    }
    std::map<uint32_t, std::string> expected;
    for (size_t i = 0; i < bodies.size(); ++i) {
      const Answer sent = lane_->infer(Protocol::V2Rest, joined, bytes_of(bodies[i]), -1);
      ASSERT_TRUE(sent.pending);
      expected[sent.ticket] = answers[i];
    }
    for (size_t i = 0; i < bodies.size(); ++i) {
      const auto [code, answer] = take();
      EXPECT_EQ(code, ErrorCode::Ok) << answer;
      EXPECT_EQ(answer, expected[taken_]);
    }
  }
  const StatsReading reading = model(joined).stats().read();
  EXPECT_EQ(reading.success.count, 360u);
  EXPECT_LT(reading.execution_count, 300u) << "some ran together";
  for (const BatchReading& batch : reading.batches) EXPECT_LE(batch.batch_size, 8u);
}

TEST_F(RaggedTest, OneBadRequestHarmsNobody) {
  const uint32_t handle = load(spec_of(BatchMode::On));
  const std::vector<std::pair<std::string, ErrorCode>> sent = {
      {ragged_body({1, 2}, 1, "1"), ErrorCode::Ok},
      {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,3],"data":[1]}]})",
       ErrorCode::InvalidArgument},
      {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[3],"data":[1,2,3]},{"name":"bias",)"
       R"("datatype":"FP32","shape":[3,1],"data":[1,2,3]}]})",
       ErrorCode::InvalidArgument},
      {R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2,1],"data":[1,2]},{"name":"bias",)"
       R"("datatype":"FP32","shape":[1,1],"data":[1]}]})",
       ErrorCode::InvalidArgument},
      {ragged_body({1, 2, 3, 4, 5, 6, 7, 8, 9}, 9, "1,2,3,4,5,6,7,8,9"),
       ErrorCode::InvalidArgument},
      {ragged_body({5}, 1, "1"), ErrorCode::Ok}};
  std::map<uint32_t, ErrorCode> expected;
  for (const auto& [body, code] : sent) {
    const Answer answer = lane_->infer(Protocol::V2Rest, handle, bytes_of(body), -1);
    ASSERT_TRUE(answer.pending);
    expected[answer.ticket] = code;
  }
  for (size_t i = 0; i < sent.size(); ++i) {
    const auto [code, answer] = take();
    EXPECT_EQ(code, expected[taken_]) << answer;
  }
}

// Three requests whose claims add up to the output's elements, though those of two are wrong.
TEST_F(RaggedTest, NoRequestClaimsOthersElements) {
  ModelSpec spec = spec_of(BatchMode::On);
  spec.batch.delay_us = 50'000;
  spec.inputs[0].dims = {-1, -1, -1};
  spec.outputs[0].dims = {-1, -1};
  const uint32_t handle = load(std::move(spec));
  const auto body = [](const std::string& shape, const std::string& data) {
    return R"({"inputs":[{"name":"x","datatype":"FP32","shape":[1,)" + shape + R"(],"data":[)" +
           data + R"(]},{"name":"bias","datatype":"FP32","shape":[1,1],"data":[0]}]})";
  };
  const std::string claims[] = {body("3,0", ""), body("4611686018427387904,0", ""),
                                body("4611686018427387901,0", ""), body("3,2", "1,2,3,4,5,6")};
  for (const std::string& claim : claims) {
    std::set<uint32_t> wrong;
    const auto send = [&](const std::string& text) {
      const Answer sent = lane_->infer(Protocol::V2Rest, handle, bytes_of(text), -1);
      EXPECT_TRUE(sent.pending);
      return sent.ticket;
    };
    wrong.insert(send(body("3,0", "")));
    const uint32_t right = send(body("3,1", "41,42,43"));
    wrong.insert(send(claim));
    for (int i = 0; i < 3; ++i) {
      const auto [code, answer] = take();
      if (taken_ != right) {
        EXPECT_EQ(code, ErrorCode::BackendFailed) << answer;
        continue;
      }
      EXPECT_EQ(code, ErrorCode::Ok) << answer;
      EXPECT_NE(answer.find(R"("shape":[1,3],"data":[-85.0,-84.0,-83.0])"), std::string::npos)
          << answer;
    }
  }
  const auto [code, answer] = ask(handle, body("3,1", "1,2,3"));
  EXPECT_EQ(code, ErrorCode::Ok) << answer;
}

TEST_F(RaggedTest, ACancelledRequestLeavesTheOthers) {
  ModelSpec spec = spec_of(BatchMode::On);
  spec.batch.delay_us = 50'000;
  const uint32_t handle = load(std::move(spec));
  std::set<uint32_t> open;
  for (int i = 0; i < 3; ++i) {
    const std::string body =
        ragged_body(std::vector<float>(static_cast<size_t>(i + 1), 1.0f), 1, "1");
    const Answer sent = lane_->infer(Protocol::V2Rest, handle, bytes_of(body), -1);
    ASSERT_TRUE(sent.pending);
    open.insert(sent.ticket);
  }
  const uint32_t gone = *open.begin();
  if (lane_->cancel(gone)) open.erase(gone);
  while (!open.empty()) {
    const auto [code, answer] = take();
    EXPECT_TRUE(taken_ == gone || code == ErrorCode::Ok) << answer;
    open.erase(taken_);
  }
}

TEST_F(RaggedTest, AnOutputMustHaveTheElementsOfItsSource) {
  ModelSpec spec = spec_of(BatchMode::Off);
  spec.batch_outputs = {{"rest", "bias"}};
  const uint32_t handle = load(std::move(spec));
  const auto [code, answer] = ask(handle, ragged_body({1, 2}, 1, "1"));
  EXPECT_EQ(code, ErrorCode::BackendFailed);
  EXPECT_NE(answer.find("output 'rest' has shape [2], expected the elements of [1,1]: input 'bias' "
                        "determines it"),
            std::string::npos)
      << answer;
}

TEST_F(RaggedTest, NamesWhatContradictsTheModel) {
  const auto why = [&](const std::function<void(ModelSpec&)>& change) {
    ModelSpec spec = spec_of(BatchMode::On);
    change(spec);
    return refused(std::move(spec));
  };
  const auto expect = [&](const std::string& text, const std::function<void(ModelSpec&)>& change) {
    const std::string got = why(change);
    EXPECT_NE(got.find(text), std::string::npos) << got;
  };
  expect(
      "input 'bias': allow_ragged_batch: expected a model that takes the elements of all "
      "requests in shape [-1], the model has [-1,1]",
      [](ModelSpec& spec) { spec.inputs[1].ragged = true; });
  expect("allow_ragged_batch: the model has no such input",
         [](ModelSpec& spec) { spec.inputs[0].name = "nothing"; });
  expect("expected an input that is not optional",
         [](ModelSpec& spec) { spec.inputs[0].optional = true; });
  expect("batch_input 'INDEX': the model has no such input",
         [](ModelSpec& spec) { spec.batch_inputs[0].input = "INDEX"; });
  expect("batch_input 'ENDS': data_type: the model has INT32, got FP32",
         [](ModelSpec& spec) { spec.batch_inputs[0].datatype = DType::Fp32; });
  expect("batch_input 'ENDS': expected 2 dims, the first one free, the model has [-1]",
         [](ModelSpec& spec) { spec.batch_inputs[0].kind = Kind::ItemShape; });
  expect("batch_input 'ENDS': expected each input once",
         [](ModelSpec& spec) { spec.batch_inputs.push_back(spec.batch_inputs[0]); });
  expect("source_input 'ENDS': clients send no such input",
         [](ModelSpec& spec) { spec.batch_inputs[0].source = "ENDS"; });
  expect("batch_output 'y': the model has no such output",
         [](ModelSpec& spec) { spec.batch_outputs[0].output = "y"; });
  expect("batch_output 'sum': expected its dims in the configuration",
         [](ModelSpec& spec) { spec.batch_outputs[0].output = "sum"; });
  expect("its free dim 2 is that of source_input 'x', which has 2 dims", [](ModelSpec& spec) {
    spec.outputs[0].dims = {-1, -1, -1};
  });
  ModelSpec null = null_spec("n", "echo", ExecMode::Auto);
  null.inputs = {{"x", {-1}, {}, {}, false, true}};
  EXPECT_NE(refused(std::move(null)).find("expected a model of tensors"), std::string::npos);
}

}  // namespace
}  // namespace serval::test
