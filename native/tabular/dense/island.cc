// Loading and running layers as a graph on ONNX Runtime. Hot path.
#include "tabular/dense/island.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "tabular/dense/graph.h"

namespace serval::tabular {
namespace {

// Thresholds measured in docs/decisions/0014.
constexpr size_t kProductsMin = 1u << 10;     // of a row
constexpr size_t kRunProductsMin = 1u << 18;  // of all rows
constexpr size_t kRowsMin = 16;
// The graph holds a second copy of the weights, besides the plan's.
constexpr size_t kProductsMax = 1u << 26;
constexpr size_t kRunRowsMax = 1024;
constexpr size_t kRunValuesMax = 1u << 20;  // of a run's rows, into or out of a layer
constexpr size_t kWidthMax = kRunValuesMax / kRowsMin;

size_t widest_of(std::span<const DenseLayer> layers) {
  size_t widest = 0;
  for (const DenseLayer& layer : layers) {
    widest = std::max({widest, layer.inputs, layer.outputs});
  }
  return widest;
}

TensorSpec tensor_spec(const char* name, size_t width) {
  TensorSpec made;
  made.name = name;
  made.dtype = DType::Fp64;
  made.dims = {-1, static_cast<int64_t>(width)};
  made.symbols.resize(2);
  return made;
}

}  // namespace

bool Island::is_worth(std::span<const DenseLayer> layers) {
  const size_t products = products_of(layers);
  return products >= kProductsMin && products <= kProductsMax && widest_of(layers) <= kWidthMax;
}

Result<std::unique_ptr<Island>> Island::load(Backend& runtime, uint32_t number,
                                             std::span<const DenseLayer> layers) {
  GraphSpec graph;
  graph.signature.name = "layers";
  graph.signature.inputs = {tensor_spec(kGraphInput, layers.front().inputs)};
  graph.signature.outputs = {tensor_spec(kGraphOutput, layers.back().outputs)};
  graph.input_names = {kGraphInput};
  graph.output_names = {kGraphOutput};
  graph.model = write_graph(layers);
  ModelSpec spec;
  spec.name = "island " + std::to_string(number);
  spec.graphs.push_back(std::move(graph));
  auto model = runtime.load(spec);
  if (!model.ok()) return std::move(model.error());
  return std::make_unique<Island>(std::move(model.value()), number, layers);
}

Island::Island(std::shared_ptr<BackendModel> model, uint32_t number,
               std::span<const DenseLayer> layers)
    : model_(std::move(model)),
      number_(number),
      inputs_(layers.front().inputs),
      outputs_(layers.back().outputs),
      products_(products_of(layers)),
      rows_max_(std::min(kRunValuesMax / widest_of(layers), kRunRowsMax)) {}

bool Island::is_worth(size_t rows) const {
  return rows >= kRowsMin && rows * products_ >= kRunProductsMin;
}

Status Island::run(Frame& frame, const CancelFlag* cancel, const double* values, size_t rows,
                   double* out) const {
  auto& kept = frame.islands;
  if (kept.size() <= number_) kept.resize(number_ + 1);
  if (kept[number_] == nullptr) kept[number_] = model_->make_scratch();
  BackendScratch& scratch = *kept[number_];
  TensorView in;
  in.dtype = DType::Fp64;
  const int64_t dims[] = {static_cast<int64_t>(rows), static_cast<int64_t>(inputs_)};
  in.shape = Shape(dims);
  in.data = reinterpret_cast<const uint8_t*>(values);
  in.bytes = rows * inputs_ * sizeof(double);
  constexpr uint32_t kFirst[] = {0};
  Status done = model_->run(0, {&in, 1}, kFirst, scratch, serval::RunOptions(cancel));
  if (done.ok()) {
    const TensorView& answers = scratch.outputs()[0];
    const size_t bytes = rows * outputs_ * sizeof(double);
    if (answers.bytes == bytes) std::memcpy(out, answers.data, bytes);
    else done = make_error(ErrorCode::Internal, "island: the response has an unexpected size");
  }
  scratch.release_outputs();
  return done;
}

}  // namespace serval::tabular
