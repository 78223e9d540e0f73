// Micro-benchmark of plans of tabular models, from a request's tensors to the response's: a tree
// for iris and a pipeline of 40 stages, one row each, and a forest of 100 trees of depth 8, 1,000
// rows. Prints one line of JSON per part: {"name", "rows", "ns_per_run", "ns_per_row"}. Each number
// is the best of many runs within 0.3 s. Results are checked before timing.
//
//   tabular_plan_bench [PART OF A NAME]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "base/clock.h"
#include "support/plan_build.h"
#include "tabular/forest/made_forest.h"

namespace {

using namespace serval;
using tabular::MadeAttributes;
using tabular::PlanMaker;
using Type = plan::Type;
using Ints = std::vector<int32_t>;
using Reals = std::vector<double>;
using Texts = std::vector<std::string>;

constexpr uint64_t kRoundsNs = 300'000'000;
const char* filter = "";

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "tabular_plan_bench: %s\n", text.c_str());
  std::exit(1);
}

void require(bool holds, const std::string& text) {
  if (!holds) fail(text);
}

// A model made from a plan, and one request for it.
struct Workload {
  explicit Workload(PlanMaker& maker) {
    char path[] = "/tmp/serval-plan-XXXXXX";
    const int file = mkstemp(path);
    require(file >= 0, "no temporary file");
    std::FILE* stream = fdopen(file, "wb");
    std::fwrite(maker.bytes().data(), 1, maker.bytes().size(), stream);
    std::fclose(stream);
    ModelSpec spec;
    spec.path = path;
    auto loaded = make_tabular_backend()->load(spec);
    std::remove(path);
    if (!loaded.ok()) fail(loaded.error().message);
    model = loaded.value();
    scratch = model->make_scratch();
    for (uint32_t i = 0; i < model->info().signatures[0].outputs.size(); ++i) wanted.push_back(i);
  }
  void add_reals(const Reals& values, std::vector<int64_t> dims) {
    numbers.push_back(std::make_unique<Reals>(values));
    TensorView view;
    view.dtype = dims.size() == 2 ? DType::Vector : DType::Fp64;
    view.shape = Shape(dims);
    view.data = reinterpret_cast<const uint8_t*>(numbers.back()->data());
    view.bytes = values.size() * sizeof(double);
    inputs.push_back(view);
  }
  void add_text(std::string_view text) {
    texts.push_back(std::make_unique<std::string_view>(text));
    TensorView view;
    view.dtype = DType::String;
    view.shape = Shape(std::vector<int64_t>{1});
    view.strings = {texts.back().get(), 1};
    inputs.push_back(view);
  }
  void run() {
    const Status done = model->run(0, inputs, wanted, *scratch, {});
    if (!done.ok()) fail(done.error().message);
  }
  double answer(size_t output, size_t at) const {
    double value = 0;
    std::memcpy(&value, scratch->outputs()[output].data + at * sizeof value, sizeof value);
    return value;
  }

  std::shared_ptr<BackendModel> model;
  std::unique_ptr<BackendScratch> scratch;
  std::vector<uint32_t> wanted;
  std::vector<TensorView> inputs;
  std::vector<std::unique_ptr<Reals>> numbers;
  std::vector<std::unique_ptr<std::string_view>> texts;
};

void measure(const char* name, size_t rows, Workload& workload) {
  const uint64_t start = now_ns();
  uint64_t best = UINT64_MAX;
  for (uint64_t begin = start; begin - start < kRoundsNs;) {
    workload.run();
    const uint64_t end = now_ns();
    best = std::min(best, end - begin);
    begin = end;
  }
  const auto ns = static_cast<double>(best);
  std::printf("{\"name\": \"%s\", \"rows\": %zu, \"ns_per_run\": %.0f, \"ns_per_row\": %.1f}\n",
              name, rows, ns, ns / static_cast<double>(rows));
}

bool wanted(const char* name) { return std::strstr(name, filter) != nullptr; }

MadeAttributes forest(const Ints& feature, const Reals& threshold, const Ints& left,
                      const Ints& right, const Ints& roots, const Reals& leaves) {
  return {
      {"feature", feature}, {"threshold", threshold}, {"left", left}, {"right", right},
      {"roots", roots},     {"leaves", leaves},       {"width", 1},   {"sum", std::string("sum")},
      {"has_values", true}, {"skip_no_answer", false}};
}

// Petal length and width, as every textbook splits them; class, probabilities.
void bench_iris() {
  if (!wanted("iris_tree")) return;
  PlanMaker maker;
  std::vector<uint32_t> fields;
  for (const char* name : {"sepal_length", "sepal_width", "petal_length", "petal_width"}) {
    fields.push_back(maker.field(name, Type::Double));
  }
  const uint32_t value = maker.column("value", Type::Double);
  const uint32_t leaf = maker.column("leaf", Type::Int32);
  const uint32_t word = maker.column("species", Type::String);
  const uint32_t chances = maker.column("probability", Type::Vector);
  MadeAttributes attributes = forest({2, 3, 2, 3}, {2.45, 1.75, 4.95, 1.65}, {~0, 2, 3, ~1},
                                     {1, ~4, ~3, ~2}, {0}, {0, 1, 2, 2, 2});
  attributes.emplace_back("has_leaf", true);
  maker.stage("forest", fields, {value, leaf}, attributes);
  maker.stage("pick", {leaf}, {word},
              {{"texts", Texts{"setosa", "versicolor", "virginica", "virginica", "virginica"}}});
  maker.stage("pick", {leaf}, {chances},
              {{"reals", Reals{1, 0, 0, 0, 0.98, 0.02, 0, 0.2, 0.8, 0, 0.33, 0.67, 0, 0, 1}},
               {"width", 3}});
  maker.output("species", word, Type::String);
  maker.output("probability", chances, Type::Vector);
  Workload workload(maker);
  for (const double one : {6.1, 2.8, 4.7, 1.2}) workload.add_reals({one}, {1});
  workload.run();
  require(workload.scratch->outputs()[0].strings[0] == "versicolor", "iris: wrong species");
  require(workload.answer(1, 1) == 0.98, "iris: wrong probability");
  measure("iris_tree", 1, workload);
}

// 12 strings indexed and encoded, 12 numbers in buckets, assembled, scaled, normalized, a model.
void bench_pipeline() {
  if (!wanted("pipeline_40")) return;
  constexpr int kEach = 12;
  PlanMaker maker;
  std::vector<uint32_t> texts, numbers, parts;
  for (int i = 0; i < kEach; ++i) {
    texts.push_back(maker.field("text" + std::to_string(i), Type::String));
  }
  for (int i = 0; i < kEach; ++i) {
    numbers.push_back(maker.field("number" + std::to_string(i), Type::Double));
  }
  for (int i = 0; i < kEach; ++i) {
    const uint32_t index = maker.column("index" + std::to_string(i), Type::Double);
    const uint32_t hot = maker.column("hot" + std::to_string(i), Type::Vector);
    const uint32_t bucket = maker.column("bucket" + std::to_string(i), Type::Double);
    maker.stage("string_indexer", {texts[static_cast<size_t>(i)]}, {index},
                {{"labels", Texts{"red", "green", "blue", "black"}}, {"keep", false}});
    maker.stage("one_hot", {index}, {hot},
                {{"size", 4}, {"dropLast", true}, {"invalid", std::string("error")}});
    maker.stage("bucketizer", {numbers[static_cast<size_t>(i)]}, {bucket},
                {{"splits", Reals{-1e9, 0, 1, 2, 3, 1e9}}, {"keep", false}});
    parts.push_back(hot);
    parts.push_back(bucket);
  }
  const uint32_t assembled = maker.column("assembled", Type::Vector);
  const uint32_t scaled = maker.column("scaled", Type::Vector);
  const uint32_t normed = maker.column("normed", Type::Vector);
  const uint32_t out = maker.column("out", Type::Double);
  const size_t width = kEach * 4;
  maker.stage("vector_assembler", parts, {assembled}, {{"invalid", std::string("error")}});
  maker.stage("scale", {assembled}, {scaled},
              {{"shift", Reals(width, 0.5)}, {"scale", Reals(width, 2)}, {"clamp", false}});
  maker.stage("normalizer", {scaled}, {normed}, {{"p", 2.0}});
  MadeAttributes model = forest({3}, {0}, {~0}, {~1}, {0}, {10, 20});
  model.emplace_back("has_leaf", false);
  model.emplace_back("vector", true);
  maker.stage("forest", {normed}, {out}, model);
  maker.output("out", out, Type::Double);
  Workload workload(maker);
  const char* words[] = {"red", "green", "blue", "black"};
  for (int i = 0; i < kEach; ++i) workload.add_text(words[i % 4]);
  for (int i = 0; i < kEach; ++i) workload.add_reals({i / 4.0}, {1});
  workload.run();
  require(workload.answer(0, 0) == 20, "pipeline: wrong answer");
  measure("pipeline_40", 1, workload);
}

void bench_forest(size_t rows) {
  const std::string name = "forest_100x8_rows_" + std::to_string(rows);
  if (!wanted(name.c_str())) return;
  MadeForest made(100, 8);
  PlanMaker maker;
  const uint32_t features = maker.field("features", Type::Vector);
  maker.only("forest", {features}, Type::Double, made.attributes());
  Workload workload(maker);
  const Reals values = made.rows(rows);
  workload.add_reals(values, {static_cast<int64_t>(rows), MadeForest::kFeatures});
  workload.run();
  for (size_t row = 0; row < rows; ++row) {
    const double sum = made.sum(values.data() + row * MadeForest::kFeatures);
    require(workload.answer(0, row) == sum, "forest: wrong sum in row " + std::to_string(row));
  }
  measure(name.c_str(), rows, workload);
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) filter = arguments[1];
  bench_iris();
  bench_pipeline();
  bench_forest(1);
  bench_forest(1000);
  return 0;
}
