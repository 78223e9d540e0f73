// Helpers shared by the CTC decoders: the checked scores of a batch of sequences, and label
// sequences as sparse tensors. Hot path, any thread.
#pragma once

#include <vector>

#include "operators/kernel_io.h"

namespace serval::operators {

// The decoded labels of one sequence.
using Labels = std::vector<int64_t>;

// Scores [times, rows, classes] and the length of each row (1 .. times, or none).
template <typename T>
struct Scores {
  std::span<const T> values;
  std::span<const int32_t> lengths;
  size_t times = 0, rows = 0, classes = 0;
  std::span<const T> at(size_t time, size_t row) const {
    return values.subspan((time * rows + row) * classes, classes);
  }
};

// Reads inputs 0 and 1. Errors: invalid_argument through `io`, in TensorFlow's words.
template <typename T>
Scores<T> read_scores(KernelIo& io) {
  Scores<T> scores;
  const TensorView view = io.view(0);
  const Shape lengths = io.view(1).shape;
  if (io.failed()) return scores;
  io.require(view.shape.rank() == 3, "inputs is not a 3-Tensor");
  if (io.failed()) return scores;
  scores.times = static_cast<size_t>(view.shape[0]);
  scores.rows = static_cast<size_t>(view.shape[1]);
  scores.classes = static_cast<size_t>(view.shape[2]);
  scores.values = io.elements<T>(view);
  io.require(!scores.values.empty(), "inputs must not be empty");
  io.require(lengths.rank() == 1, "sequence_length is not a vector");
  if (io.failed()) return scores;
  scores.lengths = io.elements<int32_t>(1);
  io.require(scores.lengths.size() == scores.rows,
             "len(sequence_length) != batch_size.  len(sequence_length):  " +
                 std::to_string(scores.lengths.size()) +
                 " batch_size: " + std::to_string(scores.rows));
  for (size_t row = 0; row < scores.rows && !io.failed(); ++row) {
    io.require(scores.lengths[row] <= static_cast<int64_t>(scores.times),
               "sequence_length(" + std::to_string(row) + ") <= " + std::to_string(scores.times));
  }
  return scores;
}

// Writes paths[row][path] as sparse tensors [rows, longest]: outputs 0 .. top - 1 are indices,
// followed by the same number of values and of shapes.
void write_paths(KernelIo& io, std::span<const std::vector<Labels>> paths, size_t top);

}  // namespace serval::operators
