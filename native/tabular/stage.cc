// Runs of stages. Hot path, any thread.
#include "tabular/stage.h"

namespace serval::tabular {

Column& Run::out(uint32_t column, Type type, Rows rows, Type element) {
  Column& made = frame.columns[column];
  made.reset(type, frame.rows, element);
  if (rows.all() || is_list(type)) return made;
  made.states.assign(frame.rows, static_cast<uint8_t>(State::Missing));
  for (uint32_t i = 0; i < rows.count; ++i) {
    made.states[rows[i]] = static_cast<uint8_t>(State::Valid);
  }
  return made;
}

Status Run::refuse(uint32_t row, std::string_view place, std::string what) {
  if (options.null_for_invalid) {
    if (frame.refused.empty()) frame.refused.assign(frame.rows, 0);
    frame.refused[row] = 1;
    return {};
  }
  std::string text(place);
  text += ": row " + std::to_string(row) + ": " + std::move(what);
  return invalid_argument(std::move(text));
}

Error Run::too_many(uint64_t values, std::string_view place) const {
  std::string text(place);
  text += ": elements of " + std::to_string(frame.rows) + " rows: expected at most " +
          std::to_string(options.column_values_max) + ", got " + std::to_string(values);
  return make_error(ErrorCode::BodyTooLarge, std::move(text));
}

Status Block::run(Run& run, Rows rows, const std::vector<bool>* wanted) const {
  for (size_t i = 0; i < stages.size(); ++i) {
    if (wanted != nullptr && !(*wanted)[i]) continue;
    if (run.cancel != nullptr && run.cancel->cancelled()) {
      return make_error(ErrorCode::Cancelled, "the run was cancelled");
    }
    if (Status done = stages[i]->run(run, rows); !done.ok()) return done;
    if (i >= own_.size()) continue;
    for (uint32_t own = own_[i].first; own < own_[i].second; ++own) {
      Column& column = run.frame.columns[filled_[own].column];
      if (is_list(column.type)) column.end_rows(run.frame.rows);
    }
  }
  return {};
}

void Block::skip(Run& run) const {
  constexpr auto kMissing = static_cast<uint8_t>(State::Missing);
  for (const Filled& filled : filled_) {
    Column& column = run.frame.columns[filled.column];
    column.reset(filled.type, run.frame.rows, filled.element);
    if (is_list(filled.type)) column.end_rows(run.frame.rows);
    else column.states.assign(run.frame.rows, kMissing);
  }
}

}  // namespace serval::tabular
