// Known properties of a graph's values before it runs: element types, and the shapes and contents
// that cannot change. Nothing is guessed: anything uncertain is unknown. Control plane, loading
// thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/onnx/model.h"

namespace serval::ort {

struct KnownValue {
  OnnxType type = OnnxType::Unknown;
  std::optional<std::vector<int64_t>> dims;  // -1: not fixed
  std::optional<OnnxTensor> constant;        // an initializer or a Constant's value
  Bytes type_bytes;                          // the TypeProto, if the model states one

  // Whether every dim is fixed and none is 0.
  bool is_filled() const;
};

class OnnxFunctions;

// The values of one graph, in addition to those of the enclosing graph.
class OnnxTypes {
 public:
  // For a model's graph or a function; `functions` outlives this.
  explicit OnnxTypes(OnnxFunctions& functions) : outer_(nullptr), functions_(functions) {}
  // For a body.
  explicit OnnxTypes(const OnnxTypes* outer) : outer_(outer), functions_(outer->functions_) {}

  // Adds what a GraphProto or FunctionProto declares of its values; false if it cannot be read.
  bool add_graph(Bytes graph);
  bool add_function(Bytes function);
  void add_type(std::string_view name, OnnxType type);
  // Adds the outputs of a node whose inputs were added.
  void add_node(const OnnxNode& node);
  // Null: nothing is known.
  const KnownValue* find(std::string_view name) const;
  OnnxType type_of(std::string_view name) const {
    const KnownValue* known = find(name);
    return known == nullptr ? OnnxType::Unknown : known->type;
  }

 private:
  // The dims of a node's first output, if its operator preserves what is known of the first input.
  std::optional<std::vector<int64_t>> dims_of(const OnnxNode& node) const;
  void add_outputs_of(const OnnxNode& node, Bytes body, size_t skipped);
  bool add_declared(const WireField& field, bool fixed);

  const OnnxTypes* const outer_;
  OnnxFunctions& functions_;
  std::unordered_map<std::string_view, KnownValue> values_;
};

// A model's own functions, with the input and output types of their calls. Borrows the model's
// bytes.
class OnnxFunctions {
 public:
  // Follows every call, starting from the model's graph; false if the model cannot be read.
  bool read(Bytes model);
  // Whether the node calls one, whatever else its name means.
  bool has(const OnnxNode& node) const { return functions_.contains(key_of(node)); }
  // The types of a call's outputs; empty if they are unknown.
  std::vector<OnnxType> outputs_of_call(const OnnxNode& node, const OnnxTypes& types);
  // Adds the inputs of a function (a FunctionProto) whose type is the same in every call.
  void add_inputs(Bytes function, OnnxTypes& types) const;

 private:
  struct Function {
    Bytes bytes;
    std::vector<std::string_view> inputs, outputs;
    bool twice = false, called = false;
    std::vector<OnnxType> given;                                   // of every call
    std::map<std::vector<OnnxType>, std::vector<OnnxType>> known;  // input types -> output types
  };
  static std::string key_of(std::string_view domain, std::string_view name,
                            std::string_view overload);
  static std::string key_of(const OnnxNode& node) {
    return key_of(node.domain, node.op, node.overload);
  }
  static bool read_function(Bytes bytes, Function& function, std::string& key);
  bool add(Bytes bytes);
  bool follow(Bytes graph, uint32_t node_field, OnnxTypes& types);
  const std::vector<OnnxType>& run(Function& function, const std::vector<OnnxType>& inputs);

  std::map<std::string, Function> functions_;
  size_t runs_ = 0, depth_ = 0;
  bool follows_ = true, readable_ = true, gave_up_ = false;
};

constexpr bool is_floating(OnnxType type) {
  return type == OnnxType::Float || type == OnnxType::Double || type == OnnxType::Float16 ||
         type == OnnxType::Bfloat16;
}

}  // namespace serval::ort
