// Known properties of one tensor of a graph about the rows of a batch. Control plane; pure. T(X) is
// the tensor when the model runs on the batch X, T(X_i) when it runs on row i alone.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/onnx/model.h"
#include "backend/rows/dim.h"

namespace serval::rows {

enum class Kind : uint8_t {
  Same,     // T(X) = T(X_i) for every i: constants, and values computed from trailing dims
  Rows,     // T(X) = T(X_1), ..., T(X_N) concatenated along `axis`
  Numbers,  // the same with i * stride added to T(X_i): row numbers, used as indices
  Columns,  // some columns of the last axis are row numbers: indices of GatherND
  Counts,   // a few integers, some of them products with N: shapes
  Pieces,   // T(X_1), ..., T(X_N) concatenated along axis 0, each of unknown length
  Extents,  // the shape of a value of Pieces: N, then sizes that depend on all rows together
  Mixed,    // anything else: see `why`
};

// The reason why a tensor is Mixed.
struct Why {
  bool couples = false;  // rows influence each other's results; false: independence is not proved
  std::string text;      // includes the node
};

// A column of Kind::Columns, or a Kind::Numbers: T(X_i) + i * stride. Stride 0: plain rows.
struct Stride {
  Dim step = 0;
  std::optional<Dim> bound;  // T(X_i) is in [0, bound)
  bool operator==(const Stride&) const = default;
};

struct Value {
  Kind kind = Kind::Same;
  std::optional<Dims> dims;   // always set for Rows, Numbers, Columns and Counts
  size_t axis = 0;            // Rows, Numbers, Columns: dims[axis] is a multiple of N
  std::optional<Dims> cells;  // the elements of a few integers, in order; always set for Counts
  const ort::OnnxTensor* tensor = nullptr;  // a constant of the model
  Stride stride;                            // for Numbers; for Rows and Same only the bound
  std::vector<Stride> columns;              // for Columns; row numbers of Pieces too
  Symbol group = 0;                         // Pieces of one group have the same length in every row
  std::shared_ptr<const Why> why;           // for Mixed
  // Kind::Same: an alternative value of the tensor in some steps or branches. A batch and each of
  // its rows alone then have the same one of the two. The usual case is a list that is empty before
  // its first element.
  std::shared_ptr<const Value> instead;

  bool varies() const { return kind != Kind::Same; }
  bool is_rows() const { return kind == Kind::Rows; }
  size_t rank() const { return dims->size(); }
  // The number of entries that one row has on the axis.
  Dim per_row() const { return without_rows((*dims)[axis]); }

  static Value same() { return {}; }
  static Value same(Dims dims) {
    Value value;
    value.dims = std::move(dims);
    return value;
  }
  static Value rows(Dims dims, size_t axis) {
    Value value = same(std::move(dims));
    value.kind = Kind::Rows;
    value.axis = axis;
    return value;
  }
  // A value of integers: Counts if one of them grows with the batch.
  static Value integers(Dims dims, Dims cells) {
    Value value = same(std::move(dims));
    for (const Dim& cell : cells) {
      if (cell.has_rows()) value.kind = Kind::Counts;
    }
    value.cells = std::move(cells);
    return value;
  }
  static Value mixed(std::shared_ptr<const Why> why) {
    Value value;
    value.kind = Kind::Mixed;
    value.why = std::move(why);
    return value;
  }
};

}  // namespace serval::rows
