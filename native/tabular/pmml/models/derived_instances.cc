// Computation of derived fields of training instances. Load thread.
#include "tabular/pmml/models/derived_instances.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tabular/java/zone.h"

namespace serval::tabular::pmml {
namespace {

// Columns of fields and of earlier stages, each of which the block may read.
std::vector<uint32_t> filled_columns(const StageSpec& spec) {
  std::vector<uint32_t> made;
  for (uint32_t column = 0; column < spec.column_count(); ++column) {
    if (spec.is_filled(column)) made.push_back(column);
  }
  return made;
}

void fill_missing(StageSpec& spec, Frame& frame, uint32_t at) {
  Column& column = frame.columns[at];
  const Type type = spec.column_type(at);
  column.reset(type == Type::Any ? Type::Double : type, frame.rows, spec.column_element(at));
  if (type == Type::Vector || type == Type::List) column.end_rows(frame.rows);
  else column.states.assign(frame.rows, static_cast<uint8_t>(State::Missing));
}

bool fill(StageSpec& spec, Frame& frame, uint32_t at, std::span<const Value> values) {
  Column& column = frame.columns[at];
  column.reset(spec.column_type(at), static_cast<uint32_t>(values.size()));
  for (uint32_t row = 0; row < values.size(); ++row) {
    const bool fits = storage_of(values[row].type) == storage_of(column.type);
    if (!fits && !values[row].missing()) return false;
    column.set(row, values[row]);
  }
  return true;
}

// Copies a column's values before the run's texts are added to the dictionary, which renumbers
// them.
struct Taken {
  std::vector<double> numbers;
  std::vector<std::string> texts;
};

Taken take(StageSpec& spec, const Frame& frame, uint32_t at) {
  const Column& column = frame.columns[at];
  Taken made;
  for (uint32_t row = 0; row < frame.rows; ++row) {
    if (!column.valid(row)) {
      const Failure* failure = column.failure(row);
      spec.fail("instance " + std::to_string(row + 1) + ": '" + std::string(spec.column_name(at)) +
                "' " + (failure == nullptr ? "is missing" : "has no value: " + failure->what));
      return {};
    }
    const Value value = column.value(row);
    switch (storage_of(value.type)) {
      case Storage::Text: made.texts.emplace_back(frame.strings.text(value.text)); break;
      case Storage::Real: made.numbers.push_back(value.real); break;
      default: made.numbers.push_back(static_cast<double>(value.integer));
    }
  }
  return made;
}

}  // namespace

std::vector<DerivedField> derived_instances(StageSpec& spec, size_t count) {
  if (!spec.has(stages::pmml_nearest_neighbor::derive)) return {};
  const std::vector<uint32_t> before = filled_columns(spec);
  const Block block = spec.block(stages::pmml_nearest_neighbor::derive);
  const std::span<const int32_t> given =
      spec.integers(stages::pmml_nearest_neighbor::given_columns);
  const std::vector<Value> values = spec.values(stages::pmml_nearest_neighbor::given_values);
  const std::span<const int32_t> inputs =
      spec.integers(stages::pmml_nearest_neighbor::derived_inputs);
  const std::span<const int32_t> columns =
      spec.integers(stages::pmml_nearest_neighbor::derived_columns);
  const auto is_column = [&](int32_t at) {
    return at >= 0 && static_cast<size_t>(at) < spec.column_count();
  };
  if (before.size() > kTableElementsMax / std::max<size_t>(count, 1)) {
    spec.fail("there are too many instances to derive their fields");
  }
  bool fits = values.size() == given.size() * count && inputs.size() == columns.size();
  for (const int32_t at : given) fits = fits && is_column(at);
  for (const int32_t at : columns) {
    fits = fits && is_column(at) && spec.is_filled(static_cast<uint32_t>(at)) &&
           !is_list(spec.column_type(static_cast<uint32_t>(at)));
  }
  if (spec.failed()) return {};
  Frame frame(spec.dictionary(), spec.column_count());
  frame.begin(static_cast<uint32_t>(count));
  for (const uint32_t column : before) fill_missing(spec, frame, column);
  for (size_t i = 0; fits && i < given.size(); ++i) {
    fits = fill(spec, frame, static_cast<uint32_t>(given[i]),
                std::span(values).subspan(i * count, count));
  }
  if (!fits) {
    spec.fail("the instances' given and derived fields do not fit each other");
    return {};
  }
  const RunOptions options;
  const Zones zones;
  Run run(frame, options, nullptr, zones);
  if (Status done = block.run(run, {frame.rows, nullptr}); !done.ok()) {
    spec.fail("the instances' derived fields: " + done.error().message);
    return {};
  }
  std::vector<Taken> taken;
  for (size_t i = 0; i < inputs.size() && !spec.failed(); ++i) {
    taken.push_back(take(spec, frame, static_cast<uint32_t>(columns[i])));
  }
  std::vector<DerivedField> made;
  for (size_t i = 0; i < inputs.size() && !spec.failed(); ++i) {
    DerivedField& field = made.emplace_back();
    field.input = static_cast<size_t>(inputs[i]);
    field.values = std::move(taken[i].numbers);
    for (const std::string& text : taken[i].texts) {
      field.values.push_back(static_cast<double>(spec.dictionary().add(text)));
    }
  }
  return made;
}

}  // namespace serval::tabular::pmml
