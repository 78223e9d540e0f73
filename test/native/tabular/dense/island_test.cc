// Numeric parts of plans run row by row and on ONNX Runtime, and are compared: products, linear
// models, layers of neurons, forests; rows without a result, blocks of rows, threads, and plans
// without a runtime.
#include "tabular/dense/island.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "support/onnxruntime_fixture.h"
#include "support/plan_maker.h"
#include "tabular/forest/made_forest.h"

namespace serval::tabular {
namespace {

using Ints = std::vector<int32_t>;
using Reals = std::vector<double>;
using Texts = std::vector<std::string>;

// A runtime that counts its runs, or that cannot load.
class Counting final : public Backend {
 public:
  explicit Counting(Backend* inner, ErrorCode refusal = ErrorCode::Ok)
      : inner_(inner), refusal_(refusal) {}
  Result<std::shared_ptr<BackendModel>> load(const ModelSpec& spec) override {
    if (refusal_ != ErrorCode::Ok) return make_error(refusal_, "no such runtime");
    auto loaded = inner_->load(spec);
    if (!loaded.ok()) return loaded;
    ++loads;
    return std::shared_ptr<BackendModel>(std::make_shared<Model>(*this, loaded.value()));
  }
  std::atomic<int> loads{0}, runs{0};
  std::atomic<int64_t> rows_most{0};

 private:
  class Model final : public BackendModel {
   public:
    Model(Counting& owner, std::shared_ptr<BackendModel> model)
        : owner_(owner), model_(std::move(model)) {}
    const BackendModelInfo& info() const override { return model_->info(); }
    std::unique_ptr<BackendScratch> make_scratch() override { return model_->make_scratch(); }
    Status run(uint32_t signature, std::span<const TensorView> inputs,
               std::span<const uint32_t> outputs, BackendScratch& scratch,
               const serval::RunOptions& options) override {
      ++owner_.runs;
      owner_.rows_most = std::max<int64_t>(owner_.rows_most, inputs[0].shape[0]);
      return model_->run(signature, inputs, outputs, scratch, options);
    }

   private:
    Counting& owner_;
    std::shared_ptr<BackendModel> model_;
  };
  Backend* inner_;
  ErrorCode refusal_;
};

Reals numbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Reals made(count);
  for (double& one : made) one = static_cast<double>(random() % 20'001) / 10'000 - 1;
  return made;
}

std::vector<Reals> rows_of(size_t rows, size_t width, unsigned seed) {
  std::vector<Reals> made;
  for (size_t row = 0; row < rows; ++row) {
    made.push_back(numbers(width, seed + static_cast<unsigned>(row)));
  }
  return made;
}

// Within 1e-12 of the value; a value that is 1e12 times smaller than the sum of its terms counts as
// zero.
void expect_equal(const Reals& native, const Reals& island) {
  ASSERT_EQ(native.size(), island.size());
  for (size_t i = 0; i < native.size(); ++i) {
    EXPECT_NEAR(native[i], island[i], 1e-12 * std::max(std::abs(native[i]), 1e-2)) << "at " << i;
  }
}

// One stage from a vector 'in' to 'out', and its plan read with and without a runtime.
struct Both {
  Both(const std::string& kind, const MadeAttributes& attributes, Backend* runtime) {
    in = maker.field("in", Type::Vector);
    out = maker.only(kind, {in}, Type::Vector, attributes);
    native.emplace(maker);
    island.emplace(maker, runtime);
  }
  std::string run(PlanRun& plan, const std::vector<Reals>& rows, bool null_for_invalid = false) {
    plan.begin(static_cast<uint32_t>(rows.size()));
    plan.vectors(in, rows);
    return plan.run(null_for_invalid);
  }
  void expect_same(const std::vector<Reals>& rows, bool null_for_invalid = false) {
    ASSERT_EQ(run(*native, rows, null_for_invalid), "");
    ASSERT_EQ(run(*island, rows, null_for_invalid), "");
    EXPECT_EQ(native->frame->refused, island->frame->refused);
    EXPECT_EQ(native->at(out).offsets, island->at(out).offsets);
    EXPECT_EQ(native->at(out).states, island->at(out).states);
    expect_equal(native->at(out).reals, island->at(out).reals);
  }
  PlanMaker maker;
  uint32_t in = 0, out = 0;
  std::optional<PlanRun> native, island;
};

MadeAttributes perceptron(const Ints& layers) {
  size_t count = 0;
  for (size_t l = 1; l < layers.size(); ++l) {
    count += static_cast<size_t>(layers[l - 1] + 1) * static_cast<size_t>(layers[l]);
  }
  return {{"layers", layers}, {"weights", numbers(count, 5)}};
}

class IslandTest : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_ONNXRUNTIME();
    onnxruntime_ = make_onnxruntime_backend(onnxruntime_library(), 2);
    counting_ = std::make_unique<Counting>(onnxruntime_.get());
  }
  // Compares 1, 8, 100 and 3000 rows; the last are more than one run processes.
  void expect_same(const std::string& kind, size_t width, const MadeAttributes& attributes) {
    Both both(kind, attributes, counting_.get());
    ASSERT_EQ(counting_->loads, 1);
    for (const size_t rows : {1u, 8u, 100u, 3000u}) both.expect_same(rows_of(rows, width, 11));
    EXPECT_GE(counting_->runs, 4);
    EXPECT_GE(counting_->rows_most, 100);
    EXPECT_LE(counting_->rows_most, 1024);
  }
  std::unique_ptr<Backend> onnxruntime_;
  std::unique_ptr<Counting> counting_;
};

TEST_F(IslandTest, PerceptronsAnswerAlike) {
  expect_same("perceptron", 40, perceptron({40, 50, 30, 3}));
}

TEST_F(IslandTest, ScoresAnswerAlike) {
  expect_same("linear_scores", 200,
              {{"coefficients", numbers(200 * 15, 6)}, {"intercepts", numbers(15, 7)}});
}

TEST_F(IslandTest, NormalisedScoresAnswerAlike) {
  expect_same("linear_scores", 200,
              {{"coefficients", numbers(200 * 15, 6)},
               {"intercepts", numbers(15, 7)},
               {"minusLogSumExp", true}});
}

TEST_F(IslandTest, ProductsAnswerAlike) {
  expect_same("pca", 120, {{"components", numbers(120 * 60, 8)}, {"k", 60}});
}

TEST_F(IslandTest, BucketsOfProjectionsAreAlwaysOurs) {
  const Both both("random_projection_lsh",
                  {{"vectors", numbers(120 * 60, 8)}, {"tables", 60}, {"bucketLength", 0.37}},
                  counting_.get());
  EXPECT_EQ(counting_->loads, 0);
}

// PMML's networks, by activation and by the use of the last layer.
TEST_F(IslandTest, NeuralNetworksAnswerAlike) {
  constexpr int kInputs = 30, kHidden = 40, kOutputs = 5;
  constexpr int kNeurons = kHidden + kOutputs;
  Ints rows{0}, sources;
  for (int n = 0; n < kNeurons; ++n) {
    const int from = n < kHidden ? 0 : kInputs, width = n < kHidden ? kInputs : kHidden;
    for (int k = 0; k < width; ++k) sources.push_back(from + k);
    rows.push_back(static_cast<int32_t>(sources.size()));
  }
  for (const std::string activation : {"logistic", "tanh", "rectifier", "identity"}) {
    const int loads = counting_->loads, runs = counting_->runs;
    PlanMaker maker;
    std::vector<uint32_t> fields;
    for (int i = 0; i < kInputs; ++i) {
      fields.push_back(maker.field("x" + std::to_string(i), Type::Double));
    }
    const uint32_t out = maker.only(
        "pmml.neural_network", fields, Type::Vector,
        {{"classification", true},
         {"layer_rows", Ints{0, kHidden, kNeurons}},
         {"activations", Texts{activation, "identity"}},
         {"normalizations", Texts{"none", "softmax"}},
         {"thresholds", Reals{0, 0}},
         {"biases", numbers(kNeurons, 1)},
         {"widths", Reals(kNeurons, 1)},
         {"altitudes", Reals(kNeurons, 1)},
         {"connection_rows", rows},
         {"connection_sources", sources},
         {"connection_weights", numbers(sources.size(), 2)},
         {"output_neurons", Ints{kInputs + kHidden + 3, kInputs + kHidden, kInputs + kHidden + 4}},
         {"output_rows", Ints{0, 0, 0, 0}},
         {"output_norms", Reals{}},
         {"output_origs", Reals{}}});
    PlanRun native(maker), island(maker, counting_.get());
    for (const uint32_t count : {1u, 300u, 2100u}) {
      for (PlanRun* run : {&native, &island}) {
        run->begin(count);
        for (size_t f = 0; f < fields.size(); ++f) {
          run->reals(fields[f], numbers(count, static_cast<unsigned>(f)));
        }
        for (uint32_t row = 2; row < count; row += 7) run->at(fields[3]).set_missing(row);
        ASSERT_EQ(run->run(), "");
      }
      EXPECT_EQ(native.at(out).offsets, island.at(out).offsets);
      EXPECT_EQ(native.at(out).states, island.at(out).states);
      expect_equal(native.at(out).reals, island.at(out).reals);
    }
    EXPECT_EQ(counting_->loads, loads + 1);
    EXPECT_EQ(counting_->runs, runs + 4) << activation;  // 300 rows in one run; 2100 in three
  }
}

// Forests use our own code (docs/decisions/0014), and give the results of the runtime's operator in
// double.
TEST_F(IslandTest, ForestsAnswerAsTheRuntimesOperator) {
  MadeForest forest(50, 6);
  const onnx::TemporaryDirectory directory;
  ModelSpec spec;
  spec.path = directory.write("forest.onnx", forest.graph());
  const auto model = onnxruntime_->load(spec);
  ASSERT_TRUE(model.ok()) << model.error().message;
  constexpr size_t kRows = 200, kWidth = MadeForest::kFeatures;
  const Reals values = forest.rows(kRows);
  PlanMaker maker;
  const uint32_t in = maker.field("in", Type::Vector);
  const uint32_t out = maker.only("forest", {in}, Type::Double, forest.attributes());
  PlanRun native(maker, counting_.get());
  EXPECT_EQ(counting_->loads, 0);
  std::vector<Reals> rows;
  for (size_t row = 0; row < kRows; ++row) {
    rows.emplace_back(values.begin() + row * kWidth, values.begin() + (row + 1) * kWidth);
  }
  native.begin(kRows);
  native.vectors(in, rows);
  ASSERT_EQ(native.run(), "");
  const TestTensor<double> tensor(DType::Fp64, {kRows, kWidth}, values);
  const auto scratch = model.value()->make_scratch();
  const uint32_t first[] = {0};
  const Status done = model.value()->run(0, {&tensor.view(), 1}, first, *scratch, nullptr);
  ASSERT_TRUE(done.ok()) << done.error().message;
  expect_equal(native.at(out).reals, values_of<double>(scratch->outputs()[0]));
}

TEST_F(IslandTest, RowsThatCannotBeAnsweredAreRefusedAlike) {
  Both both("perceptron", perceptron({40, 50, 3}), counting_.get());
  std::vector<Reals> rows = rows_of(500, 40, 3);
  rows[17].pop_back();
  rows[18].pop_back();
  rows[499].push_back(1);
  both.expect_same(rows, true);
  EXPECT_EQ(counting_->runs, 1);
  const std::string fault = both.run(*both.native, rows);
  EXPECT_EQ(fault, both.run(*both.island, rows));
  EXPECT_NE(fault.find("row 17: column 'in': expected a vector of 40 values, got 39"),
            std::string::npos)
      << fault;
  const std::vector<Reals> short_rows(500, Reals(2, 0.0));
  both.expect_same(short_rows, true);  // no row is left to run
}

TEST_F(IslandTest, FewRowsAndSparseOnesAreAnsweredHere) {
  Both both("perceptron", perceptron({40, 50, 3}), counting_.get());
  both.expect_same(rows_of(15, 40, 3));
  PlanRun& plan = *both.island;
  plan.begin(500);
  Column& column = plan.at(both.in);
  column.reset(Type::Vector, 500);
  column.sparse = true;
  for (uint32_t row = 0; row < 500; ++row) {
    column.start_row(row);
    column.reals.push_back(1);
    column.indices.push_back(static_cast<int32_t>(row % 40));
    column.end_sparse_row(40);
  }
  ASSERT_EQ(plan.run(), "");
  EXPECT_EQ(counting_->runs, 0);
}

TEST_F(IslandTest, SmallModelsAndVeryWideOnesHaveNone) {
  const MadeAttributes wide = {{"coefficients", Reals(2 * 65'537, 1)}, {"intercepts", Reals(2, 0)}};
  const std::pair<std::string, MadeAttributes> models[] = {{"perceptron", perceptron({4, 5, 3})},
                                                           {"linear_scores", wide}};
  for (const auto& [kind, attributes] : models) {
    PlanMaker maker;
    const uint32_t in = maker.field("in", Type::Vector);
    maker.only(kind, {in}, Type::Vector, attributes);
    const auto plan = maker.read(counting_.get());
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_EQ(plan.value()->island_count(), 0u) << kind;
  }
  EXPECT_EQ(counting_->loads, 0);
}

TEST_F(IslandTest, BlocksOfWideLayersAreShort) {
  Both both("perceptron", perceptron({40, 4096, 3}), counting_.get());
  both.expect_same(rows_of(600, 40, 3));
  EXPECT_EQ(counting_->runs, 3);
  EXPECT_EQ(counting_->rows_most, 256);
}

TEST_F(IslandTest, WithoutALibraryAllIsAnsweredRowByRow) {
  Counting none(nullptr, ErrorCode::RuntimeUnavailable);
  Both both("perceptron", perceptron({40, 50, 3}), &none);
  both.expect_same(rows_of(500, 40, 3));
  Counting broken(nullptr, ErrorCode::ModelInvalid);
  const auto read = both.maker.read(&broken);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("here (perceptron): no such runtime"), std::string::npos);
}

TEST_F(IslandTest, ACancelledRunEnds) {
  Both both("perceptron", perceptron({40, 50, 3}), counting_.get());
  both.island->begin(500);
  both.island->vectors(both.in, rows_of(500, 40, 3));
  CancelFlag flag;
  flag.cancel(EndCause::ClientLeft);
  const Status done = both.island->plan->run(*both.island->frame, {}, &flag);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, ErrorCode::Cancelled);
}

// One plan with a frame for each thread.
TEST_F(IslandTest, ThreadsShareAnIsland) {
  Both both("perceptron", perceptron({40, 50, 3}), counting_.get());
  const std::vector<Reals> rows = rows_of(300, 40, 3);
  ASSERT_EQ(both.run(*both.native, rows), "");
  const Plan& plan = *both.island->plan;
  std::vector<Reals> answers(4);
  std::vector<std::thread> threads;
  for (Reals& answer : answers) {
    threads.emplace_back([&plan, &both, &rows, &answer] {
      Frame frame(plan.dictionary(), plan.column_count());
      for (int round = 0; round < 20; ++round) {
        frame.begin(static_cast<uint32_t>(rows.size()));
        Column& column = frame.columns[both.in];
        column.reset(Type::Vector, frame.rows);
        for (uint32_t row = 0; row < rows.size(); ++row) {
          column.start_row(row);
          column.reals.insert(column.reals.end(), rows[row].begin(), rows[row].end());
          column.end_row();
        }
        if (!plan.run(frame, {}, nullptr).ok()) return;
        answer = frame.columns[both.out].reals;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Reals& answer : answers) expect_equal(both.native->at(both.out).reals, answer);
  EXPECT_EQ(counting_->runs, 80);
}

}  // namespace
}  // namespace serval::tabular
