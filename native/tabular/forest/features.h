// Converts a frame's columns to the rows that forests read. Made at load, immutable; any thread.
#pragma once

#include <string>
#include <vector>

#include "tabular/forest/forest.h"
#include "tabular/stage.h"

namespace serval::tabular {

class ForestFeatures {
 public:
  // Reads the stage's inputs: one scalar per feature, or one vector.
  ForestFeatures(StageSpec& spec, bool vector);
  // Number of features; 0: the vector's length.
  size_t count() const { return count_; }
  // Call after the trees are built: binds the features that they use. Records missing ones in
  // `spec`.
  void bind(StageSpec& spec, const Forest& forest);

  // Checks the columns' types. Errors: invalid_argument naming the column.
  Status check(const Run& run) const;
  // Scalars: fills by_slot with the reason why the row's value could not be computed, or null.
  // Returns false if all values could be computed.
  bool failures(const Run& run, uint32_t row, std::vector<const Failure*>& by_slot) const;
  bool any_failures(const Run& run) const;
  bool is_vector() const { return vector_; }
  // Writes rows [first, first + count) of `rows` to `out`, stride() doubles each. All values of a
  // missing vector are missing. A vector of the wrong length is an error by Run::refuse; its row is
  // then marked in `lost`, like a row without a vector.
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
    bool missing_is_lowest = false;
    const Codes* codes = nullptr;
  };
  void read_scalar(const Column& column, const Slot& slot, Rows rows, uint32_t first,
                   uint32_t count, double* out) const;
  void read_vector(const Column& column, uint32_t row, double* out) const;
  void fill_missing(double* out) const;
  void read_codes(StageSpec& spec);

  std::string place_, name_;  // for a vector
  std::vector<uint32_t> inputs_;
  std::vector<std::string> names_;
  bool vector_;
  int32_t vector_size_ = -1;
  size_t count_ = 0, needed_ = 0;
  size_t stride_ = 1;
  std::span<const int32_t> to_float_;
  bool nan_is_largest_ = false;  // scalars: NaN is the largest value; otherwise it is missing
  std::vector<Codes> codes_;
  std::vector<uint32_t> coded_;   // features that have codes_
  std::vector<Slot> slots_;       // those of a feature are neighbours
  std::vector<int32_t> slot_of_;  // vectors: first slot by feature; -1: unused
};

}  // namespace serval::tabular
