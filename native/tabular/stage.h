// What a stage of a plan is, and how its kind makes one. Stages are immutable and shared; what a
// run needs is in the Run. Made at load (load thread), run on any thread.
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

class Island;        // dense/island.h
struct DenseLayer;   // dense/layers.h
struct PlanReading;  // plan_reading.h
struct Zones;        // java/zone.h

// The rows that a stage works on: all, or those that `list` names, ascending.
struct Rows {
  uint32_t count = 0;
  const uint32_t* list = nullptr;  // null: 0 .. count - 1
  uint32_t operator[](uint32_t i) const { return list == nullptr ? i : list[i]; }
  bool all() const { return list == nullptr; }
};

struct RunOptions {
  bool null_for_invalid = false;  // a row that a stage refuses is answered as missing, not refused
  size_t column_values_max = kTableElementsMax;  // of a Vector or List, all rows together
};

// One run of a plan.
class Run {
 public:
  Run(Frame& run_frame, const RunOptions& run_options, const CancelFlag* run_cancel,
      const Zones& run_zones)
      : frame(run_frame), options(run_options), cancel(run_cancel), zones(run_zones) {}
  Frame& frame;
  const RunOptions& options;
  const CancelFlag* cancel;  // may be null; long loops look at it
  const Zones& zones;

  const Column& in(uint32_t column) const { return frame.columns[column]; }
  // The output column, reset to all rows of the frame; those that are not in `rows` are missing.
  // Of a Vector or List: no row yet, see Column::start_row.
  Column& out(uint32_t column, Type type, Rows rows, Type element = Type::Any);
  // What to do of a row that cannot be answered: ok (the row was marked, go on with the next one)
  // with null_for_invalid, else an invalid_argument "<place>: row <row>: <what>".
  Status refuse(uint32_t row, std::string_view place, std::string what);
  Status refuse(const Failure& failure) { return refuse(failure.row, failure.place, failure.what); }
  // Of a column that would have more values than options.column_values_max.
  Error too_many(uint64_t values, std::string_view place) const;
};

// What a stage does with rows of its inputs that could not be computed (Column::failures).
enum class OnFailure : uint8_t {
  Refuse,  // it reads all inputs of its rows: such a row is refused before it runs
  Pass,    // its outputs cannot be computed either, in such a row
  Own,     // it looks at the failures of what it reads
};

class Stage {
 public:
  virtual ~Stage() = default;
  virtual OnFailure on_failure() const { return OnFailure::Refuse; }
  // Fills its output columns for `rows`. Inputs may be of any type where the plan's fields are
  // (Type::Any): a stage checks what it gets.
  // Errors: invalid_argument naming the row and the column; backend_failed; cancelled.
  virtual Status run(Run& run, Rows rows) const = 0;
};

class Expression;  // expression.h

// A list of stages, which fill columns that stages behind may read.
class Block {
 public:
  // Errors: those of the stages; cancelled.
  // `wanted`: by stage, those that are run; null: all. The columns of the others keep what an
  // earlier run left in them.
  Status run(Run& run, Rows rows, const std::vector<bool>* wanted = nullptr) const;
  // Instead of run(): all its columns, missing in all rows.
  void skip(Run& run) const;
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
  std::vector<Filled> filled_;                      // by its stages and theirs
  std::vector<std::pair<uint32_t, uint32_t>> own_;  // by stage: its own ones of filled_
  std::vector<std::span<const uint32_t>> inputs_;   // by stage
};

// A stage as the plan has it, read by the constants of generated/stages.h. Before a kind's `make`
// runs, the attributes' names are checked: an unknown one, and a required one that is missing, are
// faults. Getters record what is wrong and return a default; if anything was recorded the load
// fails afterwards, so `make` reads its attributes and checks what they mean, and may return null
// once it called fail(). Spans and views refer to the plan's bytes, which outlive the stages.
class StageSpec {
 public:
  StageSpec(PlanReading& reading, const plan::Stage& stage);
  StageSpec(const StageSpec&) = delete;
  StageSpec& operator=(const StageSpec&) = delete;
  ~StageSpec();

  std::string_view kind, place;
  std::span<const uint32_t> inputs, outputs;

  // An absent attribute: its fallback, or an empty list.
  bool has(const Attribute& attribute) const;
  double real(const RealAttribute& attribute);
  int32_t integer(const IntegerAttribute& attribute);
  bool flag(const FlagAttribute& attribute);  // in the plan, the integer 0 or 1
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
  // The column's name in the plan, for error texts, and its type: Any where the plan does not say.
  std::string_view column_name(uint32_t column);
  Type column_type(uint32_t column);
  Type column_element(uint32_t column);
  // Whether a field or a stage before this one fills it (one of this stage's blocks, once read).
  bool is_filled(uint32_t column) const;
  size_t column_count() const;  // of the plan
  Dictionary& dictionary();
  // The layers on the runtime that the plan was read with: null where there is none, or they are
  // not worth it. They fit each other.
  std::unique_ptr<Island> island(std::span<const DenseLayer> layers);
  // A constant of the plan; its text is interned.
  Value constant(const plan::Value& from);
  // Notes that an attribute is not what the kind wants: "<place>: <what>".
  void fail(std::string what);
  void expect_inputs(size_t least, size_t most);
  void expect_outputs(size_t least, size_t most);

  // Whether anything was noted of this stage.
  bool failed() const { return failed_; }

 private:
  friend struct PlanReading;
  const plan::Attribute* find(std::string_view name) const;
  template <typename List>
  const List* one_of(std::string_view name, const List* list, const char* what);
  // The index of an attribute's word; -1: it is absent or unknown.
  int word(const Attribute& attribute, std::span<const std::string_view> known);
  std::vector<int> words(const Attribute& attribute, std::span<const std::string_view> known);
  int word_index(const Attribute& attribute, std::string_view text,
                 std::span<const std::string_view> known);
  std::unique_ptr<Stage> make();
  void check_attributes(const KindRule& rule);

  PlanReading& reading_;
  const plan::Stage& stage_;
  std::vector<Block::Filled> inner_;  // by its blocks
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
