// A model for MultiInference, and messages for it. Its Examples are numbers, the largest of which
// starts an endless run.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "engine/engine_fixture.h"
#include "support/onnxruntime_fixture.h"
#include "support/wire_tf_support.h"

namespace serval::test {

inline const std::string kForever = std::to_string(std::numeric_limits<int64_t>::max());

inline EngineOptions tasks_options() {
  EngineOptions options;
  options.onnxruntime_library = onnxruntime_library();
  options.unload_ms_max = 50;
  return options;
}

// One signature: y of its numbers as `output`, [batch] or with one more dimension.
inline GraphSpec graph(const std::string& name, const std::string& input,
                       const std::string& output) {
  const std::vector<onnx::Dim> batch{std::string("batch")};
  onnx::Model model;
  model.node("Cast", {"inputs"}, {"trips"}, {onnx::attribute("to", int64_t{onnx::kInt64})});
  onnx::add_endless_loop(model);
  model.node("Cast", {"y"}, {"outputs"}, {onnx::attribute("to", int64_t{onnx::kFloat})});
  model.input("inputs", onnx::kString, batch);
  GraphSpec graph;
  graph.signature.name = name;
  graph.signature.inputs = {tensor_spec(input, DType::Bytes, {-1})};
  if (output == "scores") {
    model.initializer<int64_t>("axis", onnx::kInt64, {1}, {1});
    model.node("Unsqueeze", {"outputs", "axis"}, {"scores"});
    model.output("scores", onnx::kFloat, std::vector<onnx::Dim>{std::string("batch"), int64_t{1}});
    graph.signature.outputs = {tensor_spec(output, DType::Fp32, {-1, 1})};
  } else {
    model.output("outputs", onnx::kFloat, batch);
    graph.signature.outputs = {tensor_spec(output, DType::Fp32, {-1})};
  }
  const std::string bytes = model.to_bytes();
  graph.model.assign(bytes.begin(), bytes.end());
  graph.input_names = {"inputs"};
  graph.output_names = {output};
  return graph;
}

// ModelSpec as field 1, for any of the three requests and for a task.
inline WireBuilder spec_of(const std::string& model, const std::string& signature) {
  WireBuilder spec;
  spec.bytes(1, model);
  if (!signature.empty()) spec.bytes(3, signature);
  return WireBuilder().message(1, spec);
}

inline std::string verb_of(const std::string& signature) {
  return signature == "c" ? "classify" : "regress";
}

inline WireBuilder task(const std::string& signature, const std::string& verb,
                        const std::string& model = "m") {
  return spec_of(model, signature).bytes(2, "tensorflow/serving/" + verb);
}

inline WireBuilder input_of(const std::vector<std::string>& examples) {
  WireBuilder list;
  for (const std::string& example : examples) list.bytes(1, example);
  return WireBuilder().message(1, list);
}

// A request with a task for each signature.
inline std::string multi(const std::vector<std::string>& signatures,
                         const std::vector<std::string>& examples) {
  WireBuilder request;
  for (const std::string& one : signatures) request.message(1, task(one, verb_of(one)));
  return request.message(2, input_of(examples)).str();
}

// Signatures c (classify), r and s (regress), and p, which is neither.
inline ModelSpec tasks_spec(ExecMode exec, int instances = 1) {
  ModelSpec spec;
  spec.name = "m";
  spec.version = 3;
  spec.backend = "onnxruntime";
  spec.exec_mode = exec;
  spec.instances = instances;
  spec.batch_dim = true;
  spec.graphs = {graph("c", "inputs", "scores"), graph("r", "inputs", "outputs"),
                 graph("s", "inputs", "outputs"), graph("p", "x", "outputs")};
  return spec;
}

}  // namespace serval::test
