// How a model runs on a GPU: with CUDA graphs, or with a session for each of a few batch sizes if
// its operators are planned by shape. Control plane, the loading thread.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "backend/onnx/device_shapes.h"
#include "backend/onnxruntime/session.h"

namespace serval::ort {

// The decisions of one load, in the order of the calls.
class GraphChoice {
 public:
  // `no_graphs`: why there can be none; "" = there may be.
  explicit GraphChoice(std::string no_graphs = {}) : why_(std::move(no_graphs)) {}

  // `on_device`: Serval copies to and from the device itself (CUDA's runtime library is present).
  void decide(const ModelSpec& spec, bool on_device, const DeviceShapes& shapes);
  // Makes a session for each fixed size but the largest. A size whose session cannot be made is
  // dropped with the smaller ones: batches are padded to the next one.
  std::vector<SizedSession> make_sizes(const OrtApi& api,
                                       const std::function<OrtStatus*(SessionHandle&)>& create);
  // Adds the sessions to a model on a GPU, and prepares it.
  void prepare(std::vector<SizedSession> sizes, OrtModel& model);

  std::vector<uint32_t> graph_rows;  // the batch sizes to record; empty = none
  bool all_fixed = false;            // every shape is known: graphs are recorded at load

 private:
  bool sized_ = false;
  std::string why_;
  std::vector<uint32_t> fixed_rows_;
};

// Adds what another signature of the same model does.
void add_device_runs(const DeviceRuns& more, DeviceRuns& runs);

// Loads a model by `load`; a model that may run without graphs and cannot have them is loaded again
// without.
template <typename Loaded, typename Load>
Result<Loaded> load_by_choice(const ModelSpec& spec, const Load& load) {
  GraphChoice first;
  Result<Loaded> loaded = load(first);
  if (first.graph_rows.empty() || spec.graph_use == GraphUse::Required) return loaded;
  std::string why;
  if (!loaded.ok()) {
    why = loaded.error().message;
  } else if (first.all_fixed && loaded.value()->info().device_runs.graph_rows.empty()) {
    why = "no run could be recorded";
  } else {
    return loaded;
  }
  if (loaded.ok()) loaded.value().reset();
  GraphChoice plain(std::move(why));
  return load(plain);
}

}  // namespace serval::ort
