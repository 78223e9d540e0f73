// The rules of operators: when row i of an output depends on row i of the inputs alone. One file
// per family; table.cc puts them together. Control plane; pure.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/rows/value.h"

namespace serval::rows {

// What a rule throws where it cannot show that rows keep apart.
struct Stop {
  Why why;
  bool refused = false;  // the operator refuses these inputs whatever their values are
};
[[noreturn]] void stop(const Stop& reason);
// The operator refuses its inputs: there is no answer that could be wrong.
[[noreturn]] void refuses(std::string why);
// Rows change each other's answers here.
[[noreturn]] void couples(std::string why);
// Nobody knows.
[[noreturn]] void unproven(std::string why);

// A body of If, Loop or Scan, run on values of its inputs: its outputs.
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
  // The node's name among symbols: another one in every call of a function.
  const std::string& place() const { return place_; }

  size_t count() const { return inputs_.size(); }
  bool has(size_t index) const { return index < inputs_.size() && inputs_[index] != nullptr; }
  // Throws where the input is absent.
  const Value& in(size_t index) const;
  // Whether all inputs are the same for all rows.
  bool all_same() const;
  // Throws where the input is there and differs between rows; `what` names it.
  void need_same(size_t index, const char* what) const;
  // Throws where the rank is not known.
  size_t rank(size_t index) const;
  const Dims& dims(size_t index) const;

  int64_t integer(std::string_view name, int64_t fallback) const {
    return node_.integer(name, fallback);
  }
  std::string_view text(std::string_view name, std::string_view fallback) const;
  // nullptr: the node has no such attribute.
  const std::vector<int64_t>* integers(std::string_view name) const;
  // An input of integers that are all known; nullopt where it is absent or they are not.
  std::optional<std::vector<int64_t>> numbers(size_t index) const;
  // Axes by an attribute, or by an input; nullopt: none are given. Throws where not known.
  std::optional<std::vector<int64_t>> axes(std::string_view name, size_t input) const;

  size_t output_count() const { return outputs_.size(); }
  void set(size_t index, Value value) {
    if (index < outputs_.size()) outputs_[index] = std::move(value);
  }
  // Every output.
  void set_all(const Value& value);
  // nullopt: the rule says nothing of it.
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

// The axis that a number means; throws where it means none.
size_t axis_of(int64_t axis, size_t rank);
bool has_axis(const std::vector<int64_t>& axes, size_t axis, size_t rank);

// The value with other dims and axis, rows as before.
Value moved(const Value& from, Dims dims, size_t axis);
// Whether a Cast (or Identity) to its type keeps numbers of rows and sizes as they are.
bool keeps_integers(const Call& call);
// Inputs of elementwise operators: the dims and the axis of the output. Throws where rows meet
// anything but their own row. Value::same() with unknown dims where those are not known.
Value broadcast(Call& call, std::span<const Value* const> values);
// The output of an operator that looks at one element at a time, some of Kind::Pieces. Throws
// where pieces of several lengths meet, or anything but one element for all.
Value pieces_of(Call& call);
// The value under another shape; throws where rows do not stay together.
Value reshaped(Call& call, const Value& from, const Dims& target);
// What a contraction of labelled axes answers: "bij", "bjk" -> "bik". Throws where rows meet.
Value contracted(Call& call, std::span<const Value* const> values,
                 std::span<const std::string> labels, const std::string& out);

// A value that is one of two: what both have in common, or the one instead of the other. `where`
// names it among all. Throws where that is not followed.
Value joined(Symbols& symbols, const Value& a, const Value& b, const std::string& where);

struct Rule {
  const char* family;  // heading of the documentation's table
  const char* says;    // when rows keep apart, for the documentation
  const char* domain;  // "" = ai.onnx
  std::vector<const char*> ops;
  void (*apply)(Call& call) = nullptr;  // null: `says` tells why rows are coupled
  bool takes_counts = false;            // knows Kind::Counts
  bool takes_numbers = false;           // knows Kind::Numbers
  bool random = false;                  // couples whatever its inputs are
  bool takes_pieces = false;            // knows Kind::Pieces and Kind::Extents
  bool takes_either = false;            // knows Value::instead; else it is applied to each case
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
std::vector<Rule> control_rules();
std::vector<Rule> classical_rules();
std::vector<Rule> ragged_rules();
std::vector<Rule> serval_rules();
std::vector<Rule> coupling_rules();

}  // namespace serval::rows
