// Tracks rows through broadcasting, reshapes and products, and pieces through elements (rule.h).
#include <algorithm>

#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

std::string dim_text(const Dim& dim) {
  if (!dim.symbols.empty()) return dim.power != 0 ? "N * an inner size" : "an inner size";
  if (dim.power == 0) return std::to_string(dim.number);
  return dim.number == 1 ? "N" : "N * " + std::to_string(dim.number);
}

// The dim that results from broadcasting two dims of one axis.
Dim broadcast_dim(Call& call, const Dim& a, const Dim& b) {
  if (a == b || b.is(1)) return a;
  if (a.is(1)) return b;
  if (a.is_number()) return a;
  if (b.is_number()) return b;
  return Dim::of_symbol(call.symbols().named("broadcast " + a.key() + " " + b.key(), true));
}

// Axis `axis` of a value as one of `rank`, counted from the right.
size_t aligned(const Value& value, size_t axis, size_t rank) { return rank - value.rank() + axis; }

void meet(const Value& value, size_t axis, const Dim& rows, size_t rank) {
  if (value.varies()) {
    if (aligned(value, value.axis, rank) != axis) {
      couples(
          "rows of one input are combined with all rows of another: they are on different axes");
    }
    // A batch runs only if both have equally many entries, and then each row has; otherwise it is
    // run again row by row. Sizes that can never be equal are refused.
    const Dim& own = (*value.dims)[value.axis];
    const bool may_fit = own.power == rows.power && !(own.symbols.empty() && rows.symbols.empty());
    if (!(own == rows) && !may_fit) {
      unproven("the inputs may have different numbers of entries for a row: " + dim_text(rows) +
               " and " + dim_text((*value.dims)[value.axis]));
    }
    return;
  }
  const size_t missing = rank - value.rank();
  if (axis < missing || (*value.dims)[axis - missing].is(1)) return;
  unproven("an input that is the same for all rows has " + dim_text((*value.dims)[axis - missing]) +
           " entries on the batch axis");
}

}  // namespace

Value broadcast(Call& call, std::span<const Value* const> values) {
  const Value* first = nullptr;
  size_t rank = 0;
  bool ranked = true;
  for (const Value* value : values) {
    if (value->varies() && first == nullptr) first = value;
    ranked &= value->dims.has_value();
    if (value->dims) rank = std::max(rank, value->rank());
  }
  if (!ranked) {
    if (first != nullptr) unproven("the rank of an input is not known");
    return Value::same();
  }
  Dims dims(rank);
  for (const Value* value : values) {
    for (size_t i = 0; i < value->rank(); ++i) {
      Dim& dim = dims[aligned(*value, i, rank)];
      dim = broadcast_dim(call, dim, (*value->dims)[i]);
    }
  }
  if (first == nullptr) return Value::same(std::move(dims));
  const size_t axis = aligned(*first, first->axis, rank);
  const Dim rows = (*first->dims)[first->axis];
  for (const Value* value : values) meet(*value, axis, rows, rank);
  dims[axis] = rows;
  return Value::rows(std::move(dims), axis);
}

// Pieces of one group meet one by one, like elements of one row: each row has equally many in both.
// A single element for all meets every piece.
Value pieces_of(Call& call) {
  const Value* pieces = nullptr;
  for (size_t i = 0; i < call.count(); ++i) {
    if (!call.has(i)) continue;
    const Value& value = call.in(i);
    if (value.kind == Kind::Same) {
      const bool single = value.dims && product(*value.dims).is(1) && value.rank() <= 1;
      const bool table = call.op() == "LookupFind" && i > 0;
      if (!single && !table)
        unproven("pieces of the rows are combined with a list that all rows share");
      continue;
    }
    if (value.kind != Kind::Pieces || value.rank() != 1) {
      couples("the number of entries of an input depends on the values of all rows");
    }
    if (pieces != nullptr && pieces->group != value.group) {
      unproven("pieces of different lengths are combined");
    }
    if (!value.stride.step.is(0) && !keeps_integers(call)) {
      couples("it computes with numbers of rows");
    }
    pieces = &value;
  }
  if (call.op() == "LookupFind" && call.dims(3).size() > 1) unproven("the table contains lists");
  return *pieces;
}

Value reshaped(Call& call, const Value& from, const Dims& target) {
  (void)call;
  if (!from.varies()) return Value::same(target);
  size_t axis = target.size();
  for (size_t i = 0; i < target.size(); ++i) {
    if (target[i].power == 0) continue;
    if (axis < target.size() || target[i].power > 1) couples("two axes grow with the batch");
    axis = i;
  }
  if (axis == target.size()) {
    couples("the new shape has no axis that grows with the batch");
  }
  // Rows are the major part of their new axis if the dims before it have the same product as
  // before.
  if (!(product(target, 0, axis) == product(*from.dims, 0, from.axis))) {
    couples("the new shape splits rows: " + dim_text(product(*from.dims, 0, from.axis)) +
            " entries before the batch axis become " + dim_text(product(target, 0, axis)));
  }
  return moved(from, target, axis);
}

namespace {

struct Labelled {
  const Value* value;
  std::string labels;
};

// The label of the rows' axis; throws if two inputs differ.
char label_of_rows(std::span<const Labelled> inputs) {
  char rows = 0;
  Dim entries;
  for (const auto& [value, labels] : inputs) {
    if (!value->varies()) continue;
    const char label = labels[value->axis];
    if (std::count(labels.begin(), labels.end(), label) > 1) couples("a diagonal of the rows");
    const Dim& own = (*value->dims)[value->axis];
    if (rows == 0) {
      rows = label;
      entries = own;
    } else if (label != rows) {
      couples("rows of one input are combined with all rows of another");
    } else if (!(own == entries)) {
      unproven("the inputs may have different numbers of entries for a row");
    }
  }
  return rows;
}

}  // namespace

Value contracted(Call& call, std::span<const Value* const> values,
                 std::span<const std::string> labels, const std::string& out) {
  std::vector<Labelled> inputs;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i]->dims) {
      if (call.all_same()) return Value::same();
      unproven("the rank of an input is not known");
    }
    if (values[i]->rank() != labels[i].size()) unproven("the rank of an input does not fit");
    inputs.push_back({values[i], labels[i]});
  }
  Dims dims(out.size());
  for (const auto& [value, names] : inputs) {
    for (size_t i = 0; i < names.size(); ++i) {
      const size_t at = out.find(names[i]);
      if (at != std::string::npos) dims[at] = broadcast_dim(call, dims[at], (*value->dims)[i]);
    }
  }
  const char rows = label_of_rows(inputs);
  if (rows == 0) return Value::same(std::move(dims));
  const size_t axis = out.find(rows);
  if (axis == std::string::npos) couples("the sum is computed over the rows");
  for (const auto& [value, names] : inputs) {
    if (value->varies()) {
      dims[axis] = (*value->dims)[value->axis];
      continue;
    }
    const size_t at = names.find(rows);
    if (at != std::string::npos && !(*value->dims)[at].is(1)) {
      unproven("an input that is the same for all rows has " + dim_text((*value->dims)[at]) +
               " entries on the batch axis");
    }
  }
  return Value::rows(std::move(dims), axis);
}

}  // namespace serval::rows
