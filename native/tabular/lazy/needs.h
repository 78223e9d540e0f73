// Stages and fields that each output of a plan needs. Made at load; runs of a lazy plan execute
// only these. Immutable then; any thread.
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
  // Analyses the plan's outermost block. All columns are below `column_count`.
  Needs(const plan::Block& block, size_t column_count);

  struct Answer {
    std::vector<bool> stages;   // by stage of the block
    std::vector<bool> columns;  // needed columns, fields included
  };
  // Returns what these columns need.
  Answer of(std::span<const uint32_t> columns) const;

 private:
  struct Step {
    std::vector<uint32_t> reads, fills;
  };
  std::vector<Step> steps_;
  size_t column_count_ = 0;
};

}  // namespace serval::tabular
