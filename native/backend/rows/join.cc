// Finds what two branches, steps or cases of one value have in common. Control plane; pure.
#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

// Both differ between rows, or both are the same for all.
Value joined_alike(Symbols& symbols, const Value& a, const Value& b, const std::string& where) {
  if (a.kind != b.kind) unproven("a value contains rows in one case and their number in another");
  if (a.kind == Kind::Pieces || a.kind == Kind::Extents) {
    unproven("a value has one of two lengths that depend on the values of the rows");
  }
  if (a.kind == Kind::Counts) {
    if (!(a.cells == b.cells)) couples("it computes with the number of rows");
    return a;
  }
  if (a.kind == Kind::Numbers || a.kind == Kind::Columns) {
    if (!(a.stride == b.stride) || !(a.columns == b.columns))
      couples("it mixes the numbers of rows");
  }
  Value out = a;
  if (!(a.cells == b.cells)) out.cells.reset();
  out.tensor = nullptr;
  out.stride = a.stride == b.stride ? a.stride : Stride{};
  if (!a.dims || !b.dims || a.rank() != b.rank()) {
    if (a.varies()) unproven("a value has one rank in one case and another in another");
    return Value::same();
  }
  if (a.varies() && (a.axis != b.axis || !((*a.dims)[a.axis] == (*b.dims)[b.axis]))) {
    unproven("a value has its rows on one axis in one case and on another in another");
  }
  for (size_t i = 0; i < a.rank(); ++i) {
    if ((*a.dims)[i] == (*b.dims)[i]) continue;
    const std::string name = where + " axis " + std::to_string(i);
    (*out.dims)[i] = Dim::of_symbol(symbols.named(name, true));
  }
  return out;
}

using Part = std::shared_ptr<const Value>;

// The case that differs between rows, and the one that is the same for all.
struct Parts {
  Part differs, same;
};

Parts parts_of(const Value& value) {
  auto main = std::make_shared<Value>(value);
  main->instead = nullptr;
  if (value.varies()) return {main, value.instead};
  return {nullptr, main};
}

Part both(Symbols& symbols, const Part& a, const Part& b, const std::string& where) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return std::make_shared<Value>(joined_alike(symbols, *a, *b, where));
}

}  // namespace

Value joined(Symbols& symbols, const Value& a, const Value& b, const std::string& where) {
  for (const Value* value : {&a, &b}) {
    if (value->kind == Kind::Mixed) stop(Stop{*value->why});
  }
  const Parts left = parts_of(a), right = parts_of(b);
  const Part differs = both(symbols, left.differs, right.differs, where);
  const Part same = both(symbols, left.same, right.same, where + " else");
  Value out = differs == nullptr ? *same : *differs;
  if (differs != nullptr) out.instead = same;
  return out;
}

}  // namespace serval::rows
