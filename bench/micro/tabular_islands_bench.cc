// Micro-benchmark of numeric parts of tabular models, row by row and on ONNX Runtime, both in
// double and on one thread: perceptrons of one hidden layer, single matrices, a forest of 100 trees
// of depth 8. Prints a line of JSON per part: {"name", "rows", "products", "ours_ns",
// "runtime_ns"}: the processor time of a run, the best of many. Results are compared before timing.
// docs/decisions/0014 has the figures.
//
//   SERVAL_ORT_LIBRARY=... tabular_islands_bench [PART OF A NAME]
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tabular/dense/island.h"
#include "tabular/forest/made_forest.h"

namespace {

using namespace serval;
using namespace serval::tabular;
using Reals = std::vector<double>;

constexpr double kRoundsNs = 1e8;
const char* filter = "";

[[noreturn]] void fail(const std::string& text) {
  std::fprintf(stderr, "tabular_islands_bench: %s\n", text.c_str());
  std::exit(1);
}

double spent_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double best_ns(const std::function<void()>& run) {
  run();
  const double start = spent_ns();
  double best = HUGE_VAL;
  for (double begin = start; begin - start < kRoundsNs;) {
    run();
    const double end = spent_ns();
    best = std::min(best, end - begin);
    begin = end;
  }
  return best;
}

void report(const std::string& name, size_t rows, size_t products, double ours, double runtime) {
  std::printf(
      "{\"name\": \"%s\", \"rows\": %zu, \"products\": %zu, \"ours_ns\": %.0f, "
      "\"runtime_ns\": %.0f}\n",
      name.c_str(), rows, products, ours, runtime);
}

Reals numbers(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  Reals made(count);
  for (double& one : made) one = static_cast<double>(random() % 20'001) / 10'000 - 1;
  return made;
}

void compare(const Reals& a, const Reals& b, const std::string& name) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::abs(a[i] - b[i]) > 1e-9 * (1 + std::abs(a[i]))) fail(name + ": answers differ");
  }
}

// Layers with these widths, with sigmoids between them.
void bench_layers(Backend& runtime, const std::vector<size_t>& widths) {
  std::string name = "layers";
  for (const size_t width : widths) name += "_" + std::to_string(width);
  if (std::strstr(name.c_str(), filter) == nullptr) return;
  std::vector<Reals> held;
  std::vector<DenseLayer> layers;
  for (size_t l = 0; l + 1 < widths.size(); ++l) {
    held.push_back(numbers(widths[l] * widths[l + 1], 1));
    held.push_back(numbers(widths[l + 1], 2));
  }
  for (size_t l = 0; l + 1 < widths.size(); ++l) {
    const bool last = l + 2 == widths.size();
    layers.push_back({widths[l], widths[l + 1], held[2 * l], held[2 * l + 1],
                      last ? Activation::Identity : Activation::Logistic});
  }
  auto island = Island::load(runtime, 0, layers);
  if (!island.ok()) fail(island.error().message);
  const Dictionary none;
  Frame frame(none, 0);
  for (const size_t rows : {1, 4, 8, 16, 64, 256, 1024}) {
    const Reals values = numbers(rows * widths.front(), 3);
    Reals ours(rows * widths.back()), theirs(ours.size());
    const auto row_by_row = [&] {
      for (size_t row = 0; row < rows; ++row) {
        const double* from = values.data() + row * widths.front();
        run_layers(layers, {from, nullptr, widths.front(), widths.front()},
                   ours.data() + row * widths.back());
      }
    };
    const auto at_once = [&] {
      const Status done = island.value()->run(frame, nullptr, values.data(), rows, theirs.data());
      if (!done.ok()) fail(done.error().message);
    };
    const double ours_ns = best_ns(row_by_row), runtime_ns = best_ns(at_once);
    compare(ours, theirs, name);
    report(name, rows, rows * products_of(layers), ours_ns, runtime_ns);
  }
}

void bench_forest(Backend& runtime) {
  const std::string name = "forest_100x8";
  if (name.find(filter) == std::string::npos) return;
  MadeForest forest(100, 8);
  PlanMaker maker;
  const uint32_t features = maker.field("features", Type::Vector);
  const uint32_t out = maker.only("forest", {features}, Type::Double, forest.attributes());
  const auto plan = maker.read();
  if (!plan.ok()) fail(plan.error().message);
  Frame frame(plan.value()->dictionary(), plan.value()->column_count());
  const onnx::TemporaryDirectory directory;
  ModelSpec spec;
  spec.path = directory.write("forest.onnx", forest.graph());
  const auto model = runtime.load(spec);
  if (!model.ok()) fail(model.error().message);
  const auto scratch = model.value()->make_scratch();
  for (const size_t rows : {1, 8, 64, 1000}) {
    const Reals values = forest.rows(rows);
    const auto ours = [&] {
      frame.begin(static_cast<uint32_t>(rows));
      Column& column = frame.columns[features];
      column.reset(Type::Vector, frame.rows);
      column.reals = values;
      for (size_t row = 1; row <= rows; ++row)
        column.offsets.push_back(row * MadeForest::kFeatures);
      const Status done = plan.value()->run(frame, {}, nullptr);
      if (!done.ok()) fail(done.error().message);
    };
    TensorView in;
    in.dtype = DType::Fp64;
    const int64_t dims[] = {static_cast<int64_t>(rows), MadeForest::kFeatures};
    in.shape = Shape(dims);
    in.data = reinterpret_cast<const uint8_t*>(values.data());
    in.bytes = values.size() * sizeof(double);
    const auto theirs = [&] {
      scratch->release_outputs();
      const uint32_t first[] = {0};
      const Status done = model.value()->run(0, {&in, 1}, first, *scratch, nullptr);
      if (!done.ok()) fail(done.error().message);
    };
    const double ours_ns = best_ns(ours), runtime_ns = best_ns(theirs);
    Reals answers(rows);
    std::memcpy(answers.data(), scratch->outputs()[0].data, rows * sizeof(double));
    compare(frame.columns[out].reals, answers, name);
    report(name, rows, rows * 100, ours_ns, runtime_ns);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) filter = arguments[1];
  const auto runtime = make_onnxruntime_backend("", 1);
  const std::vector<size_t> shapes[] = {
      {8, 8, 2}, {16, 16, 4}, {32, 32, 4}, {64, 64, 8},  {128, 128, 10}, {512, 512, 10},
      {32, 32},  {128, 16},   {128, 128},  {1024, 1024}, {4096, 10},     {784, 512, 256, 10}};
  for (const auto& shape : shapes) bench_layers(*runtime, shape);
  bench_forest(*runtime);
  return 0;
}
