// Rules of operators that reduce axes, or sort along one. See rule.h.
#include <algorithm>

#include "backend/rows/fold.h"
#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

bool is_own(const Call& call) { return call.node().domain == "serval"; }

// Reduces a few integers that are all known to one.
bool reduced_cells(Call& call, const Value& data) {
  if (!data.cells || !data.dims || data.rank() > 1 || data.cells->empty()) return false;
  std::string_view op;
  if (call.op() == "ReduceProd") op = "Mul";
  else if (call.op() == "ReduceSum") op = "Add";
  else if (call.op() == "ReduceMax") op = "Max";
  else if (call.op() == "ReduceMin") op = "Min";
  else return false;
  Dim sum = data.cells->front();
  for (size_t i = 1; i < data.cells->size(); ++i) {
    const Dim args[] = {sum, (*data.cells)[i]};
    const std::optional<Dim> next = fold(call.symbols(), op, args);
    if (!next) couples("the result depends on the number of rows");
    sum = *next;
  }
  const bool keeps = call.integer("keepdims", 1) != 0;
  call.set(0, Value::integers(keeps ? Dims(data.rank(), Dim(1)) : Dims(), {sum}));
  return true;
}

// The axes to remove, in order; none if the operator then does nothing.
std::vector<bool> reduced_axes(Call& call, size_t rank, size_t at) {
  std::optional<std::vector<int64_t>> axes = call.axes("axes", at);
  if (axes && axes->empty()) axes.reset();
  const bool own = is_own(call);  // without axes it reduces nothing
  std::vector<bool> gone(rank, !axes && !own && call.integer("noop_with_empty_axes", 0) == 0);
  for (const int64_t axis : axes.value_or(std::vector<int64_t>())) gone[axis_of(axis, rank)] = true;
  return gone;
}

Value reduced(const Value& data, const std::vector<bool>& gone, bool keeps) {
  Dims out;
  size_t axis = data.axis;
  for (size_t i = 0; i < data.rank(); ++i) {
    if (!gone[i]) out.push_back((*data.dims)[i]);
    else if (keeps) out.push_back(1);
    else if (i < data.axis) --axis;
  }
  Value value = moved(data, std::move(out), axis);
  value.stride = {};
  return value;
}

// (X, axes); our own operators: (axes, X).
void reduce(Call& call) {
  const size_t at = is_own(call) ? 1 : 0;
  const Value& data = call.in(at);
  call.need_same(1 - at, "the axes");
  const bool keeps = call.integer("keepdims", 1) != 0;
  const bool has_axes = call.integers("axes") != nullptr || call.has(1 - at);
  if (data.cells && data.dims && data.rank() == 1) {
    if (reduced_axes(call, 1, 1 - at)[0] && reduced_cells(call, data)) return;
  } else if (!has_axes && reduced_cells(call, data)) {
    return;
  }
  if (data.kind == Kind::Counts) couples("the result depends on the number of rows");
  if (!data.dims) return call.set(0, !keeps && !has_axes ? Value::same(Dims()) : Value::same());
  const std::vector<bool> gone = reduced_axes(call, data.rank(), 1 - at);
  if (data.varies() && gone[data.axis]) couples("it reduces the batch axis");
  call.set(0, reduced(data, gone, keeps));
}

// ArgMax and ArgMin: numbers below the size of the axis.
void arg(Call& call) {
  const Value& data = call.in(0);
  const size_t axis = axis_of(call.integer("axis", 0), call.rank(0));
  if (data.varies() && axis == data.axis) couples("it reduces the batch axis");
  std::vector<bool> gone(data.rank());
  gone[axis] = true;
  Value out = reduced(data, gone, call.integer("keepdims", 1) != 0);
  out.stride.bound = call.dims(0)[axis];
  call.set(0, std::move(out));
}

// (X, K); our own operator: (K, X).
void top(Call& call) {
  const size_t at = is_own(call) ? 1 : 0;
  const Value& data = call.in(at);
  call.need_same(1 - at, "the number of results");
  const size_t axis = axis_of(call.integer("axis", -1), call.rank(at));
  if (data.varies() && axis == data.axis) couples("it orders the rows");
  Dims out = call.dims(at);
  const std::optional<std::vector<int64_t>> k = call.numbers(1 - at);
  out[axis] = k && k->size() == 1 ? Dim(k->front()) : call.fresh();
  if (call.node().attribute("k") != nullptr) out[axis] = call.integer("k", 0);
  Value value = moved(data, std::move(out), data.axis);
  value.stride = {};
  call.set(0, value);
  value.stride.bound = call.dims(at)[axis];
  call.set(1, std::move(value));
}

void cumulate(Call& call) {
  const Value& data = call.in(0);
  call.need_same(1, "the axis");
  if (data.varies()) {
    const std::optional<std::vector<int64_t>> axis = call.numbers(1);
    if (!axis || axis->size() != 1) unproven("the axis is computed");
    if (axis_of(axis->front(), call.rank(0)) == data.axis) couples("it reduces the batch axis");
  }
  Value out = data;
  out.cells.reset();
  out.tensor = nullptr;
  out.stride = {};
  call.set(0, std::move(out));
}

}  // namespace

std::vector<Rule> reduction_rules() {
  const char* const family = "Reductions and order";
  const char* const says = "It reduces axes other than the batch axis.";
  return {
      {family,
       says,
       "",
       {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
        "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"},
       reduce,
       true},
      {family, says, "serval", {"ReduceMax", "ReduceMin"}, reduce},
      {family, says, "", {"ArgMax", "ArgMin"}, arg},
      {family,
       "It works along an axis other than the batch axis; the count is the same for all rows.",
       "",
       {"TopK"},
       top},
      {family,
       "It works along an axis other than the batch axis; the count is the same for all rows.",
       "serval",
       {"TopK"},
       top},
      {family,
       "It works along an axis other than the batch axis; the axis is a constant.",
       "",
       {"CumProd", "CumSum"},
       cumulate},
  };
}

}  // namespace serval::rows
