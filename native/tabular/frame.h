// The columns of one run. One thread at a time; keeps its memory from run to run.
#pragma once

#include <vector>

#include "tabular/column.h"
#include "tabular/strings.h"

namespace serval::tabular {

struct Frame {
  explicit Frame(const Dictionary& dictionary) : strings(dictionary) {}
  uint32_t rows = 0;
  std::vector<Column> columns;   // the plan's, by number
  std::vector<uint8_t> refused;  // by row, where RunOptions::null_for_invalid; empty = none
  Strings strings;
  std::vector<double> scratch;   // anybody's, for the length of one stage's run
};

}  // namespace serval::tabular
