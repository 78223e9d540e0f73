// One run of the analysis over a model: graphs, bodies and functions, node by node. Control plane;
// pure. Borrows the model's bytes.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/rows/prove.h"
#include "backend/rows/rule.h"

namespace serval::rows {

using Opsets = std::map<std::string_view, int64_t>;

// The names of a graph, in addition to those of the enclosing graph.
struct Scope {
  const Scope* outer = nullptr;
  const Opsets* opsets = nullptr;
  std::unordered_map<std::string_view, Value> values;

  const Value* find(std::string_view name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
      const auto found = scope->values.find(name);
      if (found != scope->values.end()) return &found->second;
    }
    return nullptr;
  }
};

class Walk {
 public:
  explicit Walk(const ReadConstant& read_constant) : read_constant_(read_constant) {}

  // Reads the model's graph, functions and versions. False: it cannot be read.
  bool open(ort::Bytes model);
  Symbols& symbols() { return symbols_; }
  // Evaluates the model's own graph with these inputs.
  bool run_model(std::unordered_map<std::string_view, Value> inputs);
  // After run_model(): null if there is none.
  const Value* find(std::string_view name) const { return top_.find(name); }

 private:
  struct Function {
    ort::Bytes bytes;
    std::vector<std::string_view> inputs, outputs;
    Opsets opsets;
  };

  bool read_function(ort::Bytes bytes);
  // Evaluates graphs and bodies: constants, then nodes. Returns the named outputs in order if
  // requested.
  bool run_graph(ort::Bytes graph, uint32_t node_field, Scope& scope,
                 std::vector<std::string_view>* outputs);
  void run_node(const ort::OnnxNode& node, Scope& scope);
  void run_rule(const ort::OnnxNode& node, Scope& scope, const std::vector<const Value*>& inputs);
  // The joined outputs of all cases, for inputs that have alternatives.
  std::vector<Value> cases_of(const ort::OnnxNode& node, Scope& scope, const Rule& rule,
                              const std::vector<const Value*>& inputs);
  // The outputs that the rule returns.
  std::vector<Value> outputs_of(const ort::OnnxNode& node, Scope& scope, const Rule& rule,
                                const std::vector<const Value*>& inputs);
  // A name of the node: different in every call of the function that contains it.
  std::string place_of(const ort::OnnxNode& node) const;
  void run_function(const ort::OnnxNode& node, const Function& function, Scope& scope,
                    const std::vector<const Value*>& inputs);
  std::vector<Value> run_body(ort::Bytes graph, std::vector<Value> inputs, const Scope& around);
  // Returns a value of the enclosing graph that a body reads and that differs between rows.
  const Value* captured(const ort::OnnxNode& node, const Scope& scope) const;
  Value constant(const ort::OnnxTensor& tensor);
  void set_outputs(const ort::OnnxNode& node, Scope& scope, const Value& value);

  const ReadConstant& read_constant_;
  Symbols symbols_;
  ort::Bytes graph_;
  Opsets opsets_;
  std::map<std::string, Function> functions_;
  std::deque<ort::OnnxTensor> tensors_;
  Scope top_;
  std::string calls_;  // the function calls around the current node
  size_t depth_ = 0, nodes_ = 0;
};

}  // namespace serval::rows
