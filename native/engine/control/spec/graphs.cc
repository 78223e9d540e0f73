// Reads graphs, weights, states and operator libraries of a model spec. Control plane, any thread.
#include "engine/control/spec/codec.h"
#include "engine/control/spec/unpack.h"

namespace serval {

namespace {

Error bad(const std::string& place, const std::string& what) {
  return invalid_argument("model spec: " + place + " " + what);
}

std::string place_of(const char* member, size_t index) {
  return std::string(member) + "[" + std::to_string(index) + "]";
}

// Every index must be below `count`.
Status check_index(const std::string& place, uint64_t index, size_t count, const char* of) {
  if (index < count) return ok_status();
  return bad(place, "is " + std::to_string(index) + ", expected less than the number of " + of +
                        ", " + std::to_string(count));
}

// Checks that a weight has exactly the bytes of its elements.
Status check_weight(const std::string& place, const Weight& weight) {
  if (weight.dims.size() > kRankMax) {
    return bad(place + ".dims", "are " + std::to_string(weight.dims.size()) +
                                    ", expected at most " + std::to_string(kRankMax));
  }
  const std::optional<uint64_t> elements = Shape(weight.dims).elements();
  const size_t width = dtype_bytes(weight.datatype);
  uint64_t expected = 0;
  if (!elements || width == 0 || __builtin_mul_overflow(*elements, width, &expected)) {
    return bad(place, "('" + weight.name + "') has no size in bytes");
  }
  if (expected == weight.bytes) return ok_status();
  return bad(place + ".bytes", "is " + std::to_string(weight.bytes) + ", expected " +
                                   std::to_string(expected) + " for " +
                                   Shape(weight.dims).to_string() + " of " +
                                   std::string(dtype_name(weight.datatype)));
}

Status read_weights(const fb::ModelSpec& from, ModelSpec& spec) {
  unpack(from.weight_files(), spec.weight_files);
  unpack(from.weights(), spec.weights);
  if (spec.weights.size() > kWeightsMax) {
    return bad("weights", "are " + std::to_string(spec.weights.size()) + ", expected at most " +
                              std::to_string(kWeightsMax));
  }
  for (size_t i = 0; i < spec.weights.size(); ++i) {
    const std::string place = place_of("weights", i);
    Status fits = check_weight(place, spec.weights[i]);
    if (fits.ok()) {
      fits = check_index(place + ".file", spec.weights[i].file, spec.weight_files.size(),
                         "weight_files");
    }
    if (!fits.ok()) return fits;
  }
  return ok_status();
}

Status read_states(const fb::ModelSpec& from, ModelSpec& spec) {
  unpack(from.states(), spec.states);
  for (size_t i = 0; i < spec.states.size(); ++i) {
    Status fits =
        check_index(place_of("states", i), spec.states[i], spec.weights.size(), "weights");
    if (!fits.ok()) return fits;
  }
  return ok_status();
}

Status read_graph(const fb::GraphSpec& from, const std::string& place, const ModelSpec& spec,
                  GraphSpec& graph) {
  Result<Signature> signature = read_signature(*from.signature());
  if (!signature.ok()) return std::move(signature.error());
  graph.signature = std::move(signature.value());
  unpack(from.model(), graph.model);
  unpack(from.input_names(), graph.input_names);
  unpack(from.output_names(), graph.output_names);
  unpack(from.weights(), graph.weights);
  unpack(from.states(), graph.states);
  if (graph.input_names.size() != graph.signature.inputs.size() ||
      graph.output_names.size() != graph.signature.outputs.size()) {
    return bad(place, "names " + std::to_string(graph.input_names.size()) + " inputs and " +
                          std::to_string(graph.output_names.size()) + " outputs, expected " +
                          std::to_string(graph.signature.inputs.size()) + " and " +
                          std::to_string(graph.signature.outputs.size()));
  }
  for (const uint32_t weight : graph.weights) {
    Status fits = check_index(place + ".weights", weight, spec.weights.size(), "weights");
    if (!fits.ok()) return fits;
  }
  for (const GraphState& one : graph.states) {
    Status fits = check_index(place + ".states", one.state, spec.states.size(), "states");
    if (!fits.ok()) return fits;
  }
  return ok_status();
}

// The runtime reads the paths as C strings.
Status read_libraries(const fb::ModelSpec& from, ModelSpec& spec) {
  unpack(from.operator_libraries(), spec.operator_libraries);
  if (spec.operator_libraries.size() > kOperatorLibrariesMax) {
    return bad("operator_libraries", "are " + std::to_string(spec.operator_libraries.size()) +
                                         ", expected at most " +
                                         std::to_string(kOperatorLibrariesMax));
  }
  for (size_t i = 0; i < spec.operator_libraries.size(); ++i) {
    const std::string& path = spec.operator_libraries[i];
    if (path.starts_with('/') && path.find('\0') == std::string::npos) continue;
    return bad(place_of("operator_libraries", i), "is '" + path + "', expected an absolute path");
  }
  if (spec.operator_libraries.empty()) return ok_status();
  if (spec.backend == "onnxruntime" && from.graphs() == nullptr) return ok_status();
  return bad("operator_libraries", "are set, expected them for an ONNX file only");
}

}  // namespace

Status read_graphs(const fb::ModelSpec& from, ModelSpec& spec) {
  Status read = read_weights(from, spec);
  if (read.ok()) read = read_states(from, spec);
  if (read.ok()) read = read_libraries(from, spec);
  if (!read.ok() || from.graphs() == nullptr) return read;
  if (from.graphs()->size() > kGraphsMax) {
    return bad("graphs", "are " + std::to_string(from.graphs()->size()) + ", expected at most " +
                             std::to_string(kGraphsMax));
  }
  for (const fb::GraphSpec* one : *from.graphs()) {
    const std::string place = place_of("graphs", spec.graphs.size());
    read = read_graph(*one, place, spec, spec.graphs.emplace_back());
    if (!read.ok()) return read;
  }
  return read;
}

}  // namespace serval
