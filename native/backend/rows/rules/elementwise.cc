// Rules of operators that handle one element of each input at a time. See rule.h.
#include "backend/rows/fold.h"
#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

std::vector<const Value*> all_inputs(Call& call) {
  std::vector<const Value*> values;
  for (size_t i = 0; i < call.count(); ++i) {
    if (call.has(i)) values.push_back(&call.in(i));
  }
  return values;
}

bool has_counts(std::span<const Value* const> values) {
  for (const Value* value : values) {
    if (value->kind == Kind::Counts) return true;
  }
  return false;
}

bool has_numbers(std::span<const Value* const> values) {
  for (const Value* value : values) {
    if (value->kind == Kind::Numbers || value->kind == Kind::Columns) return true;
  }
  return false;
}

// The bound of T(X_i): 1 if it is all 0.
std::optional<Dim> bound_of(const Value& value) {
  if (value.kind == Kind::Same && value.cells && value.cells->size() == 1 &&
      value.cells->front().is(0)) {
    return Dim(1);
  }
  return value.stride.bound;
}

// Adds an offset to row numbers, or multiplies them.
Value numbers_of(Call& call, std::span<const Value* const> values) {
  const std::string_view op = call.op();
  if (keeps_integers(call)) return *values[0];
  const bool added = op == "Add";
  if (values.size() != 2 || (!added && op != "Mul")) couples("it computes with numbers of rows");
  const Value *numbers = values[0], *other = values[1];
  if (numbers->kind != Kind::Numbers) std::swap(numbers, other);
  if (numbers->kind != Kind::Numbers) couples("it computes with numbers of rows");
  Value out = broadcast(call, values);
  out.kind = Kind::Numbers;
  if (added) {
    if (other->kind == Kind::Numbers || other->kind == Kind::Columns) {
      couples("it adds numbers of rows");
    }
    out.stride.step = numbers->stride.step;
    const std::optional<Dim> a = bound_of(*numbers), b = bound_of(*other);
    if (a && a->is(1)) out.stride.bound = b;
    else if (b && b->is(1)) out.stride.bound = a;
    return out;
  }
  const bool one = other->kind == Kind::Same && other->cells && other->cells->size() == 1;
  if (!one || !call.symbols().never_negative(other->cells->front())) {
    couples("it multiplies numbers of rows");
  }
  out.stride.step = numbers->stride.step * other->cells->front();
  const std::optional<Dim> bound = bound_of(*numbers);
  if (bound && bound->is(1)) out.stride.bound = bound;
  return out;
}

bool has_pieces(std::span<const Value* const> values) {
  for (const Value* value : values) {
    if (value->kind == Kind::Pieces || value->kind == Kind::Extents) return true;
  }
  return false;
}

void elementwise(Call& call) {
  if (call.output_count() > 1) unproven("it has more than one output");
  const bool old = call.opset() < 7 && call.node().is_onnx();
  if (old && call.count() > 1 && !call.all_same()) unproven("broadcasting before opset 7");
  if (std::optional<Value> value = folded(call)) return call.set(0, std::move(*value));
  const std::vector<const Value*> values = all_inputs(call);
  if (values.empty()) unproven("it has no input");
  if (has_pieces(values)) return call.set(0, pieces_of(call));
  if (has_counts(values)) couples("the result depends on the number of rows");
  if (has_numbers(values)) return call.set(0, numbers_of(call, values));
  Value out = broadcast(call, values);
  if (keeps_integers(call)) out.stride = values[0]->stride;
  call.set(0, std::move(out));
}

// Only the first input has a free shape; the others are numbers.
void first_input(Call& call) {
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "a parameter");
  Value out = call.in(0);
  out.cells.reset();
  out.tensor = nullptr;
  call.set(0, std::move(out));
}

constexpr int64_t kFirstWithTraining = 12, kFirstForInference = 7;

void dropout(Call& call) {
  if (call.opset() < kFirstForInference && call.integer("is_test", 0) == 0) {
    couples("it runs in training mode");
  }
  if (call.opset() >= kFirstWithTraining && call.has(2)) {
    const std::optional<std::vector<int64_t>> training = call.numbers(2);
    if (!training || training->size() != 1 || training->front() != 0) {
      couples("it may run in training mode");
    }
  }
  Value out = call.in(0);
  out.cells.reset();
  out.tensor = nullptr;
  call.set(0, out);
  call.set(1, std::move(out));
}

// Requires one scale, or one for each entry of `axis`: an axis other than the rows', or with the
// rows.
void need_scale(Call& call, const Value& data, size_t scale, int64_t axis) {
  if (!call.has(scale)) return;
  const Dims& dims = call.dims(scale);
  const bool one = dims.empty() || (dims.size() == 1 && dims[0].is(1));
  if (!call.in(scale).varies() && (one || !data.varies())) return;
  if (dims.size() != 1) unproven("the shape of a scale is not supported");
  const bool rows = data.varies() && axis_of(axis, data.rank()) == data.axis;
  if (call.in(scale).varies()) {
    if (rows && call.in(scale).is_rows() && dims[0] == (*data.dims)[data.axis]) return;
    couples("a scale is computed from the rows");
  }
  if (rows) unproven("there is a scale for each row");
}

void quantized(Call& call) {
  Value out = call.in(0);
  if (out.varies() && call.integer("block_size", 0) != 0) unproven("block-wise scales");
  call.dims(0);
  need_scale(call, out, 1, call.integer("axis", 1));
  need_scale(call, out, 2, call.integer("axis", 1));
  out.cells.reset();
  out.tensor = nullptr;
  call.set(0, std::move(out));
}

// (A, A_scale, A_zero, B, B_scale, B_zero, C_scale, C_zero).
void quantized_pair(Call& call) {
  const bool two = call.op() != "QLinearSigmoid" && call.op() != "QLinearLeakyRelu" &&
                   call.op() != "QLinearSoftmax";
  for (size_t i = 1; i < call.count(); ++i) {
    if (!two || i != 3) call.need_same(i, "a scale");
  }
  if (!two) {
    Value out = call.in(0);
    return call.set(0, std::move(out));
  }
  const Value* const values[] = {&call.in(0), &call.in(3)};
  call.set(0, broadcast(call, values));
}

std::vector<Rule> quantised_rules() {
  return {
      {"Quantised",
       "Scales and zero points are constants, and not per row.",
       "",
       {"DequantizeLinear", "QuantizeLinear"},
       quantized},
      {"Quantised",
       "Scales and zero points are constants, and not per row.",
       "com.microsoft",
       {"DequantizeLinear", "QuantizeLinear"},
       quantized},
      {"Quantised",
       "Scales and zero points are constants; the rows are on the same axis.",
       "com.microsoft",
       {"QLinearAdd", "QLinearLeakyRelu", "QLinearMul", "QLinearSigmoid"},
       quantized_pair},
  };
}

}  // namespace

std::vector<Rule> elementwise_rules() {
  const char* const family = "Elementwise";
  const char* const says =
      "The rows are on the same axis of every input that has them; other inputs have 1 entry or "
      "none there.";
  std::vector<Rule> rules = {
      {family,
       says,
       "",
       {"Abs",         "Acos",        "Acosh",
        "Add",         "And",         "Asin",
        "Asinh",       "Atan",        "Atanh",
        "BitShift",    "BitwiseAnd",  "BitwiseNot",
        "BitwiseOr",   "BitwiseXor",  "Cast",
        "CastLike",    "Ceil",        "Celu",
        "Clip",        "Cos",         "Cosh",
        "Div",         "Elu",         "Equal",
        "Erf",         "Exp",         "Floor",
        "Gelu",        "Greater",     "GreaterOrEqual",
        "HardSigmoid", "HardSwish",   "Identity",
        "IsInf",       "IsNaN",       "LeakyRelu",
        "Less",        "LessOrEqual", "Log",
        "Max",         "Mean",        "Min",
        "Mish",        "Mod",         "Mul",
        "Neg",         "Not",         "Or",
        "PRelu",       "Pow",         "Reciprocal",
        "Relu",        "Round",       "Selu",
        "Shrink",      "Sigmoid",     "Sign",
        "Sin",         "Sinh",        "Softplus",
        "Softsign",    "Sqrt",        "StringConcat",
        "Sub",         "Sum",         "Swish",
        "Tan",         "Tanh",        "ThresholdedRelu",
        "Where",       "Xor"},
       elementwise,
       true,
       true,
       false,
       true},
      {family,
       says,
       "com.microsoft",
       {"BiasGelu", "BiasSplitGelu", "FastGelu", "Gelu", "QuickGelu"},
       elementwise},
      {family,
       says,
       "serval",
       {"Angle", "BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "BesselJ0", "BesselJ1",
        "BesselK0", "BesselK0e", "BesselK1", "BesselK1e", "BesselY0", "BesselY1", "Erfinv",
        "IntegerDivide", "IntegerModulo", "Ndtri", "NextAfter"},
       elementwise,
       true},
      {family,
       says,
       "serval",
       {"Betainc", "Igamma", "Igammac", "IntegerPower", "Polygamma", "RoundFloat8", "WithoutNan",
        "Zeta"},
       elementwise},
      {family,
       "The parameters are the same for all rows.",
       "ai.onnx.ml",
       {"Binarizer", "CategoryMapper", "LabelEncoder"},
       first_input},
      {family, "The parameters are the same for all rows.", "", {"RegexFullMatch"}, first_input},
      {family, "Not in training mode.", "", {"Dropout"}, dropout},
  };
  const std::vector<Rule> quantised = quantised_rules();
  rules.insert(rules.end(), quantised.begin(), quantised.end());
  return rules;
}

}  // namespace serval::rows
