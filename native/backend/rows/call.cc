// Gives rules access to a node's inputs and attributes (rule.h).
#include <algorithm>

#include "backend/rows/rule.h"

namespace serval::rows {

// The only throw: leaves a rule from any depth; Walk::run_node() catches it.
void stop(const Stop& reason) { throw reason; }
void refuses(std::string why) { stop(Stop{Why{false, std::move(why)}, true}); }
void couples(std::string why) { stop(Stop{Why{true, std::move(why)}}); }
void unproven(std::string why) { stop(Stop{Why{false, std::move(why)}}); }

const Value& Call::in(size_t index) const {
  if (!has(index)) unproven("input " + std::to_string(index) + " is missing");
  return *inputs_[index];
}

bool Call::all_same() const {
  return std::all_of(inputs_.begin(), inputs_.end(),
                     [](const Value* value) { return value == nullptr || !value->varies(); });
}

void Call::need_same(size_t index, const char* what) const {
  if (!has(index) || !in(index).varies()) return;
  if (in(index).kind == Kind::Counts)
    couples(std::string(what) + " must not depend on the number of rows");
  couples(std::string(what) + " must not depend on the values of the rows");
}

size_t Call::rank(size_t index) const { return dims(index).size(); }

const Dims& Call::dims(size_t index) const {
  if (!in(index).dims) unproven("the rank of input " + std::to_string(index) + " is not known");
  return *in(index).dims;
}

std::string_view Call::text(std::string_view name, std::string_view fallback) const {
  const ort::OnnxAttribute* found = node_.attribute(name);
  return found == nullptr ? fallback : found->text;
}

const std::vector<int64_t>* Call::integers(std::string_view name) const {
  const ort::OnnxAttribute* found = node_.attribute(name);
  return found == nullptr ? nullptr : &found->integers;
}

std::optional<std::vector<int64_t>> Call::numbers(size_t index) const {
  if (!has(index) || !in(index).cells) return std::nullopt;
  std::vector<int64_t> out;
  for (const Dim& cell : *in(index).cells) {
    if (!cell.is_number()) return std::nullopt;
    out.push_back(cell.number);
  }
  return out;
}

std::optional<std::vector<int64_t>> Call::axes(std::string_view name, size_t input) const {
  if (const std::vector<int64_t>* found = integers(name)) return *found;
  if (!has(input)) return std::nullopt;
  std::optional<std::vector<int64_t>> out = numbers(input);
  if (!out) unproven("the axes are computed");
  return out;
}

// Whether the type holds every size and row number: excludes booleans, 8 and 16 bits.
bool keeps_integers(const Call& call) {
  if (call.op() == "Identity") return true;
  if (call.op() != "Cast") return false;
  using ort::OnnxType;
  switch (static_cast<OnnxType>(call.integer("to", 0))) {
    case OnnxType::Float:
    case OnnxType::Double:
    case OnnxType::Int32:
    case OnnxType::Int64:
    case OnnxType::Uint32:
    case OnnxType::Uint64: return true;
    default: return false;
  }
}

void Call::set_all(const Value& value) { std::fill(outputs_.begin(), outputs_.end(), value); }

Dims Call::fresh_dims(size_t rank) {
  Dims out(rank);
  for (Dim& dim : out) dim = fresh();
  return out;
}

size_t axis_of(int64_t axis, size_t rank) {
  const int64_t positive = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  if (positive < 0 || positive >= static_cast<int64_t>(rank)) {
    unproven("axis " + std::to_string(axis) + " of a tensor of rank " + std::to_string(rank));
  }
  return static_cast<size_t>(positive);
}

bool has_axis(const std::vector<int64_t>& axes, size_t axis, size_t rank) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](int64_t one) { return axis_of(one, rank) == axis; });
}

Value moved(const Value& from, Dims dims, size_t axis) {
  Value out = from;
  out.dims = std::move(dims);
  out.axis = axis;
  out.cells.reset();
  out.tensor = nullptr;
  return out;
}

}  // namespace serval::rows
