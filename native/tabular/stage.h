// Stages of a plan, and how their kinds make them. Stages are immutable and shared; the state of a
// run is in Run. Made at load (load thread), run on any thread.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/error.h"
#include "base/limits.h"
#include "tabular/frame.h"
#include "tabular/generated/stages.h"

namespace serval::plan {
struct Attribute;
struct Block;
struct Stage;
struct Value;
}  // namespace serval::plan

namespace serval::tabular {

class Island;         // dense/island.h
struct DenseLayer;    // dense/layers.h
struct PlanReading;   // plan_reading.h
struct SharedForest;  // forest/shared.h
struct Zones;         // java/zone.h

// The rows that a stage works on: all, or those that `list` names, ascending.
struct Rows {
  uint32_t count = 0;
  const uint32_t* list = nullptr;  // null: 0 .. count - 1
  uint32_t operator[](uint32_t i) const { return list == nullptr ? i : list[i]; }
  bool all() const { return list == nullptr; }
};

struct RunOptions {
  bool null_for_invalid = false;  // a row that a stage refuses becomes missing instead of an error
  size_t column_values_max = kTableElementsMax;  // for a Vector or List, over all rows
};

// One run of a plan.
class Run {
 public:
  Run(Frame& run_frame, const RunOptions& run_options, const CancelFlag* run_cancel,
      const Zones& run_zones)
      : frame(run_frame), options(run_options), cancel(run_cancel), zones(run_zones) {}
  Frame& frame;
  const RunOptions& options;
  const CancelFlag* cancel;  // may be null; long loops check it
  const Zones& zones;

  const Column& in(uint32_t column) const { return frame.columns[column]; }
  // Returns the output column, reset to all rows of the frame; rows that are not in `rows` are
  // missing. A Vector or List has no rows yet: see Column::start_row.
  Column& out(uint32_t column, Type type, Rows rows, Type element = Type::Any);
  // Handles a row that cannot be computed: with null_for_invalid marks it and returns ok (continue
  // with the next row), else returns an invalid_argument "<place>: row <row>: <what>".
  Status refuse(uint32_t row, std::string_view place, std::string what);
  Status refuse(const Failure& failure) { return refuse(failure.row, failure.place, failure.what); }
  // Error for a column that would exceed options.column_values_max.
  Error too_many(uint64_t values, std::string_view place) const;
};

// Handling of input rows that could not be computed (Column::failures).
enum class OnFailure : uint8_t {
  Refuse,  // the stage reads all inputs of its rows: such a row is refused before it runs
  Pass,    // the stage's outputs cannot be computed for such a row either
  Own,     // the stage checks the failures of what it reads
};

class Stage {
 public:
  virtual ~Stage() = default;
  virtual OnFailure on_failure() const { return OnFailure::Refuse; }
  // Whether it only runs for requests that ask for an output which needs it.
  virtual bool on_request() const { return false; }
  // Reads the plan's background rows, whose columns the stages before it have filled. Called once,
  // at load, for stages on request. Errors: those of run().
  virtual Status learn(Run&, Rows) { return {}; }
  // Fills the stage's output columns for `rows`. Inputs may have any type if the plan's fields do
  // (Type::Any), so a stage checks its input types. Errors: invalid_argument naming the row and the
  // column; backend_failed; cancelled.
  virtual Status run(Run& run, Rows rows) const = 0;
};

class Expression;  // expression.h

// A list of stages; later stages read the columns that earlier ones fill.
class Block {
 public:
  // Errors: those of the stages; cancelled. `wanted` tells by stage whether to run it; null: all.
  // Columns of skipped stages keep the contents of an earlier run.
  Status run(Run& run, Rows rows, const std::vector<bool>* wanted = nullptr) const;
  // Call instead of run(): makes all of its columns missing in all rows.
  void skip(Run& run) const;
  // Shows the rows to a stage (Stage::learn). Errors: also invalid_argument: one of the stage's
  // inputs could not be computed for some row.
  Status learn(Run& run, Rows rows, size_t at) const;
  std::vector<std::unique_ptr<Stage>> stages;

 private:
  friend class StageSpec;
  friend struct PlanReading;
  struct Filled {
    uint32_t column = 0;
    Type type = Type::Any, element = Type::Any;
  };
  Status run_stage(Run& run, Rows rows, size_t at) const;
  Status run_without_failures(Run& run, Rows rows, size_t at) const;
  std::vector<Filled> filled_;                      // columns filled by its stages and their blocks
  std::vector<std::pair<uint32_t, uint32_t>> own_;  // by stage: its part of filled_
  std::vector<std::span<const uint32_t>> inputs_;   // by stage
};

// A stage in the plan, read through the constants of generated/stages.h. Before a kind's `make`
// runs, the attribute names are checked: unknown and missing required ones are faults. Getters
// record faults and return a default. If any fault was recorded the load fails afterwards, so
// `make` reads its attributes, checks their meaning, and may return null once it called fail().
// Spans and views refer to the plan's bytes, which outlive the stages.
class StageSpec {
 public:
  StageSpec(PlanReading& reading, const plan::Stage& stage);
  StageSpec(const StageSpec&) = delete;
  StageSpec& operator=(const StageSpec&) = delete;
  ~StageSpec();

  std::string_view kind, place;
  std::span<const uint32_t> inputs, outputs;

  // Returns whether the attribute is present. Getters return the fallback or an empty list if not.
  bool has(const Attribute& attribute) const;
  double real(const RealAttribute& attribute);
  int32_t integer(const IntegerAttribute& attribute);
  bool flag(const FlagAttribute& attribute);  // in the plan: the integer 0 or 1
  std::string_view text(const TextAttribute& attribute);
  std::span<const double> reals(const RealsAttribute& attribute);
  std::span<const int32_t> integers(const IntegersAttribute& attribute);
  std::vector<std::string_view> texts(const TextsAttribute& attribute);
  std::vector<TextId> text_ids(const TextsAttribute& attribute);  // interned in the dictionary
  std::vector<Value> values(const ValuesAttribute& attribute);
  std::unique_ptr<Expression> expression(const ExpressionsAttribute& attribute);
  std::vector<std::unique_ptr<Expression>> expressions(const ExpressionsAttribute& attribute);
  Block block(const BlocksAttribute& attribute);
  std::vector<Block> blocks(const BlocksAttribute& attribute);
  template <typename Enum>
  Enum choice(const ChoiceAttribute<Enum>& attribute) {
    const int found = word(attribute, attribute.words);
    return found < 0 ? attribute.fallback : static_cast<Enum>(found);
  }
  template <typename Enum>
  std::vector<Enum> choices(const ChoicesAttribute<Enum>& attribute) {
    std::vector<Enum> made;
    for (const int found : words(attribute, attribute.words)) {
      made.push_back(static_cast<Enum>(found));
    }
    return made;
  }
  // The column's name in the plan, for error texts, and its type: Any if the plan does not declare
  // it.
  std::string_view column_name(uint32_t column);
  Type column_type(uint32_t column);
  Type column_element(uint32_t column);
  // Whether a field or an earlier stage fills it (or a stage of this stage's blocks, once read).
  bool is_filled(uint32_t column) const;
  size_t column_count() const;  // of the plan
  Dictionary& dictionary();
  // Loads layers that fit each other into the runtime that the plan was read with. Null if there is
  // no runtime or they are not worth it.
  std::unique_ptr<Island> island(std::span<const DenseLayer> layers);
  // Converts a constant of the plan; text is interned.
  Value constant(const plan::Value& from);
  // Lets later stages read this stage's forest.
  void share(std::shared_ptr<const SharedForest> forest);
  // The forest of the earlier stage that fills the column. Null, and a fault, if there is none.
  std::shared_ptr<const SharedForest> forest_of(int32_t column);
  // Records a fault of an attribute: "<place>: <what>".
  void fail(std::string what);
  void expect_inputs(size_t least, size_t most);
  void expect_outputs(size_t least, size_t most);

  // Whether a fault of this stage was recorded.
  bool failed() const { return failed_; }

 private:
  friend struct PlanReading;
  const plan::Attribute* find(std::string_view name) const;
  template <typename List>
  const List* one_of(std::string_view name, const List* list, const char* what);
  // The index of an attribute's word; -1: absent or unknown.
  int word(const Attribute& attribute, std::span<const std::string_view> known);
  std::vector<int> words(const Attribute& attribute, std::span<const std::string_view> known);
  int word_index(const Attribute& attribute, std::string_view text,
                 std::span<const std::string_view> known);
  std::unique_ptr<Stage> make();
  void check_attributes(const KindRule& rule);

  PlanReading& reading_;
  const plan::Stage& stage_;
  std::vector<Block::Filled> inner_;  // columns filled by its blocks
  bool failed_ = false;
};

using MakeStage = std::unique_ptr<Stage> (*)(StageSpec& spec);
struct StageKind {
  KindRule rule;
  MakeStage make;
};

// One table per folder of kinds, listed in kinds.cc.
std::span<const StageKind> general_kinds();      // here: derive, pick
std::span<const StageKind> feature_kinds();      // features/
std::span<const StageKind> spark_model_kinds();  // models/
std::span<const StageKind> forest_kinds();       // forest/
std::span<const StageKind> pmml_kinds();         // pmml/
std::span<const StageKind> pmml_model_kinds();   // pmml/models/
std::span<const StageKind> sql_kinds();          // sql/

}  // namespace serval::tabular
