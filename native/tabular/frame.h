// The columns of one run. One thread at a time; keeps its memory from run to run.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "tabular/column.h"
#include "tabular/strings.h"

namespace serval::tabular {

// The items of lists that expressions make: a Value of List whose column is null names one by its
// row. They last until the row's expression is answered.
struct Items {
  std::deque<std::vector<Value>> lists;
  size_t held = 0;  // of all lists
  void clear() {
    if (held == 0) return;
    lists.clear();
    held = 0;
  }
};

struct Frame {
  // Of a plan with so many columns.
  Frame(const Dictionary& dictionary, size_t column_count)
      : columns(column_count), strings(dictionary) {}
  // For a run of so many rows; its field columns are filled next.
  void begin(uint32_t row_count) {
    rows = row_count;
    refused.clear();
    strings.clear();
    items.clear();
  }
  // Between runs: gives back what a large one took.
  void shrink() {
    if (rows <= kRowsKept) return;
    for (Column& column : columns) {
      if (column.held_bytes() > kColumnBytesKept) column = Column();
    }
    if (scratch.capacity() * sizeof(double) > kColumnBytesKept) scratch = {};
    strings.clear();
  }

  static constexpr uint32_t kRowsKept = 1024;
  static constexpr size_t kColumnBytesKept = 64 * 1024;

  uint32_t rows = 0;
  std::vector<Column> columns;   // the plan's, by number
  std::vector<uint8_t> refused;  // by row, where RunOptions::null_for_invalid; empty = none
  Strings strings;
  Items items;
  std::vector<double> scratch;  // anybody's, for the length of one stage's run
  std::vector<std::unique_ptr<BackendScratch>> islands;  // by number; see dense/island.h
};

}  // namespace serval::tabular
