// The columns of one run. Used by one thread at a time; keeps its memory from run to run.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "tabular/column.h"
#include "tabular/strings.h"

namespace serval::tabular {

// Items of lists that expressions create: a List Value whose column is null names one by its row.
// They live until the row's expression is evaluated.
struct Items {
  std::deque<std::vector<Value>> lists;
  size_t held = 0;  // over all lists
  void clear() {
    if (held == 0) return;
    lists.clear();
    held = 0;
  }
};

struct Frame {
  // Creates the frame of a plan with `column_count` columns.
  Frame(const Dictionary& dictionary, size_t column_count)
      : columns(column_count), strings(dictionary) {}
  // Starts a run of `row_count` rows; the caller fills the field columns next.
  void begin(uint32_t row_count) {
    rows = row_count;
    refused.clear();
    strings.clear();
    items.clear();
  }
  // Call between runs: releases the memory of a large run.
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
  std::vector<Column> columns;   // the plan's columns by number
  std::vector<uint8_t> refused;  // by row, with RunOptions::null_for_invalid; empty = none
  Strings strings;
  Items items;
  std::vector<double> scratch;                           // free for any stage while it runs
  std::vector<std::unique_ptr<BackendScratch>> islands;  // by number; see dense/island.h
};

}  // namespace serval::tabular
