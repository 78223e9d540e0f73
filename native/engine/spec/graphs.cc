// Graphs, weights and states of a model spec; see codec.h. Control plane, any thread.
#include "engine/spec/codec.h"

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

// The bytes of a weight are its elements, no more and no less.
Status check_weight(const std::string& place, const WeightSpec& weight) {
  if (weight.dims.size() > kRankMax) {
    return bad(place + ".dims", "are " + std::to_string(weight.dims.size()) +
                                    ", expected at most " + std::to_string(kRankMax));
  }
  const std::optional<uint64_t> elements = Shape(weight.dims).elements();
  const size_t width = dtype_bytes(weight.dtype);
  uint64_t expected = 0;
  if (!elements || width == 0 || __builtin_mul_overflow(*elements, width, &expected)) {
    return bad(place, "('" + weight.name + "') has no size in bytes");
  }
  if (expected == weight.bytes) return ok_status();
  return bad(place + ".bytes", "is " + std::to_string(weight.bytes) + ", expected " +
                                   std::to_string(expected) + " for " +
                                   Shape(weight.dims).to_string() + " of " +
                                   std::string(dtype_name(weight.dtype)));
}

Status read_weights(const fb::ModelSpec& from, ModelSpec& spec) {
  if (from.weight_files() != nullptr) {
    for (const flatbuffers::String* file : *from.weight_files()) {
      spec.weight_files.push_back(file->str());
    }
  }
  if (from.weights() == nullptr) return ok_status();
  if (from.weights()->size() > kWeightsMax) {
    return bad("weights", "are " + std::to_string(from.weights()->size()) + ", expected at most " +
                              std::to_string(kWeightsMax));
  }
  for (const fb::Weight* one : *from.weights()) {
    const std::string place = place_of("weights", spec.weights.size());
    WeightSpec& weight = spec.weights.emplace_back();
    weight.name = one->name()->str();
    weight.dtype = one->dtype();
    if (one->dims() != nullptr) weight.dims.assign(one->dims()->begin(), one->dims()->end());
    weight.file = one->file();
    weight.offset = one->offset();
    weight.bytes = one->bytes();
    weight.has_crc32c = one->has_crc32c();
    weight.masked_crc32c = one->masked_crc32c();
    Status fits = check_weight(place, weight);
    if (fits.ok()) {
      fits = check_index(place + ".file", weight.file, spec.weight_files.size(), "weight_files");
    }
    if (!fits.ok()) return fits;
  }
  return ok_status();
}

Status read_states(const fb::ModelSpec& from, ModelSpec& spec) {
  if (from.states() == nullptr) return ok_status();
  for (const uint32_t weight : *from.states()) {
    const std::string place = place_of("states", spec.states.size());
    Status fits = check_index(place, weight, spec.weights.size(), "weights");
    if (!fits.ok()) return fits;
    spec.states.push_back(weight);
  }
  return ok_status();
}

void read_names(const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* from,
                std::vector<std::string>& names) {
  if (from == nullptr) return;
  for (const flatbuffers::String* name : *from) names.push_back(name->str());
}

Status read_graph_states(const fb::GraphSpec& from, const std::string& place, const ModelSpec& spec,
                         GraphSpec& graph) {
  if (from.states() == nullptr) return ok_status();
  for (const fb::GraphState* one : *from.states()) {
    Status fits = check_index(place + ".states", one->state(), spec.states.size(), "states");
    if (!fits.ok()) return fits;
    GraphState& state = graph.states.emplace_back();
    state.state = one->state();
    state.input = one->input()->str();
    if (one->output() != nullptr) state.output = one->output()->str();
  }
  return ok_status();
}

Status read_graph(const fb::GraphSpec& from, const std::string& place, const ModelSpec& spec,
                  GraphSpec& graph) {
  Result<Signature> signature = read_signature(*from.signature());
  if (!signature.ok()) return std::move(signature.error());
  graph.signature = std::move(signature.value());
  graph.model.assign(from.model()->begin(), from.model()->end());
  read_names(from.input_names(), graph.input_names);
  read_names(from.output_names(), graph.output_names);
  if (graph.input_names.size() != graph.signature.inputs.size() ||
      graph.output_names.size() != graph.signature.outputs.size()) {
    return bad(place, "names " + std::to_string(graph.input_names.size()) + " inputs and " +
                          std::to_string(graph.output_names.size()) + " outputs, expected " +
                          std::to_string(graph.signature.inputs.size()) + " and " +
                          std::to_string(graph.signature.outputs.size()));
  }
  if (from.weights() != nullptr) {
    for (const uint32_t weight : *from.weights()) {
      Status fits = check_index(place + ".weights", weight, spec.weights.size(), "weights");
      if (!fits.ok()) return fits;
      graph.weights.push_back(weight);
    }
  }
  return read_graph_states(from, place, spec, graph);
}

}  // namespace

Status read_graphs(const fb::ModelSpec& from, ModelSpec& spec) {
  Status read = read_weights(from, spec);
  if (read.ok()) read = read_states(from, spec);
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
