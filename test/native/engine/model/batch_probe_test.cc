// Verdicts on batching rows: which models the graph proves and the probe confirms, which are
// contradicted and in which words, and which stay undecided.
#include "engine/model/batch_probe.h"

#include <thread>

#include "engine/engine_fixture.h"
#include "support/onnxruntime_fixture.h"

namespace serval {
namespace {

using onnx::Dim;
using onnx::Dims;

constexpr int kOpset = 17;

Dims free_dims(std::vector<Dim> inner, std::string first = "") {
  inner.insert(inner.begin(), Dim(std::move(first)));
  return inner;
}

// y = op(x), both [?, 4].
onnx::Model one_op(std::string_view op, const std::vector<onnx::Message>& attributes = {}) {
  onnx::Model model;
  model.opset = kOpset;
  model.node(op, {"x"}, {"y"}, attributes);
  return model.input("x", onnx::kFloat, free_dims({int64_t{4}}))
      .output("y", onnx::kFloat, free_dims({int64_t{4}}));
}

class BatchProbeTest : public OnnxRuntimeTest {
 protected:
  BatchFinding probe(const onnx::Model& model, BatchMode mode = BatchMode::Auto,
                     uint64_t limit_ns = 60'000'000'000) {
    ModelSpec spec;
    spec.backend = "onnxruntime";
    spec.batch.mode = mode;
    spec.batch.rows_max = 4;
    spec.batch.only_if_batchable = true;
    const std::shared_ptr<BackendModel> backend = load(model, spec);
    const Result<ModelShapes> shapes = ModelShapes::make(spec, backend->info().signatures);
    EXPECT_TRUE(shapes.ok());
    return probe_batching(spec, shapes.value(), *backend, limit_ns);
  }
  static void expect_proven(const BatchFinding& found) {
    EXPECT_EQ(found.proof, BatchProof::Proven) << found.text;
    EXPECT_EQ(found.text, "");
  }
  static void expect_text(const BatchFinding& found, BatchProof proof, const std::string& part) {
    EXPECT_EQ(found.proof, proof) << found.text;
    EXPECT_NE(found.text.find(part), std::string::npos) << found.text;
  }
};

TEST_F(BatchProbeTest, RowsThatKeepToThemselvesAreProven) {
  expect_proven(probe(one_op("Tanh")));
  expect_proven(probe(one_op("Softmax", {onnx::attribute("axis", int64_t{1})})));
  expect_proven(probe(onnx::mlp(16, 8, 3)));
  expect_proven(probe(onnx::identity(onnx::kString, free_dims({std::string()}))));
  expect_proven(probe(onnx::identity(onnx::kFloat16, free_dims({int64_t{2}}, "n"))));
  // The logarithm of a negative number is not finite: other values are tried.
  expect_proven(probe(one_op("Log")));
}

TEST_F(BatchProbeTest, AConstantThatFollowsTheRowsIsProven) {
  onnx::Model model;
  model.initializer<float>("zero", onnx::kFloat, {}, {0.0f});
  model.node("Mul", {"x", "zero"}, {"y"});
  model.input("x", onnx::kFloat, free_dims({int64_t{4}}));
  expect_proven(probe(model.output("y", onnx::kFloat, free_dims({int64_t{4}}))));
}

TEST_F(BatchProbeTest, NothingIsJoinedUnlessTheGraphProvesIt) {
  const auto over_rows = onnx::attribute("axis", int64_t{0});
  expect_text(probe(one_op("Softmax", {over_rows})), BatchProof::Undecided,
              "node 'Softmax_0' (Softmax): the sum is computed over the rows");
  // A coupling of rows that only large values show passes every probe.
  onnx::Model floor;
  floor.initializer<float>("eight", onnx::kFloat, {}, {8});
  floor.node("ReduceMax", {"x"}, {"most"}).node("Sub", {"most", "eight"}, {"least"});
  floor.node("Max", {"x", "least"}, {"y"});
  floor.input("x", onnx::kFloat, free_dims({int64_t{4}}));
  floor.output("y", onnx::kFloat, free_dims({int64_t{4}}));
  expect_text(probe(floor), BatchProof::Undecided, "node 'ReduceMax_0' (ReduceMax)");
  EXPECT_EQ(probe(floor, BatchMode::On).proof, BatchProof::Proven);
}

// A backend that makes a false claim about its graph.
class Claiming final : public BackendModel {
 public:
  explicit Claiming(std::shared_ptr<BackendModel> model)
      : model_(std::move(model)), info_(model_->info()) {
    for (RowsProof& one : info_.rows) one = {RowsVerdict::Proved, ""};
  }
  const BackendModelInfo& info() const override { return info_; }
  std::unique_ptr<BackendScratch> make_scratch() override { return model_->make_scratch(); }
  Status run(uint32_t signature, std::span<const TensorView> inputs,
             std::span<const uint32_t> outputs, BackendScratch& scratch,
             const RunOptions& options) override {
    return model_->run(signature, inputs, outputs, scratch, options);
  }

 private:
  const std::shared_ptr<BackendModel> model_;
  BackendModelInfo info_;
};

TEST_F(BatchProbeTest, TheProbeContradictsAProofThatIsWrong) {
  ModelSpec spec;
  spec.backend = "onnxruntime";
  spec.batch.mode = BatchMode::Auto;
  spec.batch.rows_max = 4;
  Claiming claiming(load(one_op("Softmax", {onnx::attribute("axis", int64_t{0})}), spec));
  const Result<ModelShapes> shapes = ModelShapes::make(spec, claiming.info().signatures);
  ASSERT_TRUE(shapes.ok());
  expect_text(probe_batching(spec, shapes.value(), claiming), BatchProof::Contradicted,
              "output 'y': 2 rows together return shape [2,4], one row alone returns [1,4]");
}

TEST_F(BatchProbeTest, RowsThatMixAreContradictedWithTheNumbers) {
  const auto over_rows = onnx::attribute("axis", int64_t{0});
  const onnx::Model softmax = one_op("Softmax", {over_rows});
  expect_text(probe(softmax, BatchMode::On), BatchProof::Contradicted,
              "output 'y': 2 rows together return shape [2,4], one row alone returns [1,4]; row 0 "
              "differs in 4 "
              "of 4 elements, by up to ");
  expect_text(probe(softmax, BatchMode::On), BatchProof::Contradicted, " alone)");
  onnx::Model gram;
  gram.node("Transpose", {"x"}, {"t"}).node("MatMul", {"x", "t"}, {"y"});
  gram.input("x", onnx::kFloat, free_dims({int64_t{4}}));
  gram.output("y", onnx::kFloat, free_dims({std::string()}));
  expect_text(probe(gram, BatchMode::On), BatchProof::Contradicted,
              "2 rows together return shape [2,2], one row alone returns [1,1]");
  expect_text(probe(one_op("Squeeze"), BatchMode::On), BatchProof::Contradicted,
              "one row alone returns [4]");
}

TEST_F(BatchProbeTest, ARowThatIsRefusedInCompanyIsContradicted) {
  onnx::Model model;
  // The shape [1, 4], built so that no shape inference finds it.
  model.initializer<float>("zero", onnx::kFloat, {}, {0.0f});
  model.initializer<float>("shape", onnx::kFloat, {2}, {1, 4});
  model.node("Mul", {"x", "zero"}, {"zeros"});
  model.node("ReduceMax", {"zeros"}, {"none"}, {onnx::attribute("keepdims", int64_t{0})});
  model.node("Add", {"shape", "none"}, {"sum"});
  model.node("Cast", {"sum"}, {"to"}, {onnx::attribute("to", int64_t{onnx::kInt64})});
  model.node("Reshape", {"x", "to"}, {"y"});
  model.input("x", onnx::kFloat, free_dims({int64_t{4}}));
  model.output("y", onnx::kFloat, free_dims({int64_t{4}}));
  expect_text(probe(model, BatchMode::On), BatchProof::Contradicted,
              "2 rows in one batch are refused");
}

TEST_F(BatchProbeTest, IdsOfATableAreTriedFromItsBeginning) {
  onnx::Model model;
  model.initializer<float>("table", onnx::kFloat, {2, 3}, {1, 2, 3, 4, 5, 6});
  model.node("Gather", {"table", "ids"}, {"y"});
  model.input("ids", onnx::kInt64, free_dims({std::string("t")}, "n"));
  model.output("y", onnx::kFloat, free_dims({std::string("t"), int64_t{3}}, "n"));
  expect_proven(probe(model));
}

TEST_F(BatchProbeTest, InnerDimsOfAnImagesSizeAreTriedWhereSmallOnesAreRefused) {
  onnx::Model model;
  model.initializer<float>("w", onnx::kFloat, {1, 1, 20, 20}, std::vector<float>(400, 0.01f));
  model.node("Conv", {"x", "w"}, {"y"});
  const Dims dims = free_dims({int64_t{1}, std::string(), std::string()});
  expect_proven(probe(model.input("x", onnx::kFloat, dims).output("y", onnx::kFloat, dims)));
}

TEST_F(BatchProbeTest, OneSymbolMeansOneThing) {
  onnx::Model other;
  other.node("Tanh", {"x"}, {"y"});
  other.input("x", onnx::kFloat, free_dims({int64_t{4}}, "a"));
  other.node("Tanh", {"z"}, {"w"});
  other.input("z", onnx::kFloat, free_dims({int64_t{4}}, "b"));
  other.output("y", onnx::kFloat, free_dims({int64_t{4}}, "a"));
  other.output("w", onnx::kFloat, free_dims({int64_t{4}}, "b"));
  expect_text(probe(other), BatchProof::Undecided,
              "the first dim of 'x' is 'a', that of 'z' is 'b'");
  onnx::Model square = one_op("Tanh");
  square.graph = onnx::Message();
  square.node("Tanh", {"x"}, {"y"});
  square.input("x", onnx::kFloat, free_dims({std::string("n")}, "n"));
  square.output("y", onnx::kFloat, free_dims({std::string("n")}, "n"));
  expect_text(probe(square), BatchProof::Undecided, "and another one of 'x'");
}

TEST_F(BatchProbeTest, WhatCannotBeTriedIsLeftOpen) {
  onnx::Model refusing;
  refusing.initializer<float>("table", onnx::kFloat, {1, 3}, {1, 2, 3});
  refusing.node("Gather", {"table", "ids"}, {"y"});
  refusing.input("ids", onnx::kInt64, free_dims({int64_t{2}}));
  refusing.output("y", onnx::kFloat, free_dims({int64_t{2}, int64_t{3}}));
  expect_text(probe(refusing), BatchProof::Undecided, "a generated row is refused: ");
  onnx::Model random;
  random.node("RandomUniformLike", {"x"}, {"y"});
  random.input("x", onnx::kFloat, free_dims({int64_t{4}}));
  random.output("y", onnx::kFloat, free_dims({int64_t{4}}));
  expect_text(probe(random), BatchProof::Undecided, "it draws random numbers");
  expect_text(probe(random, BatchMode::On), BatchProof::Undecided,
              "repeated runs of one row return different results");
  expect_text(probe(onnx::identity(onnx::kFloat, free_dims({int64_t{8'000'000}}))),
              BatchProof::Undecided, "one row is over 16777216 bytes");
  expect_text(probe(one_op("Tanh"), BatchMode::On, 0), BatchProof::Undecided,
              "its runs are too slow for the check");
}

TEST_F(BatchProbeTest, AProofHoldsWhereItsCheckIsTooSlow) {
  expect_text(probe(one_op("Tanh"), BatchMode::Auto, 0), BatchProof::Proven,
              "its runs are too slow for the check");
  const auto over_rows = onnx::attribute("axis", int64_t{0});
  expect_text(probe(one_op("Softmax", {over_rows}), BatchMode::Auto, 0), BatchProof::Undecided,
              "(Softmax)");
}

TEST_F(BatchProbeTest, NothingIsTriedWhereNothingHangsOnIt) {
  EXPECT_EQ(probe(one_op("Tanh"), BatchMode::Off).proof, BatchProof::Untried);
  // A vector's free dimension may be its length.
  EXPECT_EQ(probe(onnx::half_plus_three()).proof, BatchProof::Untried);
}

class NoOutputs final : public BackendScratch {
 public:
  std::span<const TensorView> outputs() const override { return {}; }
  void release_outputs() override {}
};

// A model whose runs never end.
class Endless final : public BackendModel {
 public:
  explicit Endless(BackendModelInfo info) : info_(std::move(info)) {}
  const BackendModelInfo& info() const override { return info_; }
  std::unique_ptr<BackendScratch> make_scratch() override { return std::make_unique<NoOutputs>(); }
  Status run(uint32_t, std::span<const TensorView>, std::span<const uint32_t>, BackendScratch&,
             const RunOptions& options) override {
    while (!options.cancel->cancelled()) std::this_thread::yield();
    return make_error(ErrorCode::Cancelled, "cancelled");
  }

 private:
  BackendModelInfo info_;
};

struct Made {
  Made() {
    spec.backend = "onnxruntime";
    spec.batch.mode = BatchMode::Auto;
    spec.batch.rows_max = 4;
    info.signatures.push_back(test::null_spec("m", "echo", ExecMode::Auto).null_signature);
    info.signatures[0].inputs[0].dims = {-1, 2};
    info.signatures[0].outputs[0].dims = {-1, 2};
    shapes = std::make_unique<ModelShapes>(ModelShapes::make(spec, info.signatures).value());
  }
  ModelSpec spec;
  BackendModelInfo info;
  std::unique_ptr<ModelShapes> shapes;
};

TEST(BatchProbe, ARunThatDoesNotEndIsCancelled) {
  Made made;
  made.info.rows = {{RowsVerdict::Proved, ""}};
  Endless endless(made.info);
  const BatchFinding found = probe_batching(made.spec, *made.shapes, endless, 20'000'000);
  EXPECT_EQ(found.proof, BatchProof::Proven);
  EXPECT_EQ(found.text, "its runs are too slow for the check");
  made.spec.batch.mode = BatchMode::On;
  const BatchFinding asked = probe_batching(made.spec, *made.shapes, endless, 20'000'000);
  EXPECT_EQ(asked.proof, BatchProof::Undecided);
}

TEST(BatchProbe, AModelThatKeepsStateIsNeitherTriedNorJoined) {
  Made made;
  made.info.stateful = true;
  Endless endless(made.info);
  EXPECT_EQ(probe_batching(made.spec, *made.shapes, endless).proof, BatchProof::Untried);
  for (const BatchMode mode : {BatchMode::Auto, BatchMode::On}) {
    made.spec.batch.mode = mode;
    EXPECT_EQ(effective_mode(made.spec.batch, *made.shapes, true, BatchProof::Proven),
              BatchMode::Off);
  }
}

TEST(BatchProbe, JoinedIsWhatIsAskedForOrProven) {
  Made made;
  for (const BatchProof proof :
       {BatchProof::Untried, BatchProof::Proven, BatchProof::Contradicted, BatchProof::Undecided}) {
    made.spec.batch.mode = BatchMode::Auto;
    EXPECT_EQ(effective_mode(made.spec.batch, *made.shapes, false, proof),
              proof == BatchProof::Proven ? BatchMode::Auto : BatchMode::Off);
    made.spec.batch.mode = BatchMode::On;
    EXPECT_EQ(effective_mode(made.spec.batch, *made.shapes, false, proof), BatchMode::On);
  }
}

}  // namespace
}  // namespace serval
