// What is known of a graph's values before it runs: element types, and the shapes and contents that
// cannot change. Nothing is guessed: what is not certain is unknown. Control plane, loading thread.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/onnx_model.h"

namespace serval::ort {

struct KnownValue {
  OnnxType type = OnnxType::Unknown;
  std::optional<std::vector<int64_t>> dims;    // -1: not fixed
  std::optional<OnnxTensor> constant;          // an initializer or a Constant's value
  Bytes type_bytes;                            // the TypeProto, where the model states one

  // Whether every dim is fixed and none is 0.
  bool is_filled() const;
};

// The values of one graph, over those of the graph around it.
class OnnxTypes {
 public:
  explicit OnnxTypes(const OnnxTypes* outer) : outer_(outer) {}

  // Takes what a GraphProto or FunctionProto says of its values; false where it cannot be read.
  bool add_graph(Bytes graph);
  bool add_function(Bytes function);
  // Takes the outputs of a node whose inputs were added.
  void add_node(const OnnxNode& node);
  // Null: nothing is known.
  const KnownValue* find(std::string_view name) const;
  OnnxType type_of(std::string_view name) const {
    const KnownValue* known = find(name);
    return known == nullptr ? OnnxType::Unknown : known->type;
  }

 private:
  void add_type(std::string_view name, OnnxType type);
  void add_outputs_of(const OnnxNode& node, Bytes body, size_t skipped);
  bool add_declared(const WireField& field, bool fixed);

  const OnnxTypes* const outer_;
  std::unordered_map<std::string_view, KnownValue> values_;
};

constexpr bool is_floating(OnnxType type) {
  return type == OnnxType::Float || type == OnnxType::Double || type == OnnxType::Float16 ||
         type == OnnxType::Bfloat16;
}

}  // namespace serval::ort
