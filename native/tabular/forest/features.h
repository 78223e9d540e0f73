// A frame's columns as the rows that forests take. Made at load, immutable; any thread.
#pragma once

#include <string>
#include <vector>

#include "tabular/forest/forest.h"
#include "tabular/stage.h"

namespace serval::tabular {

class ForestFeatures {
 public:
  // Of the stage's inputs: scalars, one per feature, or one vector.
  ForestFeatures(StageSpec& spec, bool vector);
  // How many there are; 0: what the vector has.
  size_t count() const { return count_; }
  // The trees are built: which features they look at. Notes those that are not there in `spec`.
  void bind(StageSpec& spec, const Forest& forest);

  // Whether the columns are what is expected. Errors: invalid_argument naming the column.
  Status check(const Run& run) const;
  // Of scalars, by slot: why the row's value could not be computed, null: it could. False: all
  // could.
  bool failures(const Run& run, uint32_t row, std::vector<const Failure*>& by_slot) const;
  bool any_failures(const Run& run) const;
  bool is_vector() const { return vector_; }
  // Writes rows [first, first + count) of `rows`, stride() doubles each, to `out`. Of a vector that
  // is missing all is missing. Errors: a vector's wrong length, by Run::refuse; the row is marked
  // in `lost` then, as one that has no vector is.
  Status read(Run& run, Rows rows, uint32_t first, uint32_t count, double* out,
              uint8_t* lost) const;

 private:
  struct Codes {  // of a text feature: category numbers by id
    TextId first = 0;
    std::vector<int32_t> numbers;
  };
  struct Slot {
    uint32_t feature = 0;
    uint32_t column = 0;  // scalars
    bool to_float = false;
    const Codes* codes = nullptr;
  };
  void read_scalar(const Column& column, const Slot& slot, Rows rows, uint32_t first,
                   uint32_t count, double* out) const;
  void read_vector(const Column& column, uint32_t row, double* out) const;
  void read_codes(StageSpec& spec);

  std::string place_, name_;  // of the vector
  std::vector<uint32_t> inputs_;
  std::vector<std::string> names_;
  bool vector_;
  int32_t vector_size_ = -1;
  size_t count_ = 0, needed_ = 0;
  size_t stride_ = 1;
  std::span<const int32_t> to_float_;
  bool nan_is_largest_ = false;  // of scalars; else it is missing
  std::vector<Codes> codes_;
  std::vector<uint32_t> coded_;  // features of codes_
  std::vector<Slot> slots_;
  std::vector<int32_t> slot_of_;  // vectors: by feature, -1: nobody looks at it
};

}  // namespace serval::tabular
