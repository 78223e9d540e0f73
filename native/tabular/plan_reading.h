// State of reading a plan, shared by the stages and expressions being made. Load thread.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/generated/plan_generated.h"
#include "tabular/expression.h"
#include "tabular/stage.h"

namespace serval::tabular {

// Returns the stage kind of a name, or null.
const StageKind* find_kind(std::string_view name);
const Function* find_function(std::string_view name);

inline std::string_view view_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : text->string_view();
}

struct PlanReading {
  const plan::Plan& plan;
  Dictionary& dictionary;
  Backend* runtime;                      // runs numeric parts; may be null
  uint32_t islands = 0;                  // number of islands on it
  std::vector<std::string> faults = {};  // the first kPlanFaultsMax
  size_t fault_count = 0;
  size_t depth = 0;               // nesting depth of blocks
  std::vector<bool> filled = {};  // by column: whether a field or a stage read so far fills it
  // Forests read so far, by the columns that they fill.
  std::unordered_map<uint32_t, std::shared_ptr<const SharedForest>> forests = {};

  size_t column_count() const { return plan.columns() == nullptr ? 0 : plan.columns()->size(); }
  void fault(std::string what);
  Block block(const plan::Block& from);
  // Converts a constant; text is interned.
  Value value(const plan::Value& from);
};

}  // namespace serval::tabular
