// Rules of If, Loop and Scan: what their bodies do to the rows. See rule.h.
#include <algorithm>

#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

ort::Bytes body_of(Call& call, std::string_view name) {
  const ort::OnnxAttribute* found = call.node().attribute(name);
  if (found == nullptr || !found->graph) unproven("the body is missing");
  return *found->graph;
}

// Names one of this node's values.
std::string name_of(const Call& call, const char* what, size_t index) {
  return call.place() + " " + what + " " + std::to_string(index);
}

void branch(Call& call) {
  call.need_same(0, "the condition");
  if (const std::optional<std::vector<int64_t>> known = call.numbers(0);
      known && known->size() == 1) {
    const bool taken = known->front() != 0;
    std::vector<Value> values =
        call.run_body()(body_of(call, taken ? "then_branch" : "else_branch"), {});
    for (size_t i = 0; i < values.size(); ++i) call.set(i, std::move(values[i]));
    return;
  }
  const std::vector<Value> yes = call.run_body()(body_of(call, "then_branch"), {});
  const std::vector<Value> no = call.run_body()(body_of(call, "else_branch"), {});
  if (yes.size() != no.size()) unproven("the bodies have different numbers of outputs");
  for (size_t i = 0; i < yes.size(); ++i) {
    call.set(i, joined(call.symbols(), yes[i], no[i], name_of(call, "output", i)));
  }
}

bool same_state(const Value& a, const Value& b) {
  if ((a.instead == nullptr) != (b.instead == nullptr)) return false;
  if (a.instead != nullptr && !same_state(*a.instead, *b.instead)) return false;
  return a.kind == b.kind && a.dims == b.dims && a.axis == b.axis && a.cells == b.cells &&
         a.stride == b.stride && a.columns == b.columns;
}

// The state at the start of a loop: integers that are the same for all rows change in each step.
Value carried_value(Value value) {
  if (value.instead != nullptr) {
    value.instead = std::make_shared<Value>(carried_value(*value.instead));
  }
  if (!value.varies()) value.cells.reset();
  value.tensor = nullptr;
  return value;
}

// The value after stacking: the axis of the rows moves by the new first axis.
Value stacked(Call& call, const Value& value, size_t axis) {
  if (value.kind == Kind::Mixed) stop(Stop{*value.why});
  if (value.varies() && !value.is_rows()) couples("it stacks numbers of rows");
  if (value.instead != nullptr) unproven("only some of its steps have rows");
  if (!value.dims) return Value::same();
  Dims dims = *value.dims;
  if (axis > dims.size()) unproven("an axis is out of range");
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), call.fresh());
  if (!value.varies()) return Value::same(std::move(dims));
  return Value::rows(std::move(dims), value.axis + (axis <= value.axis ? 1 : 0));
}

constexpr size_t kRoundsMax = 5;

// Runs a body until the knowledge about the carried values no longer changes; returns its outputs
// then. `first`: the number of outputs before the carried ones. This is sound because a batch and
// each row alone take the same steps, and the knowledge holds for the carried values before the
// first step. Each round joins it with the result of one more step. Once it is unchanged, it holds
// after every step, by induction. A symbol represents the size in the current step; one that
// differs between steps gets the name of its place, which no other value has.
std::vector<Value> settled(Call& call, ort::Bytes body, std::vector<Value>& inputs, size_t before,
                           size_t carried, size_t first) {
  for (size_t round = 0; round < kRoundsMax; ++round) {
    std::vector<Value> outputs = call.run_body()(body, inputs);
    if (outputs.size() < first + carried) unproven("the body has too few outputs");
    bool stays = true;
    for (size_t i = 0; i < carried; ++i) {
      Value& now = inputs[before + i];
      Value next = joined(call.symbols(), now, outputs[first + i], name_of(call, "carried", i));
      stays &= same_state(now, next);
      now = std::move(next);
    }
    if (stays) return outputs;
  }
  unproven("the shapes of its carried values differ after every iteration");
}

// Trip count, condition, carried values.
void loop(Call& call) {
  call.need_same(0, "the number of steps");
  call.need_same(1, "the condition");
  const size_t carried = call.count() > 2 ? call.count() - 2 : 0;
  std::vector<Value> inputs = {Value::same(Dims()), Value::same(Dims())};
  for (size_t i = 0; i < carried; ++i) {
    inputs.push_back(carried_value(call.in(i + 2)));
  }
  const std::vector<Value> outputs = settled(call, body_of(call, "body"), inputs, 2, carried, 1);
  if (outputs[0].kind == Kind::Mixed) stop(Stop{*outputs[0].why});
  if (outputs[0].varies()) couples("its end depends on the values of the rows");
  for (size_t i = 0; i < carried; ++i) call.set(i, inputs[i + 2]);
  for (size_t i = carried; i + 1 < outputs.size(); ++i) {
    call.set(i, stacked(call, outputs[i + 1], 0));
  }
}

// One step of a scanned input.
Value slice_of(Call& call, const Value& value, int64_t along) {
  if (value.kind == Kind::Counts) couples("it iterates over the number of rows");
  if (!value.dims) return Value::same();
  const size_t axis = axis_of(along, value.rank());
  if (value.varies() && axis == value.axis) couples("it iterates over the rows");
  if (value.varies() && !value.is_rows()) couples("it splits numbers of rows");
  (void)call;
  Dims dims = *value.dims;
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return moved(value, std::move(dims), value.axis - (axis < value.axis ? 1 : 0));
}

int64_t entry(const std::vector<int64_t>* list, size_t at) {
  return list != nullptr && at < list->size() ? (*list)[at] : 0;
}

void scan(Call& call) {
  if (call.opset() < 9) unproven("a Scan before opset 9");
  const auto scanned = static_cast<size_t>(call.integer("num_scan_inputs", 0));
  if (scanned > call.count()) unproven("num_scan_inputs exceeds the number of inputs");
  const size_t carried = call.count() - scanned;
  std::vector<Value> inputs;
  for (size_t i = 0; i < carried; ++i) {
    inputs.push_back(carried_value(call.in(i)));
  }
  for (size_t i = 0; i < scanned; ++i) {
    const int64_t axis = entry(call.integers("scan_input_axes"), i);
    inputs.push_back(slice_of(call, call.in(carried + i), axis));
  }
  const std::vector<Value> outputs = settled(call, body_of(call, "body"), inputs, 0, carried, 0);
  for (size_t i = 0; i < carried; ++i) call.set(i, inputs[i]);
  for (size_t i = carried; i < outputs.size(); ++i) {
    const int64_t given = entry(call.integers("scan_output_axes"), i - carried);
    const size_t rank = outputs[i].dims ? outputs[i].rank() + 1 : 1;
    call.set(i, stacked(call, outputs[i], given == 0 ? 0 : axis_of(given, rank)));
  }
}

}  // namespace

std::vector<Rule> control_flow_rules() {
  const char* const family = "Control flow";
  return {
      {family,
       "The condition is the same for all rows; both branches answer rows alike.",
       "",
       {"If"},
       branch,
       true,
       true,
       false,
       false,
       true},
      {family,
       "The number of steps and the condition are the same for all rows; the body keeps rows "
       "apart.",
       "",
       {"Loop"},
       loop,
       true,
       false,
       false,
       false,
       true},
      {family,
       "The steps go over another axis than the rows'; the body keeps rows apart.",
       "",
       {"Scan"},
       scan},
  };
}

}  // namespace serval::rows
