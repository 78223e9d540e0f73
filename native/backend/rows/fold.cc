// Computes with products of sizes, element by element. Control plane; pure.
#include "backend/rows/fold.h"

#include <algorithm>
#include <string>

namespace serval::rows {
namespace {

// A sum of two products is a product only if their symbols are the same.
std::optional<Dim> sum(const Dim& a, const Dim& b, int64_t sign) {
  if (b.is(0)) return a;
  if (a.is(0)) return b * Dim(sign);
  if (a.power != b.power || a.symbols != b.symbols) return std::nullopt;
  Dim out = a;
  int64_t term = 0;
  if (__builtin_mul_overflow(b.number, sign, &term) ||
      __builtin_add_overflow(a.number, term, &out.number)) {
    return std::nullopt;
  }
  return out.number == 0 ? Dim(0) : out;
}

// Returns -1, 0 or 1; nullopt: unknown. A batch has at least one row.
std::optional<int> compare(const Symbols& symbols, const Dim& a, const Dim& b) {
  if (a == b) return 0;
  if (a.is_number() && b.is_number()) return a.number < b.number ? -1 : 1;
  if (a.is_number()) {
    const std::optional<int> turned = compare(symbols, b, a);
    return turned ? std::optional(-*turned) : std::nullopt;
  }
  if (!b.is_number()) return std::nullopt;
  if (!symbols.never_negative(a)) return std::nullopt;
  const int64_t least = a.symbols.empty() ? a.number : 0;
  if (least > b.number) return 1;
  return std::nullopt;
}

bool is_comparison(std::string_view op) {
  return op == "Equal" || op == "Less" || op == "Greater" || op == "LessOrEqual" ||
         op == "GreaterOrEqual";
}

// A batch has at least one row, so the product has the same sign without N.
Dim sign_of(const Dim& dim) { return dim.is_beyond() ? dim : without_rows(dim); }

std::optional<Dim> compared(const Symbols& symbols, std::string_view op, const Dim& a,
                            const Dim& b) {
  const std::optional<int> order = compare(symbols, a, b);
  if (!order) return std::nullopt;
  if (op == "Equal") return Dim(*order == 0);
  if (op == "Less") return Dim(*order < 0);
  if (op == "Greater") return Dim(*order > 0);
  return Dim(op == "LessOrEqual" ? *order <= 0 : *order >= 0);
}

std::optional<Dim> extreme(const Symbols& symbols, std::string_view op, std::span<const Dim> args) {
  Dim best = args[0];
  for (const Dim& arg : args.subspan(1)) {
    const std::optional<int> order = compare(symbols, arg, best);
    if (!order) return std::nullopt;
    if (op == "Max" ? *order > 0 : *order < 0) best = arg;
  }
  return best;
}

std::optional<Dim> truth(std::string_view op, std::span<const Dim> args) {
  for (const Dim& arg : args) {
    if (!arg.is_number()) return std::nullopt;
  }
  const bool a = args[0].number != 0, b = args.size() > 1 && args[1].number != 0;
  if (op == "Not") return Dim(!a);
  if (op == "And") return Dim(a && b);
  if (op == "Or") return Dim(a || b);
  return Dim(a != b);
}

std::optional<Dim> two(Symbols& symbols, std::string_view op, std::span<const Dim> args) {
  const Dim &a = args[0], &b = args[1];
  if (op == "Add") return sum(a, b, 1);
  if (op == "Sub") return sum(a, b, -1);
  if (op == "Mul") return a * b;
  if (op == "Div") return divide(a, b);
  if (op == "Mod") return divide(a, b) ? std::optional(Dim(0)) : std::nullopt;
  if (is_comparison(op)) return compared(symbols, op, a, b);
  return std::nullopt;
}

bool is_truth(std::string_view op) {
  return op == "Not" || op == "And" || op == "Or" || op == "Xor";
}

std::optional<Dim> known(Symbols& symbols, std::string_view op, std::span<const Dim> args) {
  if (op == "Identity") return args[0];
  if (op == "Cast" || op == "CastLike" || op == "Floor" || op == "Ceil" || op == "Round") {
    return symbols.whole(args[0]) ? std::optional(args[0]) : std::nullopt;
  }
  if (is_truth(op)) return truth(op, args);
  if (op == "Neg") return args[0] * Dim(-1);
  if (op == "Abs" && symbols.never_negative(args[0])) return args[0];
  if (op == "Max" || op == "Min") return extreme(symbols, op, args);
  if (op == "Sum" && args.size() == 1) return args[0];
  if (op == "Where") {
    if (args[1] == args[2]) return args[1];
    if (args[0].is_number()) return args[0].number != 0 ? args[1] : args[2];
    return std::nullopt;
  }
  return args.size() == 2 ? two(symbols, op, args) : std::nullopt;
}

}  // namespace

std::optional<Dim> fold(Symbols& symbols, std::string_view op, std::span<const Dim> args) {
  if (op == "IntegerDivide") op = "Div";
  if (op == "IntegerModulo") op = "Mod";
  if (std::optional<Dim> found = known(symbols, op, args)) return found;
  if (is_comparison(op) && args.size() == 2 && (args[0].is(0) || args[1].is(0))) {
    const Dim signs[] = {sign_of(args[0]), sign_of(args[1])};
    const bool changed = signs[0].power != args[0].power || signs[1].power != args[1].power;
    if (changed) return fold(symbols, op, signs);
  }
  const bool free_of_rows =
      std::none_of(args.begin(), args.end(), [](const Dim& arg) { return arg.power != 0; });
  if (!free_of_rows) return std::nullopt;
  std::string name(op);
  for (const Dim& arg : args) name += " " + arg.key();
  const bool whole_op = op == "Add" || op == "Sub" || op == "Mul" || op == "Max" || op == "Min";
  const bool counts = (whole_op && op != "Sub") || op == "Div" || op == "Mod";
  const bool never_negative = counts && std::all_of(args.begin(), args.end(), [&](const Dim& arg) {
                                return symbols.never_negative(arg);
                              });
  const bool rounds = op == "Cast" || op == "Floor" || op == "Ceil" || op == "Round";
  const bool whole =
      rounds || (whole_op && std::all_of(args.begin(), args.end(),
                                         [&](const Dim& arg) { return symbols.whole(arg); }));
  return Dim::of_symbol(symbols.named(name, never_negative, whole));
}

namespace {

constexpr int64_t kBool = 9;

// The result of a cast from a number to a boolean.
std::optional<Dim> as_truth(const Symbols& symbols, const Dim& cell) {
  if (cell.is_number()) return Dim(cell.number != 0);
  const std::optional<int> order = compare(symbols, cell, Dim(0));
  return order ? std::optional(Dim(*order != 0)) : std::nullopt;
}

// Operators whose results depend on more than their name and inputs.
bool has_more_than_its_name(std::string_view op) {
  return op == "BitShift" || op == "Clip" || op == "Pow" || op == "Mod" || op == "IntegerModulo";
}

}  // namespace

std::optional<Value> folded(Call& call) {
  std::vector<const Value*> values;
  size_t size = 1;
  for (size_t i = 0; i < call.count(); ++i) {
    if (!call.has(i)) continue;
    const Value& value = call.in(i);
    if (!value.cells || !value.dims) return std::nullopt;
    values.push_back(&value);
    if (value.cells->size() != 1) {
      if (size != 1 && size != value.cells->size()) return std::nullopt;
      size = value.cells->size();
    }
  }
  if (values.empty() || (call.all_same() && has_more_than_its_name(call.op()))) {
    return std::nullopt;
  }
  // Elements of several inputs correspond one to one only if these are scalars and vectors.
  std::vector<Value> plain;
  std::vector<const Value*> shapes;
  plain.reserve(values.size());
  for (const Value* value : values) {
    if (value->rank() > 1 && size != 1 && values.size() > 1) return std::nullopt;
    plain.push_back(Value::same(*value->dims));
    shapes.push_back(&plain.back());
  }
  const Value shape = broadcast(call, shapes);
  const bool is_truth_cast = call.op() == "Cast" && call.integer("to", 0) == kBool;
  const bool is_narrow = call.op() == "Cast" && !is_truth_cast && !keeps_integers(call);
  if (is_narrow && !call.all_same()) couples("a narrow integer type truncates the number of rows");
  Dims cells;
  for (size_t i = 0; i < size; ++i) {
    std::vector<Dim> args;
    for (const Value* value : values) {
      args.push_back((*value->cells)[value->cells->size() == 1 ? 0 : i]);
    }
    std::optional<Dim> cell =
        is_truth_cast ? as_truth(call.symbols(), args[0]) : fold(call.symbols(), call.op(), args);
    const Dim sign = sign_of(args[0]);
    if (!cell && sign.power == 0 && is_truth_cast) {
      cell = Dim::of_symbol(call.symbols().named("truth " + sign.key(), true));
    }
    if (!cell) couples("the result depends on the number of rows");
    cells.push_back(*cell);
  }
  return Value::integers(*shape.dims, std::move(cells));
}

}  // namespace serval::rows
