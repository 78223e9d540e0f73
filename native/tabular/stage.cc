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

// Runs a stage; rows of its inputs that could not be computed are refused or passed on.
Status Block::run_stage(Run& run, Rows rows, size_t at) const {
  if (at < inputs_.size() && stages[at]->on_failure() != OnFailure::Own) {
    for (const uint32_t input : inputs_[at]) {
      if (!run.in(input).failures.empty()) return run_without_failures(run, rows, at);
    }
  }
  return stages[at]->run(run, rows);
}

Status Block::learn(Run& run, Rows rows, size_t at) const {
  for (size_t i = 0; at < inputs_.size() && i < inputs_[at].size(); ++i) {
    const std::vector<Failure>& failures = run.in(inputs_[at][i]).failures;
    if (!failures.empty()) return run.refuse(failures.front());
  }
  return stages[at]->learn(run, rows);
}

Status Block::run_without_failures(Run& run, Rows rows, size_t at) const {
  const bool refuses = stages[at]->on_failure() == OnFailure::Refuse;
  std::vector<uint32_t> computed;
  computed.reserve(rows.count + size_t{1});  // its data is not null: Rows::list
  std::vector<Failure> failures;
  for (uint32_t i = 0; i < rows.count; ++i) {
    const Failure* failure = nullptr;
    for (const uint32_t input : inputs_[at]) {
      failure = run.in(input).failure(rows[i]);
      if (failure != nullptr) break;
    }
    if (failure == nullptr) {
      computed.push_back(rows[i]);
    } else if (!refuses) {
      failures.push_back(*failure);
    } else if (Status refused = run.refuse(*failure); !refused.ok()) {
      return refused;
    }
  }
  Status done = stages[at]->run(run, {static_cast<uint32_t>(computed.size()), computed.data()});
  if (!done.ok() || at >= own_.size()) return done;
  for (uint32_t own = own_[at].first; own < own_[at].second; ++own) {
    run.frame.columns[filled_[own].column].failures = failures;
  }
  return done;
}

Status Block::run(Run& run, Rows rows, const std::vector<bool>* wanted) const {
  for (size_t i = 0; i < stages.size(); ++i) {
    if (wanted != nullptr && !(*wanted)[i]) continue;
    if (run.cancel != nullptr && run.cancel->cancelled()) {
      return make_error(ErrorCode::Cancelled, "the run was cancelled");
    }
    if (Status done = run_stage(run, rows, i); !done.ok()) return done;
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
