// Rules of operators that select entries by indices. See rule.h.
#include <algorithm>

#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

// Gathers entries of a shape by constant indices.
bool gather_cells(Call& call) {
  const Value &data = call.in(0), &indices = call.in(1);
  const std::optional<std::vector<int64_t>> numbers = call.numbers(1);
  if (!data.cells || !data.dims || data.rank() != 1 || !numbers || !indices.dims) return false;
  const auto size = static_cast<int64_t>(data.cells->size());
  Dims cells;
  for (const int64_t number : *numbers) {
    const int64_t at = number < 0 ? number + size : number;
    if (at < 0 || at >= size) unproven("an index is out of range");
    cells.push_back((*data.cells)[static_cast<size_t>(at)]);
  }
  call.set(0, Value::integers(*indices.dims, std::move(cells)));
  return true;
}

Dims gathered_dims(const Dims& data, const Dims& indices, size_t axis) {
  Dims out(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(axis));
  out.insert(out.end(), indices.begin(), indices.end());
  out.insert(out.end(), data.begin() + static_cast<std::ptrdiff_t>(axis) + 1, data.end());
  return out;
}

// Gathers each row's own entries, by numbers that start at the row.
Value own_entries(const Value& data, const Value& indices, Dims out, size_t axis) {
  const bool own =
      data.is_rows() && data.axis == axis && indices.stride.step == data.per_row() &&
      indices.stride.bound &&
      (*indices.stride.bound == data.per_row() ||
       (indices.stride.bound->is(1) && data.per_row().is_number() && data.per_row().number >= 1));
  if (!own) couples("its indices may refer to other rows");
  return Value::rows(std::move(out), axis + indices.axis);
}

// Gathers one result of a text split: the number of texts, the text of each piece, or the position
// of each piece in its text.
Value gathered_pieces(Call& call) {
  const Value& data = call.in(0);
  const std::optional<std::vector<int64_t>> numbers = call.numbers(1);
  const bool one = numbers && numbers->size() == 1 && call.rank(1) == 0;
  const int64_t axis = call.integer("axis", 0);
  if (one && data.kind == Kind::Extents && axis == 0 && numbers->front() == 0) {
    return Value::integers({}, {data.cells->front()});
  }
  if (one && data.kind == Kind::Pieces && data.rank() == 2 && axis == 1) {
    const auto columns = static_cast<int64_t>(data.columns.size());
    const int64_t at = numbers->front() + (numbers->front() < 0 ? columns : 0);
    if (at < 0 || at >= columns) unproven("an index is out of range");
    Value out = moved(data, {(*data.dims)[0]}, 0);
    out.stride = data.columns[static_cast<size_t>(at)];
    out.columns.clear();
    return out;
  }
  couples("the values of all rows decide what it selects");
}

// Whether every index is refused because the axis has no entries.
bool takes_of_nothing(Call& call, size_t axis) {
  const Value& indices = call.in(1);
  return call.dims(0)[axis].is(0) && indices.dims && product(*indices.dims).is_number() &&
         product(*indices.dims).number > 0;
}

void gather(Call& call) {
  for (size_t i = 0; i < 2; ++i) {
    const Kind kind = call.in(i).kind;
    if (kind == Kind::Pieces || kind == Kind::Extents) return call.set(0, gathered_pieces(call));
  }
  if (gather_cells(call)) return;
  const Value &data = call.in(0), &indices = call.in(1);
  if (data.kind == Kind::Counts || indices.kind == Kind::Counts) {
    couples("it uses the number of rows as an index, or splits it");
  }
  if (data.kind == Kind::Numbers || data.kind == Kind::Columns || indices.kind == Kind::Columns) {
    couples("it moves numbers of rows");
  }
  if (call.all_same() && (!data.dims || !indices.dims)) return call.set(0, Value::same());
  const size_t axis = axis_of(call.integer("axis", 0), call.rank(0));
  if (takes_of_nothing(call, axis)) refuses("an index into an empty axis");
  Dims out = gathered_dims(call.dims(0), call.dims(1), axis);
  if (indices.kind == Kind::Numbers) {
    return call.set(0, own_entries(data, indices, std::move(out), axis));
  }
  if (!data.varies()) {
    if (!indices.varies()) return call.set(0, Value::same(std::move(out)));
    return call.set(0, Value::rows(std::move(out), axis + indices.axis));
  }
  if (data.axis == axis) couples("it selects rows by their index");
  if (indices.varies()) couples("every row is combined with the indices of all rows");
  const size_t shift = data.axis < axis ? 0 : call.rank(1);
  const size_t moved_axis = data.axis < axis ? data.axis : data.axis - 1 + shift;
  call.set(0, Value::rows(std::move(out), moved_axis));
}

// Indices (and updates) have the same rank as the data and the same position as their entries.
void elements(Call& call) {
  const Value &data = call.in(0), &indices = call.in(1);
  const size_t rank = call.rank(0);
  const size_t axis = axis_of(call.integer("axis", 0), rank);
  const bool scatters = call.op() != "GatherElements";
  const Dims out = scatters ? call.dims(0) : call.dims(1);
  if (call.all_same()) return call.set(0, Value::same(out));
  if (!data.varies() && !scatters && indices.axis == axis) {
    return call.set(0, Value::rows(out, axis));
  }
  if (!data.varies() || !indices.varies()) {
    unproven("only one of data and indices has rows");
  }
  if (data.axis == axis) couples("it selects entries along the batch axis");
  const Dim& rows = call.dims(0)[data.axis];
  const auto fits = [&](size_t input) {
    const Value& value = call.in(input);
    return value.is_rows() && value.rank() == rank && value.axis == data.axis &&
           (*value.dims)[data.axis] == rows;
  };
  if (!fits(0) || !fits(1) || (scatters && !fits(2))) {
    couples("rows of one input are combined with different rows of another");
  }
  call.set(0, Value::rows(out, data.axis));
}

// The number of axes that an index of GatherND or ScatterND names; throws if it is unknown.
size_t depth_of(Call& call, size_t at) {
  const Value& indices = call.in(at);
  if (call.rank(at) == 0 || !indices.dims->back().is_number()) {
    unproven("the length of the indices is not known");
  }
  return static_cast<size_t>(indices.dims->back().number);
}

// Whether column `axis` of the indices is the number of the index's own row.
bool names_own_row(const Value& indices, size_t axis, const Dim& per_row) {
  if (!per_row.is(1) || axis >= indices.columns.size()) return false;
  const Stride& one = indices.columns[axis];
  const bool others_plain =
      std::all_of(indices.columns.begin(), indices.columns.end(),
                  [&](const Stride& other) { return &other == &one || other.step.is(0); });
  return one.step.is(1) && one.bound && one.bound->is(1) && others_plain;
}

// Converts an index of one column, which is Numbers, to Columns.
Value as_columns(const Value& indices, size_t depth) {
  if (indices.kind != Kind::Numbers || depth != 1) return indices;
  Value out = indices;
  out.kind = Kind::Columns;
  out.columns = {indices.stride};
  return out;
}

void gather_nd(Call& call) {
  const Value& data = call.in(0);
  const size_t rank = call.rank(0), index_rank = call.rank(1);
  const size_t depth = depth_of(call, 1);
  const Value indices = as_columns(call.in(1), depth);
  const auto batch = static_cast<size_t>(call.integer("batch_dims", 0));
  if (depth + batch > rank || batch >= index_rank) unproven("the indices exceed the rank");
  Dims out(indices.dims->begin(), indices.dims->end() - 1);
  const Dims& dims = call.dims(0);
  out.insert(out.end(), dims.begin() + static_cast<std::ptrdiff_t>(batch + depth), dims.end());
  if (call.all_same()) return call.set(0, Value::same(std::move(out)));
  if (data.kind == Kind::Numbers || data.kind == Kind::Columns || data.cells) {
    couples("it moves numbers of rows");
  }
  if (indices.kind == Kind::Columns) {
    const bool own = data.is_rows() && batch == 0 && data.axis < depth &&
                     names_own_row(indices, data.axis, data.per_row());
    if (!own) couples("its indices may refer to other rows");
    return call.set(0, Value::rows(std::move(out), indices.axis));
  }
  if (indices.varies() && indices.kind != Kind::Rows) couples("it computes with numbers of rows");
  if (indices.varies() && indices.axis + 1 == index_rank) couples("one index spans several rows");
  if (!data.varies()) {
    if (indices.axis < batch) unproven("all rows share the same data");
    return call.set(0, Value::rows(std::move(out), indices.axis));
  }
  if (data.axis < batch) {
    const bool fits = indices.is_rows() && indices.axis == data.axis &&
                      (*indices.dims)[data.axis] == dims[data.axis];
    if (!fits) couples("the indices do not belong to the same rows");
    return call.set(0, Value::rows(std::move(out), data.axis));
  }
  if (data.axis < batch + depth) couples("it selects rows by their index");
  if (indices.varies()) couples("every row is combined with the indices of all rows");
  const size_t axis = index_rank - 1 + data.axis - batch - depth;
  call.set(0, Value::rows(std::move(out), axis));
}

// The positions of an operator's inputs.
struct Scattered {
  size_t data = 0, indices = 0, updates = 0;
};

void scatter(Call& call, const Scattered& at) {
  const Value &data = call.in(at.data), &updates = call.in(at.updates);
  const size_t rank = call.rank(at.data), index_rank = call.rank(at.indices);
  const size_t depth = depth_of(call, at.indices);
  const Value indices = as_columns(call.in(at.indices), depth);
  if (depth > rank) unproven("the indices exceed the rank");
  if (updates.dims && updates.rank() != index_rank - 1 + rank - depth) {
    const char* const other = "the rank of the updates does not fit the indices";
    if (call.op() == "ScatterND") refuses(other);
    unproven(other);
  }
  if (call.all_same()) return call.set(0, Value::same(call.dims(at.data)));
  if (!data.is_rows()) unproven("it writes rows into data that all rows share");
  if (indices.kind == Kind::Columns) {
    const bool own = data.axis < depth && names_own_row(indices, data.axis, data.per_row());
    const bool fits = updates.is_rows() && updates.axis == indices.axis &&
                      (*updates.dims)[updates.axis] == (*indices.dims)[indices.axis];
    if (!own || !fits) couples("its indices may refer to other rows");
    return call.set(0, Value::rows(call.dims(at.data), data.axis));
  }
  if (indices.varies()) couples("indices of one row refer to entries of all rows");
  if (data.axis < depth) couples("it writes rows by their index");
  const size_t axis = index_rank - 1 + data.axis - depth;
  const bool fits =
      updates.is_rows() && updates.axis == axis && (*updates.dims)[axis] == (*data.dims)[data.axis];
  if (!fits) unproven("the updates do not belong to the same rows");
  call.set(0, Value::rows(call.dims(at.data), data.axis));
}

void scatter_nd(Call& call) { scatter(call, {0, 1, 2}); }
// Our own operator: (indices, updates, data).
void scatter_extreme(Call& call) { scatter(call, {2, 0, 1}); }

void one_hot(Call& call) {
  const Value& indices = call.in(0);
  call.need_same(1, "the depth");
  call.need_same(2, "the values");
  const size_t rank = call.rank(0);
  const size_t axis = axis_of(call.integer("axis", -1), rank + 1);
  Dims out = call.dims(0);
  const Value& depth = call.in(1);
  const bool known = depth.cells && depth.cells->size() == 1;
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(axis),
             known ? depth.cells->front() : call.fresh());
  if (!indices.varies()) return call.set(0, Value::same(std::move(out)));
  call.set(0, Value::rows(std::move(out), indices.axis + (axis <= indices.axis ? 1 : 0)));
}

// (input, grid) or (input, rois by image): rows on the first axis of both.
void sampled(Call& call) {
  const Value &data = call.in(0), &grid = call.in(1);
  if (call.all_same()) return;
  const bool both = data.is_rows() && grid.is_rows() && data.axis == 0 && grid.axis == 0 &&
                    (*data.dims)[0] == (*grid.dims)[0];
  if (!both) couples("the grid is not per row");
  Dims out = call.fresh_dims(call.rank(0));
  out[0] = call.dims(0)[0];
  out[1] = call.dims(0)[1];
  call.set(0, Value::rows(std::move(out), 0));
}

}  // namespace

std::vector<Rule> gather_rules() {
  const char* const family = "Indices";
  return {
      {family,
       "It selects rows of a constant by each row's indices, entries along other axes by constant "
       "indices, or each row's own entry by 0, ..., N - 1.",
       "",
       {"Gather"},
       gather,
       true,
       true,
       false,
       true},
      {family,
       "Indices and updates belong to the same row and are along another axis.",
       "",
       {"GatherElements", "Scatter", "ScatterElements"},
       elements},
      {family,
       "The rows are a batch dimension, or a column of the indices that is 0, ..., N - 1.",
       "",
       {"GatherND"},
       gather_nd,
       false,
       true},
      {family,
       "The rows are a column of the indices that is 0, ..., N - 1, or are not indexed.",
       "",
       {"ScatterND"},
       scatter_nd,
       false,
       true},
      {family,
       "The rows are a column of the indices that is 0, ..., N - 1, or are not indexed.",
       "serval",
       {"ScatterExtreme"},
       scatter_extreme,
       false,
       true},
      {family, "The depth is a constant.", "", {"OneHot"}, one_hot},
      {family, "Each row has its own grid.", "", {"GridSample"}, sampled},
  };
}

}  // namespace serval::rows
