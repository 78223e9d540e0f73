// Rules of operators that move entries without changing them. See rule.h.
#include <algorithm>

#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

// A value without the knowledge about its elements.
Value bare(Value value) {
  value.cells.reset();
  value.tensor = nullptr;
  return value;
}

void need_no_columns(const Value& value) {
  if (value.kind == Kind::Columns) couples("it moves numbers of rows");
}

// The target of a Reshape: 0 copies a dim, -1 is the remaining size.
Dims target_of(Call& call, const Value& data, const Dims& cells) {
  const bool zero_is_zero = call.integer("allowzero", 0) != 0;
  Dims target;
  size_t open = cells.size();
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].is(-1)) open = i;
    if (cells[i].is(0) && !zero_is_zero) {
      if (i >= data.rank()) unproven("a 0 in the shape is out of range");
      target.push_back((*data.dims)[i]);
    } else {
      target.push_back(cells[i].is(-1) ? Dim(1) : cells[i]);
    }
  }
  if (open == cells.size()) return target;
  const Dim total = product(*data.dims), others = product(target);
  if (const std::optional<Dim> rest = divide(total, others)) target[open] = *rest;
  else if (others.power == total.power) target[open] = call.fresh();
  else unproven("the -1 of the new shape may not contain whole rows");
  return target;
}

void reshape(Call& call) {
  const Value& data = call.in(0);
  need_no_columns(data);
  Dims cells;
  if (call.opset() < 5 && call.node().is_onnx()) {
    const std::vector<int64_t>* shape = call.integers("shape");
    if (shape == nullptr) unproven("it has no shape");
    cells.assign(shape->begin(), shape->end());
  } else if (call.in(1).cells) {
    cells = *call.in(1).cells;
  } else {
    call.need_same(1, "the new shape");
    if (data.varies()) unproven("the new shape is computed");
    const Value& shape = call.in(1);
    const bool sized = shape.dims && shape.rank() == 1 && (*shape.dims)[0].is_number();
    const auto rank = static_cast<size_t>(sized ? (*shape.dims)[0].number : 0);
    return call.set(0, sized ? Value::same(call.fresh_dims(rank)) : Value::same());
  }
  if (!data.varies()) {
    for (const Dim& cell : cells) {
      if (cell.has_rows())
        couples("the shape of a tensor that all rows share contains the number of rows");
    }
    Value out = data.dims ? Value::same(target_of(call, data, cells))
                          : Value::same(call.fresh_dims(cells.size()));
    out.cells = data.cells;
    out.stride = data.stride;
    return call.set(0, std::move(out));
  }
  if (data.kind == Kind::Counts) {
    const Dims target = target_of(call, data, cells);
    return call.set(0, Value::integers(target, *data.cells));
  }
  call.set(0, reshaped(call, data, target_of(call, data, cells)));
}

void flatten(Call& call) {
  const Value& data = call.in(0);
  need_no_columns(data);
  const Dims& dims = call.dims(0);
  const auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = call.integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) unproven("an axis is out of range");
  const auto at = static_cast<size_t>(axis);
  const Dims target = {product(dims, 0, at), product(dims, at, dims.size())};
  call.set(0, bare(reshaped(call, data, target)));
}

void transpose(Call& call) {
  const Value& data = call.in(0);
  const Dims& dims = call.dims(0);
  std::vector<int64_t> order;
  if (const std::vector<int64_t>* perm = call.integers("perm")) order = *perm;
  else
    for (size_t i = dims.size(); i-- > 0;) order.push_back(static_cast<int64_t>(i));
  if (order.size() != dims.size()) unproven("perm has a different rank");
  Dims out;
  size_t axis = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t from = axis_of(order[i], dims.size());
    if (data.varies() && from == data.axis) axis = i;
    out.push_back(dims[from]);
  }
  need_no_columns(data);
  if (data.kind == Kind::Counts) couples("it moves the number of rows");
  call.set(0, moved(data, std::move(out), axis));
}

Value with_dims(const Value& data, Dims dims, size_t axis) {
  if (data.cells) return Value::integers(std::move(dims), *data.cells);
  return moved(data, std::move(dims), axis);
}

void squeeze(Call& call) {
  const Value& data = call.in(0);
  need_no_columns(data);
  const Dims& dims = call.dims(0);
  const std::optional<std::vector<int64_t>> axes = call.axes("axes", 1);
  const bool rows = data.varies() && data.kind != Kind::Counts;
  if (!axes && rows) couples("without axes it drops the batch axis if there is one row");
  Dims out;
  size_t axis = data.axis;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!axes && !dims[i].is_number()) unproven("the axes that it drops are not known");
    const bool dropped = axes ? has_axis(*axes, i, dims.size()) : dims[i].is(1);
    if (!dropped) {
      out.push_back(dims[i]);
      continue;
    }
    if (rows && i == data.axis) couples("it drops the batch axis");
    if (rows && i < data.axis) --axis;
  }
  call.set(0, with_dims(data, std::move(out), axis));
}

void unsqueeze(Call& call) {
  const Value& data = call.in(0);
  need_no_columns(data);
  const Dims& dims = call.dims(0);
  const std::optional<std::vector<int64_t>> axes = call.axes("axes", 1);
  if (!axes) unproven("no axes");
  const size_t rank = dims.size() + axes->size();
  Dims out;
  size_t from = 0, axis = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (has_axis(*axes, i, rank)) {
      out.push_back(1);
      continue;
    }
    if (from >= dims.size()) unproven("an axis occurs twice");
    if (from == data.axis) axis = i;
    out.push_back(dims[from++]);
  }
  call.set(0, with_dims(data, std::move(out), axis));
}

// Broadcasts to new dims, one of which may be that of the rows.
Value spread(const Value& data, Dims dims) {
  size_t axis = dims.size();
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].power == 0) continue;
    if (axis < dims.size() || dims[i].power > 1) couples("two axes grow with the batch");
    axis = i;
  }
  if (axis == dims.size()) return moved(data, std::move(dims), 0);
  Value out = Value::rows(std::move(dims), axis);
  out.stride.bound = data.stride.bound;
  return out;
}

void expand(Call& call) {
  const Value& data = call.in(0);
  need_no_columns(data);
  const Value& shape = call.in(1);
  if (data.kind == Kind::Counts) couples("it repeats the number of rows");
  if (!shape.cells) {
    call.need_same(1, "the shape");
    if (data.varies()) unproven("the shape is computed");
    return call.set(0, Value::same());
  }
  const Dims& dims = call.dims(0);
  const size_t rank = std::max(dims.size(), shape.cells->size());
  Dims out(rank);
  for (size_t i = 0; i < rank; ++i) {
    const bool has = i + dims.size() >= rank, given = i + shape.cells->size() >= rank;
    const Dim own = has ? dims[i + dims.size() - rank] : Dim(1);
    const Dim wanted = given ? (*shape.cells)[i + shape.cells->size() - rank] : Dim(1);
    const bool rows = data.varies() && has && i + dims.size() - rank == data.axis;
    if (own == wanted || wanted.is(1)) out[i] = own;
    else if (rows) couples("the batch axis is expanded to another size");
    else if (own.is(1)) out[i] = wanted;
    else if (wanted.power != 0)
      couples("an axis with several entries is expanded to the number of rows");
    else out[i] = own.is_number() ? own : call.fresh();
  }
  if (data.varies()) {
    for (size_t i = 0; i < rank; ++i) {
      const bool rows = i == data.axis + rank - dims.size();
      if (!rows && out[i].power != 0)
        couples("every row is combined with all rows: it is repeated N times");
    }
    return call.set(0, moved(data, std::move(out), data.axis + rank - dims.size()));
  }
  call.set(0, spread(data, std::move(out)));
}

void tile(Call& call) {
  const Value& data = call.in(0);
  need_no_columns(data);
  const Value& repeats = call.in(1);
  if (data.kind == Kind::Counts) couples("it repeats the number of rows");
  if (!repeats.cells || call.opset() < 6) {
    call.need_same(1, "the repeats");
    if (data.varies()) unproven("the repeats are computed");
    return call.set(0, Value::same());
  }
  const Dims& dims = call.dims(0);
  if (repeats.cells->size() != dims.size()) unproven("repeats has a different rank");
  Dims out;
  for (size_t i = 0; i < dims.size(); ++i) {
    const Dim& times = (*repeats.cells)[i];
    if (data.varies() && i == data.axis && !times.is(1)) couples("it repeats all rows");
    if (data.varies() && times.power != 0) couples("every row is repeated N times");
    out.push_back(dims[i] * times);
  }
  if (data.varies()) return call.set(0, moved(data, std::move(out), data.axis));
  call.set(0, spread(data, std::move(out)));
}

// The columns that a Concat along the last axis puts side by side.
std::vector<Stride> columns_of(Call& call) {
  std::vector<Stride> columns;
  for (size_t i = 0; i < call.count(); ++i) {
    const Value& value = call.in(i);
    const Dim& last = call.dims(i).back();
    if (value.kind == Kind::Columns) {
      columns.insert(columns.end(), value.columns.begin(), value.columns.end());
      continue;
    }
    if (!last.is_number() || last.number < 0 || last.number > 64)
      couples("it mixes the numbers of rows");
    const Stride one = value.kind == Kind::Numbers ? value.stride : Stride{};
    columns.insert(columns.end(), static_cast<size_t>(last.number), one);
  }
  return columns;
}

// Concatenates integers. Those that are computed and the same for all rows get symbols.
bool concat_cells(Call& call) {
  constexpr int64_t kMost = 64;
  Dims cells;
  bool any = false;
  for (size_t i = 0; i < call.count(); ++i) {
    const Value& value = call.in(i);
    if (!value.dims || value.rank() != 1) return false;
    any |= value.cells.has_value();
    if (value.cells) {
      cells.insert(cells.end(), value.cells->begin(), value.cells->end());
      continue;
    }
    const Dim& size = (*value.dims)[0];
    if (value.varies() || !size.is_number() || size.number > kMost) return false;
    for (int64_t k = 0; k < size.number; ++k) {
      cells.push_back(Dim::of_symbol(call.symbols().fresh(false, false)));
    }
  }
  if (!any) return false;
  const auto size = static_cast<int64_t>(cells.size());
  call.set(0, Value::integers({size}, std::move(cells)));
  return true;
}

void concat(Call& call) {
  if (call.count() > 0 && concat_cells(call)) return;
  const Value* first = nullptr;
  bool numbers = false;
  for (size_t i = 0; i < call.count(); ++i) {
    const Value& value = call.in(i);
    if (value.kind == Kind::Counts) couples("the number of rows is concatenated with other values");
    if (value.varies() && first == nullptr) first = &value;
    numbers |= value.kind == Kind::Numbers || value.kind == Kind::Columns;
  }
  const size_t rank = call.rank(0);
  const size_t along = axis_of(call.integer("axis", 1), rank);
  Dims dims = call.dims(0);
  std::optional<Dim> sum = Dim(0);
  for (size_t i = 0; i < call.count(); ++i) {
    if (call.rank(i) != rank) unproven("the inputs have different ranks");
    const Dim& own = call.dims(i)[along];
    if (own.is_number() && sum) sum = sum->number + own.number;
    else sum.reset();
    for (size_t k = 0; k < rank; ++k) {
      if (!dims[k].is_number() && call.dims(i)[k].is_number()) dims[k] = call.dims(i)[k];
    }
  }
  if (call.count() > 1) dims[along] = sum ? *sum : call.fresh();
  if (first == nullptr) return call.set(0, Value::same(std::move(dims)));
  const Dim rows = (*first->dims)[first->axis];
  if (call.count() > 1 && along == first->axis) couples("rows are concatenated");
  for (size_t i = 0; i < call.count(); ++i) {
    const Value& value = call.in(i);
    if (!value.varies()) {
      unproven("an input that all rows share is concatenated, but lacks a batch axis");
    }
    if (value.axis != first->axis) couples("the rows are on different axes");
    if (!((*value.dims)[value.axis] == rows)) unproven("the inputs have different numbers of rows");
  }
  dims[first->axis] = rows;
  Value out = Value::rows(std::move(dims), first->axis);
  if (numbers) {
    if (along + 1 != rank) couples("it moves numbers of rows");
    out.kind = Kind::Columns;
    out.columns = columns_of(call);
  }
  call.set(0, std::move(out));
}

void split(Call& call) {
  const Value& data = call.in(0);
  need_no_columns(data);
  const Dims& dims = call.dims(0);
  const size_t along = axis_of(call.integer("axis", 0), dims.size());
  call.need_same(1, "the sizes");
  if (data.varies() && data.kind != Kind::Counts && along == data.axis) {
    couples("it splits the rows");
  }
  std::optional<std::vector<int64_t>> sizes = call.numbers(1);
  if (const std::vector<int64_t>* given = call.integers("split")) sizes = *given;
  const auto parts = static_cast<int64_t>(call.output_count());
  if (!sizes && !call.has(1) && dims[along].is_number()) {
    const int64_t one = (dims[along].number + parts - 1) / parts;
    sizes.emplace(static_cast<size_t>(parts), one);
    sizes->back() = dims[along].number - one * (parts - 1);
  }
  size_t at = 0;
  for (size_t i = 0; i < call.output_count(); ++i) {
    const bool sized = sizes && i < sizes->size() && (*sizes)[i] >= 0;
    Dims out = dims;
    out[along] = sized ? Dim((*sizes)[i]) : call.fresh();
    if (data.cells) {
      if (!sized || dims.size() != 1) couples("it splits the number of rows");
      const size_t size = static_cast<size_t>((*sizes)[i]);
      if (at + size > data.cells->size()) unproven("the sizes exceed the axis");
      const auto begin = data.cells->begin() + static_cast<std::ptrdiff_t>(at);
      call.set(i, Value::integers(out, Dims(begin, begin + static_cast<std::ptrdiff_t>(size))));
      at += size;
    } else {
      call.set(i, moved(data, std::move(out), data.axis));
    }
  }
}

void blocks(Call& call) {
  const Value& data = call.in(0);
  const Dims& dims = call.dims(0);
  if (dims.size() != 4) unproven("the input is not an image");
  if (data.varies() && data.axis != 0) couples("the batch axis is rearranged");
  Dims out = call.fresh_dims(4);
  out[0] = dims[0];
  const Dim block = call.integer("blocksize", 1);
  const bool to_space = call.op() == "DepthToSpace";
  const Dim area = block * block;
  if (const auto depth = to_space ? divide(dims[1], area) : std::optional(dims[1] * area)) {
    out[1] = *depth;
  }
  for (size_t i = 2; i < 4; ++i) {
    if (const auto side = to_space ? std::optional(dims[i] * block) : divide(dims[i], block)) {
      out[i] = *side;
    }
  }
  call.set(0, moved(data, std::move(out), 0));
}

void trilu(Call& call) {
  const Value& data = call.in(0);
  const size_t rank = call.rank(0);
  call.need_same(1, "the diagonal");
  if (data.varies() && data.axis + 2 >= rank) couples("it masks rows by their index");
  call.set(0, bare(data));
}

void reverse_sequence(Call& call) {
  const Value &data = call.in(0), &lengths = call.in(1);
  const size_t rank = call.rank(0);
  const size_t batch = axis_of(call.integer("batch_axis", 1), rank);
  const size_t time = axis_of(call.integer("time_axis", 0), rank);
  if (!data.varies() && !lengths.varies()) return call.set(0, bare(data));
  if (data.varies() && data.axis == time) couples("it reverses the rows");
  if (data.varies() && data.axis == batch) {
    if (!lengths.is_rows() || !((*lengths.dims)[0] == (*data.dims)[batch])) {
      unproven("there is not one length for each row");
    }
  } else {
    call.need_same(1, "the lengths");
  }
  if (!data.is_rows()) unproven("only the lengths have rows");
  call.set(0, bare(data));
}

}  // namespace

std::vector<Rule> layout_rules() {
  const char* const family = "Layout";
  return {
      {family,
       "The rows stay the major part of one axis: the axes before it keep their sizes. "
       "N is tracked through Shape, Gather, Concat and arithmetic.",
       "",
       {"Reshape"},
       reshape,
       true,
       true},
      {family, "The rows stay the major part of one axis.", "", {"Flatten"}, flatten},
      {family, "The batch axis is permuted as a whole.", "", {"Transpose"}, transpose, false, true},
      {family,
       "The batch axis is kept. Without axes the result would differ for a batch of one row.",
       "",
       {"Squeeze"},
       squeeze,
       true,
       true},
      {family, "The batch axis is kept.", "", {"Unsqueeze"}, unsqueeze, true, true},
      {family,
       "Only other axes are repeated, or a constant is repeated once for each row.",
       "",
       {"Expand"},
       expand,
       true,
       true},
      {family,
       "Only other axes are repeated, or a constant is repeated once for each row.",
       "",
       {"Tile"},
       tile,
       true,
       true},
      {family,
       "It works along an axis other than the batch axis, which is the same in all inputs.",
       "",
       {"Concat"},
       concat,
       true,
       true},
      {family, "It works along an axis other than the batch axis.", "", {"Split"}, split, true},
      {family, "The rows are on the first axis.", "", {"DepthToSpace", "SpaceToDepth"}, blocks},
      {family, "The rows are not on the last two axes.", "", {"Trilu"}, trilu},
      {family,
       "The rows are on the batch axis, and there is a length for each.",
       "",
       {"ReverseSequence"},
       reverse_sequence},
  };
}

}  // namespace serval::rows
