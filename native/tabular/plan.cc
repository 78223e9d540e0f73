// Loading and running a plan. Load thread; run: any thread.
#include "tabular/plan.h"

#include <algorithm>
#include <cmath>

#include "base/limits.h"
#include "tabular/java/doubles.h"
#include "tabular/plan_reading.h"

namespace serval::tabular {
namespace {

constexpr size_t kLevelsOfBlock = 4;  // tables in tables: block, stage, attribute, expression
constexpr size_t kTableBytesMin = 4;
constexpr double kExactIntegers = 9007199254740992;  // 2^53

Error bad_plan(const std::string& name, const std::string& what) {
  return make_error(ErrorCode::ModelInvalid, "'" + name + "': " + what);
}

std::string text_of(const flatbuffers::String* text) { return std::string(view_of(text)); }

std::string all_faults(const PlanReading& reading) {
  std::string text =
      std::to_string(reading.fault_count) + (reading.fault_count == 1 ? " fault: " : " faults: ");
  for (size_t i = 0; i < reading.faults.size(); ++i) {
    if (i > 0) text += "; ";
    text += reading.faults[i];
  }
  if (reading.fault_count > reading.faults.size()) text += "; ...";
  return text;
}

template <typename List>
FieldSpec spec_of(const List& from) {
  FieldSpec made;
  made.name = text_of(from.name());
  made.type = from.type();
  made.element = from.element();
  made.size = from.size();
  return made;
}

// Records duplicate names.
void check_names(PlanReading& reading, const std::vector<FieldSpec>& specs, const char* what) {
  std::vector<std::string_view> names;
  for (const FieldSpec& spec : specs) names.push_back(spec.name);
  std::sort(names.begin(), names.end());
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) reading.fault(std::string(what) + " without a name");
    if (i > 0 && names[i] == names[i - 1]) {
      reading.fault(std::string("two ") + what + "s are named '" + std::string(names[i]) + "'");
    }
  }
}

void read_fields(PlanReading& reading, TableSchema& schema, std::vector<uint32_t>& columns) {
  if (reading.plan.fields() == nullptr) return;
  for (const plan::Field* field : *reading.plan.fields()) {
    FieldSpec spec = spec_of(*field);
    spec.any = field->any();
    spec.optional = field->optional();
    spec.parse_text = field->parse_text();
    spec.precision = field->precision();
    spec.scale = field->scale();
    if (field->column() >= reading.column_count() || reading.filled[field->column()]) {
      reading.fault("field '" + spec.name + "': column " + std::to_string(field->column()) +
                    " is missing or already in use");
      continue;
    }
    reading.filled[field->column()] = true;
    columns.push_back(field->column());
    schema.fields.push_back(std::move(spec));
  }
  check_names(reading, schema.fields, "field");
  schema.sort_fields();
}

void read_outputs(PlanReading& reading, TableSchema& schema, std::vector<uint32_t>& columns) {
  if (reading.plan.outputs() == nullptr) return;
  for (const plan::Output* output : *reading.plan.outputs()) {
    FieldSpec spec = spec_of(*output);
    if (output->column() >= reading.column_count() || !reading.filled[output->column()]) {
      reading.fault("output '" + spec.name + "': nothing fills column " +
                    std::to_string(output->column()));
      continue;
    }
    columns.push_back(output->column());
    schema.outputs.push_back(std::move(spec));
    schema.extra.push_back(output->extra());
  }
  check_names(reading, schema.outputs, "output");
}

// A plan in UTC stores no zone.
void read_zones(PlanReading& reading, const std::string& timezone, Zones& zones) {
  if (reading.plan.zones() != nullptr) {
    for (const plan::Zone* from : *reading.plan.zones()) {
      const auto* transitions = from->transitions();
      const auto* offsets = from->offsets();
      const size_t count = transitions == nullptr ? 0 : transitions->size();
      auto made = offsets == nullptr
                      ? std::nullopt
                      : Zone::make(text_of(from->name()),
                                   {count == 0 ? nullptr : transitions->data(), count},
                                   {offsets->data(), offsets->size()});
      if (made) zones.all.push_back(std::move(*made));
      else
        reading.fault("the clock changes of time zone '" + text_of(from->name()) + "' are damaged");
    }
  }
  if (timezone.empty() || timezone == "UTC") return;
  zones.session = zones.find(timezone);
  if (zones.session == nullptr)
    reading.fault("the plan has no clock changes for time zone '" + timezone + "'");
}

// Prepares PMML's fields like JPMML-Evaluator: NaN becomes missing, and -0.0 becomes 0.0. NaN in a
// list stays; readers of the list skip it.
void prepare_reals(Column& column) {
  const bool list = column.type == Type::List;
  if (!is_real(list ? column.element : column.type)) return;
  for (size_t i = 0; i < column.reals.size(); ++i) {
    column.reals[i] = without_sign_of_zero(column.reals[i]);
    if (!list && std::isnan(column.reals[i])) column.set_missing(static_cast<uint32_t>(i));
  }
}

// Outputs read their columns, so their failures refuse the rows.
Status refuse_failures(Run& run, const Column& column) {
  for (const Failure& failure : column.failures) {
    if (Status refused = run.refuse(failure); !refused.ok()) return refused;
  }
  return {};
}

// Vectors of one size. false: the numbers do not divide into rows.
bool fill_vectors(Column& column, const flatbuffers::Vector<double>& reals, uint32_t rows) {
  if (reals.size() % rows != 0) return false;
  column.reset(Type::Vector, rows);
  const uint32_t size = reals.size() / rows;
  for (uint32_t row = 0; row < rows; ++row) {
    column.start_row(row);
    column.reals.insert(column.reals.end(), reals.data() + row * size,
                        reals.data() + (row + 1) * size);
    column.end_row();
  }
  return true;
}

// Fills a field's column. false: its parts do not fit each other, or no field has the column.
bool fill_background(Frame& frame, const plan::BackgroundField& from,
                     const std::vector<uint32_t>& fields) {
  if (std::find(fields.begin(), fields.end(), from.column()) == fields.end()) return false;
  Column& column = frame.columns[from.column()];
  const auto* texts = from.texts();
  if (from.reals() == nullptr || from.rows() != frame.rows) return false;
  if (column.type == Type::Vector) return fill_vectors(column, *from.reals(), frame.rows);
  if (from.reals()->size() != frame.rows) return false;
  if (texts != nullptr && texts->size() != frame.rows) return false;
  column.reset(texts != nullptr ? Type::String : column.type, frame.rows);
  const Storage storage = storage_of(column.type);
  if (is_list(column.type) || storage == Storage::Decimal) return false;
  if (storage == Storage::Text && texts == nullptr) return false;
  for (uint32_t row = 0; row < frame.rows; ++row) {
    const double real = from.reals()->Get(row);
    if (texts != nullptr) column.texts[row] = frame.strings.intern(view_of(texts->Get(row)));
    else if (storage == Storage::Real) column.reals[row] = real;
    else if (std::abs(real) < kExactIntegers) column.integers[row] = static_cast<int64_t>(real);
    if (std::isnan(real)) column.set_missing(row);
  }
  return true;
}

void check_columns(PlanReading& reading) {
  for (size_t i = 0; i < reading.column_count(); ++i) {
    const plan::Column* column = reading.plan.columns()->Get(static_cast<uint32_t>(i));
    const bool known = column->type() <= Type::MAX && column->element() <= Type::MAX;
    if (!known) reading.fault("column " + std::to_string(i) + " has an unknown type");
  }
}

}  // namespace

Result<std::shared_ptr<const Plan>> Plan::load(const std::string& path, Backend* runtime) {
  auto file = MappedFile::open(path, kPlanBytesMax);
  if (!file.ok()) return std::move(file.error());
  return read(file.value()->bytes(), file.value(), path, runtime);
}

Result<std::shared_ptr<const Plan>> Plan::read(std::span<const uint8_t> bytes,
                                               std::shared_ptr<const void> owner,
                                               const std::string& name, Backend* runtime) {
  const auto made = std::make_shared<Plan>(Private());
  made->owner_ = std::move(owner);
  auto done = made->read_from(bytes, name, runtime);
  if (!done.ok()) return std::move(done.error());
  return std::shared_ptr<const Plan>(made);
}

Result<bool> Plan::read_from(std::span<const uint8_t> bytes, const std::string& name,
                             Backend* runtime) {
  if (bytes.size() < 8 || !plan::PlanBufferHasIdentifier(bytes.data())) {
    return bad_plan(name, "is not the plan of a tabular model");
  }
  const size_t depth = 8 + kLevelsOfBlock * (kPlanBlocksDeepMax + 1);
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), static_cast<uint32_t>(depth),
                                 static_cast<uint32_t>(1000 + bytes.size() / kTableBytesMin));
  if (!plan::VerifyPlanBuffer(verifier)) return bad_plan(name, "is damaged");
  PlanReading reading{*plan::GetPlan(bytes.data()), dictionary_, runtime};
  if (reading.plan.version() != kPlanVersion) {
    return bad_plan(name, "has plan version " + std::to_string(reading.plan.version()) +
                              "; this build reads version " + std::to_string(kPlanVersion) +
                              ": import the model again");
  }
  column_count_ = reading.column_count();
  if (column_count_ > kPlanColumnsMax) {
    return bad_plan(name, "has " + std::to_string(column_count_) + " columns; the limit is " +
                              std::to_string(kPlanColumnsMax));
  }
  reading.filled.assign(column_count_, false);
  bytes_ = bytes.size();
  format_ = text_of(reading.plan.format());
  producer_ = text_of(reading.plan.producer());
  schema_.nan_is_missing = reading.plan.nan_is_missing();
  schema_.matrix = reading.plan.matrix();
  schema_.timezone = text_of(reading.plan.timezone());
  read_zones(reading, schema_.timezone, zones_);
  check_columns(reading);
  read_fields(reading, schema_, field_columns_);
  block_ = reading.block(*reading.plan.block());
  island_count_ = reading.islands;
  if (reading.fault_count == 0) read_outputs(reading, schema_, output_columns_);
  if (reading.fault_count == 0 && schema_.outputs.empty()) reading.fault("it has no outputs");
  if (reading.fault_count > 0) return bad_plan(name, all_faults(reading));
  lazy_ = reading.plan.lazy();
  find_stages_on_request(*reading.plan.block());
  if (lazy_) find_needs(*reading.plan.block());
  Status learnt = read_background(reading.plan);
  if (!learnt.ok()) return bad_plan(name, "background rows: " + learnt.error().message);
  return true;
}

// Runs the plan's stages over its background rows, and shows these to the stages on request.
Status Plan::read_background(const plan::Plan& plan) {
  if (plan.background() == nullptr || plan.background()->size() == 0) return {};
  const uint32_t count = plan.background()->Get(0)->rows();
  if (count == 0) return invalid_argument("there are none");
  Frame frame(dictionary_, column_count_);
  frame.begin(count);
  for (size_t i = 0; i < field_columns_.size(); ++i) {
    const FieldSpec& field = schema_.fields[i];
    Column& column = frame.columns[field_columns_[i]];
    column.reset(field.type == Type::Any ? Type::Double : field.type, count, field.element);
    for (uint32_t row = 0; row < count; ++row) column.set_missing(row);
    if (is_list(column.type)) column.end_rows(count);
  }
  for (const plan::BackgroundField* field : *plan.background()) {
    if (fill_background(frame, *field, field_columns_)) continue;
    return invalid_argument("those of column " + std::to_string(field->column()) + " are damaged");
  }
  // All stages that a request may run, as some only refuse rows.
  std::vector<bool> wanted(block_.stages.size(), true);
  if (lazy_) {
    std::vector<uint32_t> explained;
    for (size_t i = 0; i < output_columns_.size(); ++i) {
      if (on_request(i)) explained.push_back(output_columns_[i]);
    }
    wanted = needs_.of(explained).stages;
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    wanted[i] = wanted[i] && !block_.stages[i]->on_request();
  }
  const RunOptions options;
  Run run(frame, options, nullptr, zones_);
  prepare_fields(frame);
  const Rows rows{count, nullptr};
  if (Status done = block_.run(run, rows, &wanted); !done.ok()) return done;
  for (size_t i = 0; i < block_.stages.size(); ++i) {
    if (!block_.stages[i]->on_request()) continue;
    if (Status learnt = block_.learn(run, rows, i); !learnt.ok()) return learnt;
  }
  return {};
}

// Applies the plan's rules of missing values and time zones to the fields of a request.
void Plan::prepare_fields(Frame& frame) const {
  if (schema_.nan_is_missing) {
    for (const uint32_t field : field_columns_) prepare_reals(frame.columns[field]);
  }
  if (zones_.session == nullptr) return;
  for (const uint32_t field : field_columns_) zones_.session->to_instants(frame.columns[field]);
}

// Finds the stages that only run for requests which ask for what they compute, and the stages that
// nothing else reads.
void Plan::find_stages_on_request(const plan::Block& block) {
  const auto on_request = [](const std::unique_ptr<Stage>& stage) { return stage->on_request(); };
  const auto& stages = block_.stages;
  if (std::none_of(stages.begin(), stages.end(), on_request)) return;
  needs_ = Needs(block, column_count_);
  std::vector<uint32_t> asked, others;  // columns
  const auto fill = [&](size_t stage, std::vector<uint32_t>& columns) {
    const auto* outputs = block.stages()->Get(static_cast<uint32_t>(stage))->outputs();
    if (outputs != nullptr) columns.insert(columns.end(), outputs->begin(), outputs->end());
  };
  for (size_t i = 0; i < stages.size(); ++i) {
    if (on_request(stages[i])) fill(i, asked);
  }
  const std::vector<bool> behind = needs_.of(asked).stages;
  for (size_t i = 0; i < stages.size(); ++i) {
    if (!behind[i]) fill(i, others);
  }
  for (const uint32_t column : output_columns_) {
    const std::vector<bool> needed = needs_.of({&column, 1}).stages;
    bool any = false;
    for (size_t i = 0; i < stages.size(); ++i) any = any || (needed[i] && on_request(stages[i]));
    on_request_.push_back(any);
    if (!any) others.push_back(column);
  }
  const std::vector<bool> shared = needs_.of(others).stages;
  for (size_t i = 0; i < stages.size(); ++i) {
    default_stages_.push_back(!on_request(stages[i]) && (!behind[i] || shared[i]));
  }
}

// The stages that a run executes; null: all. `made` is memory for them.
const std::vector<bool>* Plan::stages_for(std::span<const uint32_t> outputs,
                                          std::vector<bool>& made) const {
  if (lazy_) {
    const bool plain =
        std::equal(outputs.begin(), outputs.end(), defaults_.begin(), defaults_.end());
    if (plain) return &default_stages_;
    made = needs_.of(columns_of(outputs)).stages;
    return &made;
  }
  if (on_request_.empty()) return nullptr;
  const bool plain = std::none_of(outputs.begin(), outputs.end(),
                                  [this](uint32_t output) { return on_request_[output]; });
  if (plain) return &default_stages_;
  made = needs_.of(columns_of(outputs)).stages;
  for (size_t i = 0; i < made.size(); ++i) made[i] = made[i] || default_stages_[i];
  return &made;
}

// Finds what the outputs of a lazy plan need.
void Plan::find_needs(const plan::Block& block) {
  needs_ = Needs(block, column_count_);
  for (uint32_t i = 0; i < schema_.outputs.size(); ++i) {
    if (!schema_.extra[i]) defaults_.push_back(i);
  }
  Needs::Answer needed = needs_.of(columns_of(defaults_));
  default_stages_ = std::move(needed.stages);
  std::vector<uint32_t> others;
  for (uint32_t i = 0; i < field_columns_.size(); ++i) {
    schema_.fields[i].by_default = needed.columns[field_columns_[i]];
    if (!schema_.fields[i].by_default) others.push_back(i);
  }
  if (others.empty()) return;
  schema_.output_fields.resize(schema_.outputs.size());
  for (uint32_t i = 0; i < schema_.outputs.size(); ++i) {
    if (!schema_.extra[i]) continue;
    const Needs::Answer of = needs_.of({&output_columns_[i], 1});
    for (const uint32_t field : others) {
      if (of.columns[field_columns_[field]]) schema_.output_fields[i].push_back(field);
    }
  }
}

// Columns of `outputs` without duplicates; if it is empty, of all outputs but those on request.
std::vector<uint32_t> Plan::columns_of(std::span<const uint32_t> outputs) const {
  std::vector<uint32_t> made;
  for (size_t i = 0; outputs.empty() && i < output_columns_.size(); ++i) {
    if (!on_request(i)) made.push_back(output_columns_[i]);
  }
  for (const uint32_t output : outputs) made.push_back(output_columns_[output]);
  std::sort(made.begin(), made.end());
  made.erase(std::unique(made.begin(), made.end()), made.end());
  return made;
}

Status Plan::run(Frame& frame, const RunOptions& options, const CancelFlag* cancel,
                 std::span<const uint32_t> outputs) const {
  Run run(frame, options, cancel, zones_);
  prepare_fields(frame);
  const Zone* zone = zones_.session;
  const Rows rows{frame.rows, nullptr};
  std::vector<bool> made;
  Status done = block_.run(run, rows, stages_for(outputs, made));
  const std::vector<uint32_t> shown = columns_of(outputs);
  for (size_t i = 0; i < shown.size() && done.ok(); ++i) {
    done = refuse_failures(run, frame.columns[shown[i]]);
  }
  if (zone != nullptr && done.ok()) {
    for (const uint32_t column : shown) zone->to_walls(frame.columns[column]);
  }
  return done;
}

}  // namespace serval::tabular
