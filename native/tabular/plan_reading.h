// What reading a plan needs and finds: shared by the stages and expressions that are being made.
// Load thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/generated/plan_generated.h"
#include "tabular/expression.h"
#include "tabular/stage.h"

namespace serval::tabular {

// Of a name, null where there is none.
const StageKind* find_kind(std::string_view name);
const Function* find_function(std::string_view name);

inline std::string_view view_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : text->string_view();
}

struct PlanReading {
  const plan::Plan& plan;
  Dictionary& dictionary;
  Backend* runtime;                      // of numeric parts; may be null
  uint32_t islands = 0;                  // on it
  std::vector<std::string> faults = {};  // the first kPlanFaultsMax
  size_t fault_count = 0;
  size_t depth = 0;               // of blocks
  std::vector<bool> filled = {};  // by column: by a field, or a stage read so far

  size_t column_count() const { return plan.columns() == nullptr ? 0 : plan.columns()->size(); }
  void fault(std::string what);
  Block block(const plan::Block& from);
  // A constant; text is interned.
  Value value(const plan::Value& from);
};

}  // namespace serval::tabular
