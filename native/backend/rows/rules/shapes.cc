// Rules of operators that read sizes or make tensors of sizes. See rule.h.
#include <algorithm>

#include "backend/rows/fold.h"
#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

void shape(Call& call) {
  const Value& data = call.in(0);
  if (!data.dims) return call.set(0, Value::same());
  const Dims& dims = *data.dims;
  const auto rank = static_cast<int64_t>(dims.size());
  const auto clamped = [rank](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const int64_t start = clamped(call.integer("start", 0));
  const int64_t end = std::max(start, clamped(call.integer("end", rank)));
  call.set(0, Value::integers({end - start}, Dims(dims.begin() + start, dims.begin() + end)));
}

void size(Call& call) {
  const Value& data = call.in(0);
  if (!data.dims) return call.set(0, Value::same());
  call.set(0, Value::integers({}, {product(*data.dims)}));
}

// A tensor of one value, whose size may contain N.
void filled(Call& call) {
  const Value& shape = call.in(0);
  if (!shape.cells) {
    call.need_same(0, "the shape");
    return call.set(0, Value::same());
  }
  const Dims& dims = *shape.cells;
  size_t axis = dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].power == 0) continue;
    if (axis < dims.size() || dims[i].power > 1) couples("two axes grow with the batch");
    axis = i;
  }
  if (axis < dims.size()) return call.set(0, Value::rows(dims, axis));
  Value out = Value::same(dims);
  const Dim count = product(dims);
  const ort::OnnxAttribute* value = call.node().attribute("value");
  ort::OnnxTensor tensor;
  std::vector<int64_t> one;
  const bool known = value == nullptr || (value->tensor && read_tensor(*value->tensor, tensor) &&
                                          read_integers(tensor, one) && one.size() == 1);
  if (known && count.is_number() && count.number <= static_cast<int64_t>(kCellsMax)) {
    out.cells = Dims(static_cast<size_t>(count.number), one.empty() ? Dim(0) : Dim(one[0]));
    if (value == nullptr) out.cells.reset();  // the values are floats
  }
  call.set(0, std::move(out));
}

// 0, 1, ... are the row numbers if the range ends at N.
void range(Call& call) {
  const auto scalar = [&call](size_t index) -> std::optional<Dim> {
    const Value& value = call.in(index);
    if (!value.cells || value.cells->size() != 1) return std::nullopt;
    return value.cells->front();
  };
  const std::optional<Dim> start = scalar(0), limit = scalar(1), delta = scalar(2);
  if (!limit || limit->power == 0) {
    for (size_t i = 0; i < 3; ++i) call.need_same(i, "the length");
    const bool simple = start && limit && delta && start->is(0) && delta->is(1);
    Value out = Value::same({simple ? *limit : call.fresh()});
    if (simple && limit->is_number() && limit->number <= 64) {
      Dims cells;
      for (int64_t i = 0; i < limit->number; ++i) cells.emplace_back(i);
      out.cells = std::move(cells);
    }
    if (simple) out.stride.bound = *limit;
    return call.set(0, std::move(out));
  }
  if (!start || !delta || !start->is(0) || !delta->is(1) || limit->power != 1) {
    couples("the result depends on the number of rows");
  }
  Value out = Value::rows({*limit}, 0);
  out.kind = Kind::Numbers;
  out.stride = {without_rows(*limit), without_rows(*limit)};
  call.set(0, std::move(out));
}

void constant(Call& call) {
  if (!call.all_same()) couples("its shape contains the number of rows");
  call.set(0, Value::same());
}

}  // namespace

std::vector<Rule> shape_rules() {
  const char* const family = "Shapes";
  return {
      {family, "N is tracked as a number.", "", {"Shape"}, shape, true, true},
      {family, "N is tracked as a number.", "", {"Size"}, size, true, true},
      {family,
       "At most one size is N; the rows are then on that axis.",
       "",
       {"ConstantOfShape"},
       filled,
       true},
      {family,
       "0, 1, ..., N - 1 has one use: to gather each row's own entry.",
       "",
       {"Range"},
       range,
       true},
      {family,
       "The same for all rows.",
       "",
       {"BlackmanWindow", "Constant", "EyeLike", "HammingWindow", "HannWindow", "MelWeightMatrix"},
       constant},
  };
}

}  // namespace serval::rows
