// What each output of a plan needs: of stages and of fields. Made at load; a lazy plan's runs are
// cut to it. Immutable then; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace serval::plan {
struct Block;
}

namespace serval::tabular {

class Needs {
 public:
  Needs() = default;
  // Of the plan's outermost block. Columns are below `column_count`.
  Needs(const plan::Block& block, size_t column_count);

  struct Answer {
    std::vector<bool> stages;   // by stage of the block
    std::vector<bool> columns;  // by column: those that are needed, fields among them
  };
  // Of these columns.
  Answer of(std::span<const uint32_t> columns) const;

 private:
  struct Step {
    std::vector<uint32_t> reads, fills;
  };
  std::vector<Step> steps_;
  size_t column_count_ = 0;
};

}  // namespace serval::tabular
