// Building and evaluating expressions. Hot path, any thread.
#include "tabular/expression.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/limits.h"
#include "tabular/plan_reading.h"
#include "tabular/sql/composite/items.h"

namespace serval::tabular {
namespace {

bool takes(const Function& function, size_t count) {
  const auto least = static_cast<size_t>(function.arguments_min);
  return count >= least &&
         (function.arguments_max < 0 || count <= static_cast<size_t>(function.arguments_max));
}

// Errors that arguments have raised, by their indices.
class Raises {
 public:
  void note(size_t index, size_t count, Eval& eval) {
    texts_.resize(count);
    texts_[index] = std::move(eval.raised);
    eval.raised.clear();
  }
  bool none() const { return texts_.empty(); }
  bool at(size_t index) const { return !texts_[index].empty(); }
  std::string take(size_t index) { return std::move(texts_[index]); }

 private:
  std::vector<std::string> texts_;
};

constexpr size_t kNoRaise = SIZE_MAX;

bool is_true(const Value& value) {
  return value.valid() && value.type == Type::Bool && value.integer != 0;
}
bool is_false(const Value& value) {
  return value.valid() && value.type == Type::Bool && value.integer == 0;
}

size_t raise_of_branches(std::span<const Value> values, const Raises& raises) {
  for (size_t i = 0; i < values.size(); i += 2) {
    const bool is_last = i + 1 == values.size();
    if (raises.at(i)) return i;
    if (is_last) break;
    if (is_true(values[i])) return raises.at(i + 1) ? i + 1 : kNoRaise;
  }
  return kNoRaise;
}

// An item before the first one that raises an error may already match.
size_t raise_of_list(Eval& eval, const CallNode& call, std::span<const Value> values,
                     const Raises& raises) {
  if (raises.at(0)) return 0;
  if (values[0].missing()) return kNoRaise;
  size_t first = 1;
  while (first < values.size() && !raises.at(first)) ++first;
  if (first == values.size()) return kNoRaise;
  if (first > 1 && is_true(call.function->strict(eval, values.first(first), call.state.get()))) {
    return kNoRaise;
  }
  return first;
}

// The first argument that ends the evaluation, and whether it does so by raising an error.
template <typename Ends>
size_t raise_until(std::span<const Value> values, const Raises& raises, Ends ends) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (raises.at(i)) return i;
    if (ends(values[i])) return kNoRaise;
  }
  return kNoRaise;
}

// Spark's optimizer folds AND with a FALSE argument in any position.
bool has_constant(const CallNode& call, bool (*holds)(const Value&)) {
  for (const CallNode* each : call.arguments) {
    if (each->function == nullptr && each->column < 0 && holds(each->constant)) return true;
  }
  return false;
}

// The index of the argument whose error is that of the call.
size_t raise_of(Eval& eval, const CallNode& call, std::span<const Value> values,
                const Raises& raises) {
  switch (call.function->reads) {
    case Reads::All: return raise_until(values, raises, [](const Value&) { return false; });
    case Reads::Branches: return raise_of_branches(values, raises);
    case Reads::UntilEqual: return raise_of_list(eval, call, values, raises);
    case Reads::UntilFalse:
      return has_constant(call, is_false) ? kNoRaise : raise_until(values, raises, is_false);
    case Reads::UntilTrue:
      return has_constant(call, is_true) ? kNoRaise : raise_until(values, raises, is_true);
    case Reads::UntilFound:
      return raise_until(values, raises, [](const Value& value) { return value.valid(); });
    case Reads::WhereNan:
      return raise_until(values, raises, [](const Value& value) {
        return value.missing() || !is_real(value.type) || !std::isnan(value.real);
      });
    case Reads::LastFirst:
      for (size_t i = values.size(); i-- > 0;) {
        if (raises.at(i)) return i;
        if (values[i].missing()) return kNoRaise;
      }
      return kNoRaise;
    case Reads::UntilMissing: break;
  }
  return raise_until(values, raises, [](const Value& value) { return value.missing(); });
}

Value call_raised(Eval& eval, const CallNode& call, std::span<const Value> values, Raises& raises) {
  const size_t index = raise_of(eval, call, values, raises);
  Value made = call.function->strict(eval, values, call.state.get());
  if (index != kNoRaise) eval.raised = raises.take(index);
  return made;
}

Value call_with(Eval& eval, const CallNode& call, std::span<Value> values) {
  Raises raises;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = call.arguments[i]->value(eval);
    if (eval.failed()) return {};
    if (!eval.raised.empty()) raises.note(i, values.size(), eval);
    if (values[i].missing() && !call.function->takes_missing) return {};
  }
  if (!raises.none()) return call_raised(eval, call, values, raises);
  return call.function->strict(eval, values, call.state.get());
}

// Evaluates strict calls, with their arguments on the stack.
template <size_t N>
Value call_strict(Eval& eval, const CallNode& call) {
  std::array<Value, N> values;
  return call_with(eval, call, {values.data(), call.count()});
}

Value call_many(Eval& eval, const CallNode& call) {
  std::vector<Value> values(call.count());
  return call_with(eval, call, values);
}

// Whether a list's items have no type.
bool is_shapeless(const Value& value) {
  return is_list(value.type) && (value.type == Type::Vector || value.precision == 0);
}

// Fills a column row by row; the first value may determine its type.
class Filling {
 public:
  Filling(Run& run, Rows rows, uint32_t out, Type element)
      : run_(run), rows_(rows), out_(out), element_(element) {}

  void start(Type type, const Value* first) {
    const bool list =
        first != nullptr && is_list(type) && first->valid() && first->list.column != nullptr;
    if (list) element_ = first->list.column->element;
    if (first != nullptr && type == Type::List && !list) element_ = element_of_items(*first);
    column_ = &run_.out(out_, type, rows_, element_);
    if (first != nullptr) set_scale(*first);
  }
  bool started() const { return column_ != nullptr; }
  void skip(uint32_t row) {
    if (!is_list(column_->type)) column_->set_missing(row);
  }

  // Returns false if the value does not belong to the column's type.
  bool set(uint32_t row, Value value) {
    if (value.missing()) {
      skip(row);
      return true;
    }
    if (is_list(column_->type)) return set_list(row, value);
    if (is_real(column_->type) && storage_of(value.type) == Storage::Integer) {
      value.real = static_cast<double>(value.integer);
    } else if (is_list(value.type) || storage_of(value.type) != storage_of(column_->type)) {
      return false;
    } else if (column_->type == Type::Decimal) {
      if (column_->precision == 0) set_scale(value);
      if (value.scale != column_->scale) return false;
    }
    value.type = column_->type;
    column_->set(row, value);
    return true;
  }

 private:
  void set_scale(const Value& value) {
    if (column_->type != Type::Decimal) return;
    column_->precision = value.precision;
    column_->scale = value.scale;
  }

  static Type element_of_items(const Value& value) {
    return sql::element_of({value.type, value.precision, value.scale}).type;
  }

  // Sets a list made by an expression, whose items are known to be valid.
  bool set_items(uint32_t row, const Value& value) {
    if (value.type != column_->type || element_of_items(value) != column_->element) return false;
    column_->start_row(row);
    for (const Value& item : run_.frame.items.lists[value.list.row]) {
      switch (storage_of(column_->element)) {
        case Storage::Real: column_->reals.push_back(item.real); break;
        case Storage::Integer: column_->integers.push_back(item.integer); break;
        case Storage::Text: column_->texts.push_back(item.text); break;
        case Storage::Decimal:
          column_->decimals.push_back(item.decimal);
          column_->precision = item.precision;
          column_->scale = item.scale;
          break;
      }
    }
    column_->end_row();
    return true;
  }

  bool set_list(uint32_t row, const Value& value) {
    if (!is_list(value.type)) return false;
    if (value.list.column == nullptr) return set_items(row, value);
    const Column& from = *value.list.column;
    const uint32_t at = value.list.row;
    if (from.type != column_->type || from.element != column_->element) return false;
    if (column_->offsets.size() == 1) column_->sparse = from.sparse;
    if (from.sparse != column_->sparse) return false;
    column_->start_row(row);
    const auto append = [&](auto& to, const auto& source) {
      to.insert(to.end(), source.begin() + static_cast<ptrdiff_t>(from.offsets[at]),
                source.begin() + static_cast<ptrdiff_t>(from.offsets[at + 1]));
    };
    switch (storage_of(from.type == Type::List ? from.element : from.type)) {
      case Storage::Real: append(column_->reals, from.reals); break;
      case Storage::Integer: append(column_->integers, from.integers); break;
      case Storage::Text: append(column_->texts, from.texts); break;
      case Storage::Decimal: append(column_->decimals, from.decimals); break;
    }
    if (from.sparse) {
      append(column_->indices, from.indices);
      column_->end_sparse_row(from.sizes[at]);
    } else {
      column_->end_row();
    }
    return true;
  }

  Run& run_;
  Rows rows_;
  uint32_t out_;
  Type element_;
  Column* column_ = nullptr;
};

}  // namespace

Value CallNode::value(Eval& eval) const {
  if (function == nullptr) {
    if (column < 0) return constant;
    const Column& from = eval.run.in(static_cast<uint32_t>(column));
    if (const Failure* failure = from.failure(eval.row)) {
      return eval.ansi ? eval.raise(from.value(eval.row), failure->what) : eval.fail(*failure);
    }
    return from.value(eval.row);
  }
  if (function->lazy != nullptr) return function->lazy(eval, *this);
  if (count() <= 4) return call_strict<4>(eval, *this);
  if (count() <= 16) return call_strict<16>(eval, *this);
  return call_many(eval, *this);
}

Expression::Expression(StageSpec& spec, const plan::Expression& from) {
  const size_t count = from.nodes() == nullptr ? 0 : from.nodes()->size();
  if (count == 0) spec.fail("an expression is empty");
  nodes_.reserve(std::max<size_t>(count, 1));  // nodes point to each other
  depths_.reserve(count);
  used_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    CallNode node;
    depths_.push_back(1);
    if (!read_node(spec, *from.nodes()->Get(static_cast<uint32_t>(i)), node)) {
      nodes_.clear();
      break;
    }
    nodes_.push_back(std::move(node));
  }
  if (nodes_.empty()) nodes_.emplace_back();
  depths_ = {};
  used_ = {};
}

bool Expression::read_node(StageSpec& spec, const plan::Node& from, CallNode& made) {
  if (from.call() != nullptr) return read_call(spec, from, made);
  if (from.value() != nullptr) {
    made.constant = spec.constant(*from.value());
    return true;
  }
  if (from.column() < 0 || !spec.is_filled(static_cast<uint32_t>(from.column()))) {
    spec.fail("an expression reads column " + std::to_string(from.column()) +
              ", which no stage before it fills");
    return false;
  }
  made.column = from.column();
  return true;
}

bool Expression::read_call(StageSpec& spec, const plan::Node& from, CallNode& made) {
  const std::string name(view_of(from.call()));
  made.function = find_function(name);
  if (made.function == nullptr) {
    spec.fail("there is no function '" + name + "'");
    return false;
  }
  const size_t count = from.arguments() == nullptr ? 0 : from.arguments()->size();
  if (!takes(*made.function, count)) {
    spec.fail("function '" + name + "' does not take " + std::to_string(count) + " arguments");
    return false;
  }
  std::vector<const Value*> constants;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t number = from.arguments()->Get(static_cast<uint32_t>(i));
    if (number >= nodes_.size() || used_[number]) {
      spec.fail("an expression's argument " + std::to_string(number) +
                " is not an unused earlier node");
      return false;
    }
    used_[number] = true;
    const CallNode& part = nodes_[number];
    made.arguments.push_back(&part);
    constants.push_back(part.function == nullptr && part.column < 0 ? &part.constant : nullptr);
    depths_.back() = std::max(depths_.back(), static_cast<uint16_t>(depths_[number] + 1));
  }
  if (depths_.back() > kExpressionDepthMax) {
    spec.fail("an expression has calls more than " + std::to_string(kExpressionDepthMax) + " deep");
    return false;
  }
  if (made.function->prepare == nullptr) return true;
  auto prepared = made.function->prepare(constants, spec.dictionary());
  if (!prepared.ok()) {
    spec.fail("function '" + name + "': " + prepared.error().message);
    return false;
  }
  made.state = std::move(prepared.value());
  return true;
}

const Value* Expression::constant() const {
  const CallNode& root = nodes_.back();
  return root.function == nullptr && root.column < 0 ? &root.constant : nullptr;
}

Status Expression::fill(Run& run, Rows rows, const Filled& to, std::string_view place) const {
  Filling filling(run, rows, to.out, to.element);
  if (to.type != Type::Any) filling.start(to.type, nullptr);
  Eval eval{run, 0, {}};
  eval.ansi = eval.ansi_types = to.ansi;
  Value missing = Value::missing_of(Type::Double);
  std::vector<Failure> failures;
  for (uint32_t i = 0; i < rows.count; ++i) {
    eval.row = rows[i];
    run.frame.items.clear();
    const Value value = this->value(eval);
    if (!eval.raised.empty()) {
      eval.fail(std::string(to.written) + ": " + eval.raised);
      eval.raised.clear();
    } else if (is_list(value.type) && !eval.failed()) {
      if (std::string fault = sql::column_fault(eval, value); !fault.empty()) eval.fail(fault);
    }
    if (eval.failed()) {
      const bool typed = value.missing() && value.type != Type::Any && !is_list(value.type);
      if (typed) missing = value;
      Failure failure = eval.take_failure(place);
      if (to.deferred) {
        failures.push_back(std::move(failure));
      } else if (Status refused = run.refuse(failure); !refused.ok()) {
        return refused;
      }
      if (filling.started()) filling.skip(eval.row);
      continue;
    }
    if (!filling.started()) {
      if (value.missing()) {
        if (value.type != Type::Any && !is_shapeless(value)) missing = value;
        continue;
      }
      filling.start(value.type, &value);
      for (uint32_t before = 0; before < i; ++before) filling.skip(rows[before]);
    }
    if (filling.set(eval.row, value)) continue;
    return make_error(ErrorCode::BackendFailed,
                      std::string(place) + ": row " + std::to_string(eval.row) + ": a value of " +
                          std::string(type_name(value.type)) + " does not fit column of " +
                          std::string(type_name(run.in(to.out).type)));
  }
  if (!filling.started()) {
    filling.start(missing.type, &missing);
    for (uint32_t i = 0; i < rows.count; ++i) filling.skip(rows[i]);
  }
  run.frame.columns[to.out].failures = std::move(failures);
  return {};
}

}  // namespace serval::tabular
