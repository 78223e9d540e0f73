// A stage over columns of doubles, for tests of PMML's stage kinds. Test time only.
#pragma once

#include <cmath>
#include <limits>

#include "support/plan_maker.h"

namespace serval::tabular {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Ints = std::vector<int32_t>;
using Reals = std::vector<double>;
using Texts = std::vector<std::string>;
using Values = std::vector<MadeValue>;

// Replaces the attribute with that name, or adds it.
inline void set(MadeAttributes& attributes, const std::string& name, MadeAttribute value) {
  for (auto& [known, held] : attributes) {
    if (known == name) {
      held = std::move(value);
      return;
    }
  }
  attributes.emplace_back(name, std::move(value));
}

struct MadeOutput {
  Type type;
  Type element = Type::Any;
};

// Columns x0, x1, ... of doubles; NaN is missing.
struct Given {
  Given(const std::string& kind, size_t width, const std::vector<MadeOutput>& types,
        const MadeAttributes& attributes) {
    for (size_t i = 0; i < width; ++i) {
      fields.push_back(maker.field("x" + std::to_string(i), Type::Double));
    }
    for (const MadeOutput& each : types) {
      outputs.push_back(maker.column("out", each.type, each.element));
    }
    maker.stage(kind, fields, outputs, attributes);
    for (size_t i = 0; i < types.size(); ++i) {
      maker.output("out" + std::to_string(i), outputs[i], types[i].type);
    }
  }
  std::string fault() {
    auto read = maker.read();
    return read.ok() ? "" : read.error().message;
  }
  std::string run(const std::vector<Reals>& rows, bool null_for_invalid = false) {
    plan.emplace(maker);
    plan->begin(static_cast<uint32_t>(rows.size()));
    for (size_t f = 0; f < fields.size(); ++f) {
      Reals column;
      for (const Reals& row : rows) column.push_back(row[f]);
      plan->reals(fields[f], column);
      for (uint32_t r = 0; r < rows.size(); ++r) {
        if (std::isnan(column[r])) plan->at(fields[f]).set_missing(r);
      }
    }
    return plan->run(null_for_invalid);
  }
  const Column& out(size_t i) { return plan->at(outputs[i]); }
  Reals vector(size_t i, uint32_t row) { return plan->vector(outputs[i], row); }
  std::string text(size_t i, uint32_t row) { return plan->text(outputs[i], row); }
  Texts texts(size_t i, uint32_t row) {
    Texts made;
    for (const TextId id : out(i).row_texts(row)) made.emplace_back(plan->frame->strings.text(id));
    return made;
  }

  PlanMaker maker;
  std::vector<uint32_t> fields, outputs;
  std::optional<PlanRun> plan;
};

}  // namespace serval::tabular
