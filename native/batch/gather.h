// Combines several requests' tensors into one batch, and splits a batch's outputs among the
// requests. Hot path; pure except for the memory it is given. Thread: instance.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/buffer.h"
#include "base/tensor.h"
#include "gpu/input_places.h"

namespace serval {

// Rows [first_row, first_row + rows) of one request's inputs, along axis 0.
struct BatchPart {
  std::span<const TensorView> inputs;  // omitted, or rank >= 1 and dim 0 >= first_row + rows
  uint32_t first_row = 0;
  uint32_t rows = 0;
};

// Memory of gathered inputs, one set per instance, kept between batches.
struct GatherMemory {
  MemoryBudget* budget = nullptr;                      // charged for `bytes`
  InputPlaces* places = nullptr;                       // preferred places of inputs, or null
  std::vector<ByteBuffer> bytes;                       // per input, fixed-size dtypes
  std::vector<std::vector<std::string_view>> strings;  // per input, for text
  std::vector<ByteBuffer> states, lengths;             // per input, for tabular models
};

// Whether two requests can share a batch: they omit the same inputs (DType::Invalid); dtypes, ranks
// and (unless `pad_inner`) trailing dimensions are equal, input by input; tabular inputs are both
// ragged or both not, and decimals have the same scale.
bool same_batch(std::span<const TensorView> a, std::span<const TensorView> b, bool pad_inner);

// Hot path. Concatenates the parts along axis 0 and pads up to `rows_out` rows by repeating the
// first row of the last part (source: TensorFlow Serving). With `pad_inner`, trailing dimensions
// grow to the largest and are filled with zeros (BYTES: empty strings). A single part without
// padding is not copied: the views are the request's own (offset to its first row). Borrows the
// parts until the views are dropped; writes each element once.
// Errors: internal (memory; sizes that overflow).
Status gather(std::span<const BatchPart> parts, uint32_t rows_out, bool pad_inner,
              GatherMemory& memory, std::vector<TensorView>& out);

// Gathers the states of a tabular model's batch; for gather(). `out` has the elements' dtype and,
// unless they are ragged, the elements. Errors: internal (memory).
Status gather_states(std::span<const BatchPart> parts, size_t input, uint32_t rows_out,
                     GatherMemory& memory, TensorView& out);
// Gathers ragged elements and their lengths. Errors: internal (memory).
Status gather_ragged(std::span<const BatchPart> parts, size_t input, uint32_t rows_out,
                     GatherMemory& memory, TensorView& out);

// Rows [first_row, first_row + rows) of a tensor, as a view without a copy. rank >= 1;
// an omitted input stays omitted.
TensorView slice_rows(const TensorView& tensor, uint32_t first_row, uint32_t rows);

// Whether every output's dim 0 is `rows`; otherwise the batch cannot be split.
bool outputs_have_rows(std::span<const TensorView> outputs, uint32_t rows);

// Concatenates the outputs of a request that ran in pieces, along axis 0.
class PieceOutputs {
 public:
  // `rows_total`: rows of the whole request; `tabular`: for a tabular model, whose outputs have
  // states and may differ in their trailing dimension. Discards earlier outputs.
  void begin(uint32_t rows_total, bool tabular = false);
  // Appends the outputs of the next rows. Trailing dimensions must equal those of the first piece.
  // Errors: backend_failed (trailing dimensions differ; dim 0 is not the piece's), internal
  // (memory).
  Status append(std::span<const TensorView> outputs, uint32_t rows);
  // Views of all rows; valid until begin().
  std::span<const TensorView> finish();

 private:
  struct Output {
    TensorView view;
    ByteBuffer bytes;
    std::vector<size_t> ends;  // BYTES: end of each element in `bytes`
    std::vector<std::string_view> strings;
    ByteBuffer states, lengths;  // tabular: per row
  };
  std::vector<Output> outputs_;
  std::vector<TensorView> views_;
  uint32_t rows_total_ = 0;
  uint32_t rows_ = 0;
  bool tabular_ = false;
};

}  // namespace serval
