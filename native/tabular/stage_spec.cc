// A stage in the plan: attributes, blocks, expressions. Load thread.
#include <algorithm>
#include <bit>

#include "base/limits.h"
#include "tabular/dense/island.h"
#include "tabular/plan_reading.h"

namespace serval::tabular {

static_assert(std::endian::native == std::endian::little);  // vectors of the plan are used in place

void PlanReading::fault(std::string what) {
  ++fault_count;
  if (faults.size() < kPlanFaultsMax) faults.push_back(std::move(what));
}

Value PlanReading::value(const plan::Value& from) {
  Value made = Value::missing_of(from.type());
  if (from.missing()) return made;
  made.state = State::Valid;
  switch (storage_of(from.type())) {
    case Storage::Real: made.real = from.real(); break;
    case Storage::Integer: made.integer = from.integer(); break;
    case Storage::Text: made.text = dictionary.add(view_of(from.text())); break;
    case Storage::Decimal:
      made.decimal = static_cast<Int128>(from.high()) << 64 | static_cast<uint64_t>(from.integer());
      made.precision = from.precision();
      made.scale = from.scale();
      break;
  }
  return made;
}

StageSpec::StageSpec(PlanReading& reading, const plan::Stage& stage)
    : kind(view_of(stage.kind())), place(view_of(stage.place())), reading_(reading), stage_(stage) {
  const auto columns_of = [this](const flatbuffers::Vector<uint32_t>* list, const char* what) {
    if (list == nullptr) return std::span<const uint32_t>();
    for (const uint32_t column : *list) {
      if (column < reading_.column_count()) continue;
      fail(std::string(what) + " column " + std::to_string(column) + " does not exist");
      return std::span<const uint32_t>();
    }
    return std::span<const uint32_t>(list->data(), list->size());
  };
  inputs = columns_of(stage.inputs(), "input");
  outputs = columns_of(stage.outputs(), "output");
}

StageSpec::~StageSpec() = default;

void StageSpec::fail(std::string what) {
  failed_ = true;
  reading_.fault(std::string(place) + " (" + std::string(kind) + "): " + std::move(what));
}

void StageSpec::share(std::shared_ptr<const SharedForest> forest) {
  for (const uint32_t output : outputs) reading_.forests[output] = forest;
}

std::shared_ptr<const SharedForest> StageSpec::forest_of(int32_t column) {
  const auto found = reading_.forests.find(static_cast<uint32_t>(column));
  if (column >= 0 && found != reading_.forests.end()) return found->second;
  fail("no forest fills column " + std::to_string(column));
  return nullptr;
}

const plan::Attribute* StageSpec::find(std::string_view name) const {
  if (stage_.attributes() == nullptr) return nullptr;
  for (const plan::Attribute* attribute : *stage_.attributes()) {
    if (view_of(attribute->name()) == name) return attribute;
  }
  return nullptr;
}

bool StageSpec::has(const Attribute& attribute) const { return find(attribute.name) != nullptr; }

// Records attributes that are unknown, duplicate or missing.
void StageSpec::check_attributes(const KindRule& rule) {
  std::vector<std::string_view> names;
  if (stage_.attributes() != nullptr) {
    for (const plan::Attribute* attribute : *stage_.attributes()) {
      const std::string_view name = view_of(attribute->name());
      const bool known = std::any_of(rule.attributes.begin(), rule.attributes.end(),
                                     [&](const Attribute& each) { return each.name == name; });
      if (!known) fail("unknown attribute '" + std::string(name) + "'");
      if (std::find(names.begin(), names.end(), name) != names.end()) {
        fail("attribute '" + std::string(name) + "' is given twice");
      }
      names.push_back(name);
    }
  }
  for (const Attribute& each : rule.attributes) {
    if (each.required && std::find(names.begin(), names.end(), each.name) == names.end()) {
      fail("required attribute '" + std::string(each.name) + "' is missing");
    }
  }
}

int StageSpec::word_index(const Attribute& attribute, std::string_view text,
                          std::span<const std::string_view> known) {
  const auto found = std::find(known.begin(), known.end(), text);
  if (found != known.end()) return static_cast<int>(found - known.begin());
  std::string expected;
  for (const std::string_view each : known) {
    expected += (expected.empty() ? "" : ", ") + std::string(each);
  }
  fail("attribute '" + std::string(attribute.name) + "': unknown word '" + std::string(text) +
       "', expected one of: " + expected);
  return -1;
}

int StageSpec::word(const Attribute& attribute, std::span<const std::string_view> known) {
  const plan::Attribute* found = find(attribute.name);
  if (found == nullptr) return -1;
  const auto* list = one_of(attribute.name, found->texts(), "one text");
  return list == nullptr ? -1 : word_index(attribute, view_of(list->Get(0)), known);
}

// Unknown words become 0, so that the list keeps its length.
std::vector<int> StageSpec::words(const Attribute& attribute,
                                  std::span<const std::string_view> known) {
  std::vector<int> made;
  for (const std::string_view text : texts({{attribute.name}})) {
    made.push_back(std::max(word_index(attribute, text, known), 0));
  }
  return made;
}

// Returns the list if it holds exactly one value.
template <typename List>
const List* StageSpec::one_of(std::string_view name, const List* list, const char* what) {
  if (list != nullptr && list->size() == 1) return list;
  fail("attribute '" + std::string(name) + "': expected " + what + ", got " +
       (list == nullptr ? "none" : std::to_string(list->size())));
  return nullptr;
}

double StageSpec::real(const RealAttribute& attribute) {
  const plan::Attribute* found = find(attribute.name);
  if (found == nullptr) return attribute.fallback;
  if (found->reals() == nullptr && found->integers() != nullptr) {
    const auto* list = one_of(attribute.name, found->integers(), "one number");
    return list == nullptr ? 0 : list->Get(0);
  }
  const auto* list = one_of(attribute.name, found->reals(), "one number");
  return list == nullptr ? 0 : list->Get(0);
}

int32_t StageSpec::integer(const IntegerAttribute& attribute) {
  const plan::Attribute* found = find(attribute.name);
  if (found == nullptr) return attribute.fallback;
  const auto* list = one_of(attribute.name, found->integers(), "one integer");
  return list == nullptr ? 0 : list->Get(0);
}

bool StageSpec::flag(const FlagAttribute& attribute) {
  const int32_t value = integer({{attribute.name}, 0});
  if (value != 0 && value != 1) {
    fail("attribute '" + std::string(attribute.name) + "': expected 0 or 1, got " +
         std::to_string(value));
  }
  return value == 1;
}

std::string_view StageSpec::text(const TextAttribute& attribute) {
  const plan::Attribute* found = find(attribute.name);
  if (found == nullptr) return attribute.fallback;
  const auto* list = one_of(attribute.name, found->texts(), "one text");
  return list == nullptr ? std::string_view() : view_of(list->Get(0));
}

std::span<const double> StageSpec::reals(const RealsAttribute& attribute) {
  const plan::Attribute* found = find(attribute.name);
  if (found == nullptr) return {};
  if (found->reals() == nullptr) {
    fail("attribute '" + std::string(attribute.name) + "': expected numbers");
    return {};
  }
  if (found->reals()->size() == 0) return {};  // FlatBuffers does not align it
  const uint8_t* data = found->reals()->Data();
  if (found->reals()->size() != 0 && reinterpret_cast<uintptr_t>(data) % alignof(double) != 0) {
    fail("attribute '" + std::string(attribute.name) + "' is not aligned");
    return {};
  }
  return {reinterpret_cast<const double*>(data), found->reals()->size()};
}

std::span<const int32_t> StageSpec::integers(const IntegersAttribute& attribute) {
  const plan::Attribute* found = find(attribute.name);
  if (found == nullptr) return {};
  if (found->integers() == nullptr) {
    fail("attribute '" + std::string(attribute.name) + "': expected integers");
    return {};
  }
  return {found->integers()->data(), found->integers()->size()};
}

std::vector<std::string_view> StageSpec::texts(const TextsAttribute& attribute) {
  std::vector<std::string_view> made;
  const plan::Attribute* found = find(attribute.name);
  if (found == nullptr) return made;
  if (found->texts() == nullptr) {
    fail("attribute '" + std::string(attribute.name) + "': expected strings");
    return made;
  }
  made.reserve(found->texts()->size());
  for (const flatbuffers::String* text : *found->texts()) made.push_back(view_of(text));
  return made;
}

std::vector<TextId> StageSpec::text_ids(const TextsAttribute& attribute) {
  std::vector<TextId> made;
  for (const std::string_view text : texts(attribute)) made.push_back(dictionary().add(text));
  return made;
}

std::vector<Value> StageSpec::values(const ValuesAttribute& attribute) {
  std::vector<Value> made;
  const plan::Attribute* found = find(attribute.name);
  if (found == nullptr) return made;
  if (found->values() == nullptr) {
    fail("attribute '" + std::string(attribute.name) + "': expected values");
    return made;
  }
  for (const plan::Value* value : *found->values()) made.push_back(reading_.value(*value));
  return made;
}

std::unique_ptr<Expression> StageSpec::expression(const ExpressionsAttribute& attribute) {
  std::vector<std::unique_ptr<Expression>> list = expressions(attribute);
  if (list.size() == 1) return std::move(list.front());
  if (!failed_) {
    fail("attribute '" + std::string(attribute.name) + "': expected one expression, got " +
         std::to_string(list.size()));
  }
  return nullptr;
}

std::vector<std::unique_ptr<Expression>> StageSpec::expressions(
    const ExpressionsAttribute& attribute) {
  std::vector<std::unique_ptr<Expression>> made;
  const plan::Attribute* found = find(attribute.name);
  if (found == nullptr) return made;
  if (found->expressions() == nullptr) {
    fail("attribute '" + std::string(attribute.name) + "': expected expressions");
    return made;
  }
  for (const plan::Expression* one : *found->expressions()) {
    made.push_back(std::make_unique<Expression>(*this, *one));
  }
  return made;
}

Block StageSpec::block(const BlocksAttribute& attribute) {
  std::vector<Block> list = blocks(attribute);
  if (list.size() == 1) return std::move(list.front());
  if (!failed_) {
    fail("attribute '" + std::string(attribute.name) + "': expected one block, got " +
         std::to_string(list.size()));
  }
  return {};
}

std::vector<Block> StageSpec::blocks(const BlocksAttribute& attribute) {
  std::vector<Block> made;
  const plan::Attribute* found = find(attribute.name);
  if (found == nullptr) return made;
  if (found->blocks() == nullptr) {
    fail("attribute '" + std::string(attribute.name) + "': expected blocks");
    return made;
  }
  if (reading_.depth >= kPlanBlocksDeepMax) {
    fail("blocks are nested more than " + std::to_string(kPlanBlocksDeepMax) + " deep");
    return made;
  }
  ++reading_.depth;
  for (const plan::Block* one : *found->blocks()) {
    made.push_back(reading_.block(*one));
    const std::vector<Block::Filled>& filled = made.back().filled_;
    inner_.insert(inner_.end(), filled.begin(), filled.end());
  }
  --reading_.depth;
  return made;
}

std::string_view StageSpec::column_name(uint32_t column) {
  return view_of(reading_.plan.columns()->Get(column)->name());
}

Type StageSpec::column_type(uint32_t column) {
  return reading_.plan.columns()->Get(column)->type();
}

Type StageSpec::column_element(uint32_t column) {
  return reading_.plan.columns()->Get(column)->element();
}

Dictionary& StageSpec::dictionary() { return reading_.dictionary; }

std::unique_ptr<Island> StageSpec::island(std::span<const DenseLayer> layers) {
  if (failed_ || reading_.runtime == nullptr || !Island::is_worth(layers)) return nullptr;
  auto made = Island::load(*reading_.runtime, reading_.islands, layers);
  if (made.ok()) {
    ++reading_.islands;
    return std::move(made.value());
  }
  // Without the runtime library all rows are computed one by one.
  if (made.error().code != ErrorCode::RuntimeUnavailable) fail(std::move(made.error().message));
  return nullptr;
}

Value StageSpec::constant(const plan::Value& from) { return reading_.value(from); }

void StageSpec::expect_inputs(size_t least, size_t most) {
  if (inputs.size() >= least && inputs.size() <= most) return;
  fail("expected " + std::to_string(least) + " to " + std::to_string(most) + " inputs, got " +
       std::to_string(inputs.size()));
}

void StageSpec::expect_outputs(size_t least, size_t most) {
  if (outputs.size() >= least && outputs.size() <= most) return;
  fail("expected " + std::to_string(least) + " to " + std::to_string(most) + " outputs, got " +
       std::to_string(outputs.size()));
}

bool StageSpec::is_filled(uint32_t column) const {
  return column < reading_.filled.size() && reading_.filled[column];
}

size_t StageSpec::column_count() const { return reading_.column_count(); }

std::unique_ptr<Stage> StageSpec::make() {
  for (const uint32_t input : inputs) {
    if (!is_filled(input)) fail("reads column '" + std::string(column_name(input)) + "' too early");
  }
  const StageKind* known = find_kind(kind);
  if (known == nullptr) {
    fail("unknown kind of stage");
    return nullptr;
  }
  check_attributes(known->rule);
  if (failed_) return nullptr;
  std::unique_ptr<Stage> made = known->make(*this);
  if (made == nullptr && !failed_) fail("the stage could not be created");
  for (const uint32_t output : outputs) {
    if (is_filled(output)) fail("fills column '" + std::string(column_name(output)) + "' again");
    reading_.filled[output] = true;
  }
  return failed_ ? nullptr : std::move(made);
}

Block PlanReading::block(const plan::Block& from) {
  Block made;
  if (from.stages() == nullptr) return made;
  const auto note = [this, &made](uint32_t column) {
    const plan::Column* one = plan.columns()->Get(column);
    made.filled_.push_back({column, one->type(), one->element()});
  };
  for (const plan::Stage* one : *from.stages()) {
    StageSpec spec(*this, *one);
    std::unique_ptr<Stage> stage = spec.make();
    if (stage == nullptr) continue;  // fault already recorded
    made.stages.push_back(std::move(stage));
    made.inputs_.push_back(spec.inputs);
    made.filled_.insert(made.filled_.end(), spec.inner_.begin(), spec.inner_.end());
    const auto first = static_cast<uint32_t>(made.filled_.size());
    for (const uint32_t output : spec.outputs) note(output);
    made.own_.emplace_back(first, static_cast<uint32_t>(made.filled_.size()));
  }
  return made;
}

}  // namespace serval::tabular
