// See needs.h. Load thread; of(): hot path for requests that ask for other outputs than the
// default ones.
#include "tabular/lazy/needs.h"

#include <algorithm>

#include "base/generated/plan_generated.h"

namespace serval::tabular {
namespace {

void add_reads(const plan::Block& block, std::vector<uint32_t>& reads);

// All columns that a stage looks at, in its blocks and expressions too.
void add_reads(const plan::Stage& stage, std::vector<uint32_t>& reads) {
  if (stage.inputs() != nullptr) {
    reads.insert(reads.end(), stage.inputs()->begin(), stage.inputs()->end());
  }
  if (stage.attributes() == nullptr) return;
  for (const plan::Attribute* attribute : *stage.attributes()) {
    if (attribute->blocks() != nullptr) {
      for (const plan::Block* block : *attribute->blocks()) add_reads(*block, reads);
    }
    if (attribute->expressions() == nullptr) continue;
    for (const plan::Expression* expression : *attribute->expressions()) {
      if (expression->nodes() == nullptr) continue;
      for (const plan::Node* node : *expression->nodes()) {
        if (node->column() >= 0) reads.push_back(static_cast<uint32_t>(node->column()));
      }
    }
  }
}

void add_reads(const plan::Block& block, std::vector<uint32_t>& reads) {
  if (block.stages() == nullptr) return;
  for (const plan::Stage* stage : *block.stages()) add_reads(*stage, reads);
}

}  // namespace

Needs::Needs(const plan::Block& block, size_t column_count) : column_count_(column_count) {
  if (block.stages() == nullptr) return;
  for (const plan::Stage* stage : *block.stages()) {
    Step step;
    add_reads(*stage, step.reads);
    std::sort(step.reads.begin(), step.reads.end());
    step.reads.erase(std::unique(step.reads.begin(), step.reads.end()), step.reads.end());
    if (stage->outputs() != nullptr) {
      step.fills.assign(stage->outputs()->begin(), stage->outputs()->end());
    }
    steps_.push_back(std::move(step));
  }
}

Needs::Answer Needs::of(std::span<const uint32_t> columns) const {
  Answer made;
  made.stages.assign(steps_.size(), false);
  made.columns.assign(column_count_, false);
  for (const uint32_t column : columns) made.columns[column] = true;
  for (size_t i = steps_.size(); i-- > 0;) {
    const Step& step = steps_[i];
    const bool wanted = std::any_of(step.fills.begin(), step.fills.end(),
                                    [&](uint32_t column) { return made.columns[column]; });
    if (!wanted) continue;
    made.stages[i] = true;
    for (const uint32_t column : step.reads) {
      if (column < column_count_) made.columns[column] = true;
    }
  }
  return made;
}

}  // namespace serval::tabular
