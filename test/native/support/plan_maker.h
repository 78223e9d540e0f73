// Plans, and frames to run them on. Test time only.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/plan_build.h"

namespace serval::tabular {

// A plan that was read, and a frame for it.
struct PlanRun {
  explicit PlanRun(PlanMaker& maker, Backend* runtime = nullptr) {
    auto made = maker.read(runtime);
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
    if (!made.ok()) return;
    plan = std::move(made.value());
    frame.emplace(plan->dictionary(), plan->column_count());
  }
  // Begins a run: columns are filled next.
  void begin(uint32_t rows) { frame->begin(rows); }
  Column& at(uint32_t column) { return frame->columns[column]; }
  void reals(uint32_t column, const std::vector<double>& values) {
    at(column).reset(Type::Double, frame->rows);
    at(column).reals = values;
  }
  void integers(uint32_t column, const std::vector<int64_t>& values, Type type = Type::Int64) {
    at(column).reset(type, frame->rows);
    at(column).integers = values;
  }
  void texts(uint32_t column, const std::vector<std::string>& values) {
    at(column).reset(Type::String, frame->rows);
    for (size_t i = 0; i < values.size(); ++i) {
      at(column).texts[i] = frame->strings.intern(values[i]);
    }
  }
  void vectors(uint32_t column, const std::vector<std::vector<double>>& rows) {
    at(column).reset(Type::Vector, frame->rows);
    for (uint32_t row = 0; row < rows.size(); ++row) {
      at(column).start_row(row);
      at(column).reals.insert(at(column).reals.end(), rows[row].begin(), rows[row].end());
      at(column).end_row();
    }
  }
  // Runs the plan; returns "" or the error's text.
  std::string run(bool null_for_invalid = false) {
    const Status done = plan->run(*frame, {null_for_invalid}, nullptr);
    return done.ok() ? "" : done.error().message;
  }
  std::string text(uint32_t column, uint32_t row) {
    return std::string(frame->strings.text(at(column).texts[row]));
  }
  std::vector<double> vector(uint32_t column, uint32_t row) {
    const auto values = at(column).row_reals(row);
    return {values.begin(), values.end()};
  }

  std::shared_ptr<const Plan> plan;
  std::optional<Frame> frame;
};

}  // namespace serval::tabular
