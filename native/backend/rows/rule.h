// The rules of operators: when row i of an output depends on row i of the inputs alone. One file
// per family; all_rules.cc combines them. Control plane; pure.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/rows/value.h"

namespace serval::rows {

// Thrown by a rule that cannot show that rows are independent.
struct Stop {
  Why why;
  bool refused = false;  // the operator refuses these inputs, whatever their values
};
[[noreturn]] void stop(const Stop& reason);
// The operator refuses its inputs, so no result could be wrong.
[[noreturn]] void refuses(std::string why);
// Rows influence each other's results here.
[[noreturn]] void couples(std::string why);
// Whether rows are independent is unknown.
[[noreturn]] void unproven(std::string why);

// Runs a body of If, Loop or Scan on values of its inputs and returns its outputs.
using RunBody = std::function<std::vector<Value>(ort::Bytes graph, std::vector<Value> inputs)>;

// One node with what is known of its inputs. A rule sets the outputs that it knows.
class Call {
 public:
  Call(const ort::OnnxNode& node, int64_t opset, std::vector<const Value*> inputs, Symbols& symbols,
       const RunBody& run_body, std::string place)
      : node_(node),
        place_(std::move(place)),
        opset_(opset),
        inputs_(std::move(inputs)),
        symbols_(symbols),
        run_body_(run_body),
        outputs_(node.outputs.size()) {}

  const ort::OnnxNode& node() const { return node_; }
  std::string_view op() const { return node_.op; }
  int64_t opset() const { return opset_; }
  Symbols& symbols() { return symbols_; }
  const RunBody& run_body() const { return run_body_; }
  // The node's name in symbols: different in every call of a function.
  const std::string& place() const { return place_; }

  size_t count() const { return inputs_.size(); }
  bool has(size_t index) const { return index < inputs_.size() && inputs_[index] != nullptr; }
  // Throws if the input is absent.
  const Value& in(size_t index) const;
  // Whether all inputs are the same for all rows.
  bool all_same() const;
  // Throws if the input is present and differs between rows; `what` names it.
  void need_same(size_t index, const char* what) const;
  // Throws if the rank is unknown.
  size_t rank(size_t index) const;
  const Dims& dims(size_t index) const;

  int64_t integer(std::string_view name, int64_t fallback) const {
    return node_.integer(name, fallback);
  }
  std::string_view text(std::string_view name, std::string_view fallback) const;
  // nullptr: the node has no such attribute.
  const std::vector<int64_t>* integers(std::string_view name) const;
  // An input of integers that are all known; nullopt if it is absent or they are not.
  std::optional<std::vector<int64_t>> numbers(size_t index) const;
  // Axes from an attribute, or from an input; nullopt: none are given. Throws if they are unknown.
  std::optional<std::vector<int64_t>> axes(std::string_view name, size_t input) const;

  size_t output_count() const { return outputs_.size(); }
  void set(size_t index, Value value) {
    if (index < outputs_.size()) outputs_[index] = std::move(value);
  }
  // Sets every output.
  void set_all(const Value& value);
  // nullopt: the rule sets nothing for it.
  const std::vector<std::optional<Value>>& outputs() const { return outputs_; }

  Dim fresh() { return symbols_.fresh_dim(); }
  Dims fresh_dims(size_t rank);

 private:
  const ort::OnnxNode& node_;
  const std::string place_;
  const int64_t opset_;
  const std::vector<const Value*> inputs_;
  Symbols& symbols_;
  const RunBody& run_body_;
  std::vector<std::optional<Value>> outputs_;
};

// The axis for a number that may be negative; throws if it is out of range.
size_t axis_of(int64_t axis, size_t rank);
bool has_axis(const std::vector<int64_t>& axes, size_t axis, size_t rank);

// The value with other dims and axis; its rows are unchanged.
Value moved(const Value& from, Dims dims, size_t axis);
// Whether a Cast (or Identity) to its type preserves row numbers and sizes.
bool keeps_integers(const Call& call);
// Combines the inputs of an elementwise operator: the dims and the axis of the output. Throws if
// rows meet rows other than their own. Value::same() with unknown dims if the dims are unknown.
Value broadcast(Call& call, std::span<const Value* const> values);
// The output of an operator that handles one element at a time, with some inputs of Kind::Pieces.
// Throws if pieces of different lengths meet, or another input is not a single element for all.
Value pieces_of(Call& call);
// The value in another shape; throws if rows are not kept together.
Value reshaped(Call& call, const Value& from, const Dims& target);
// The result of a contraction of labelled axes: "bij", "bjk" -> "bik". Throws if rows meet.
Value contracted(Call& call, std::span<const Value* const> values,
                 std::span<const std::string> labels, const std::string& out);

// A value that is one of two: what both have in common, or one with the other as alternative.
// `where` identifies it. Throws if that is not supported.
Value joined(Symbols& symbols, const Value& a, const Value& b, const std::string& where);

struct Rule {
  const char* family;  // heading of the documentation's table
  const char* says;    // when rows are independent, for the documentation
  const char* domain;  // "" = ai.onnx
  std::vector<const char*> ops;
  void (*apply)(Call& call) = nullptr;  // null: `says` gives the reason why rows are coupled
  bool takes_counts = false;            // supports Kind::Counts
  bool takes_numbers = false;           // supports Kind::Numbers
  bool random = false;                  // couples rows whatever its inputs are
  bool takes_pieces = false;            // supports Kind::Pieces and Kind::Extents
  // supports Value::instead; otherwise it is applied to each case
  bool takes_either = false;
};

// Every rule, by family.
const std::vector<Rule>& all_rules();
// Null: there is none.
const Rule* find_rule(std::string_view domain, std::string_view op);
// The table of docs/guides/batching.md.
std::string rules_as_markdown();

// The families, in the order of the table.
std::vector<Rule> elementwise_rules();
std::vector<Rule> layout_rules();
std::vector<Rule> shape_rules();
std::vector<Rule> selection_rules();
std::vector<Rule> gather_rules();
std::vector<Rule> product_rules();
std::vector<Rule> window_rules();
std::vector<Rule> normal_rules();
std::vector<Rule> reduction_rules();
std::vector<Rule> recurrent_rules();
std::vector<Rule> attention_rules();
std::vector<Rule> control_flow_rules();
std::vector<Rule> classical_rules();
std::vector<Rule> ragged_rules();
std::vector<Rule> serval_rules();
std::vector<Rule> coupling_rules();

}  // namespace serval::rows
