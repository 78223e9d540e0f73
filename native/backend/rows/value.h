// What is known of one tensor of a graph about the rows of a batch. Control plane; pure.
// T(X) is the tensor when the model runs on the batch X, T(X_i) when it runs on row i alone.
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
  Same,     // T(X) = T(X_i) for every i: constants, and what is computed from inner dims
  Rows,     // T(X) = T(X_1), ..., T(X_N) put together along `axis`
  Numbers,  // the same with i * stride added to T(X_i): numbers of rows, to gather with
  Columns,  // the last axis has numbers of rows in some columns: indices of GatherND
  Counts,   // a few integers, some of them products with N: shapes
  Pieces,   // T(X_1), ..., T(X_N) put together along axis 0, and nobody knows how long each is
  Extents,  // the shape of something of Pieces: N, then sizes that all rows decide together
  Mixed,    // anything else: see `why`
};

// Why a tensor is Mixed.
struct Why {
  bool couples = false;  // rows change each other's answers; else nobody proved that they do not
  std::string text;      // with the node
};

// A column of Kind::Columns, or a Kind::Numbers: T(X_i) + i * stride. A stride of 0: plain rows.
struct Stride {
  Dim step = 0;
  std::optional<Dim> bound;  // T(X_i) is in [0, bound)
  bool operator==(const Stride&) const = default;
};

struct Value {
  Kind kind = Kind::Same;
  std::optional<Dims> dims;   // Rows, Numbers, Columns and Counts always have them
  size_t axis = 0;            // Rows, Numbers, Columns: dims[axis] is a multiple of N
  std::optional<Dims> cells;  // the elements of a few integers, in order; Counts always
  const ort::OnnxTensor* tensor = nullptr;  // a constant of the model
  Stride stride;                            // Numbers; of Rows and Same only the bound
  std::vector<Stride> columns;              // Columns; of Pieces numbers of rows too
  Symbol group = 0;                         // Pieces of one group are of one length in every row
  std::shared_ptr<const Why> why;           // Mixed
  // Kind::Same: what the tensor is instead in some steps or branches. For a batch and for each of
  // its rows alone it is then this one, or the other one, alike. An empty list before its first
  // element is the usual case.
  std::shared_ptr<const Value> instead;

  bool varies() const { return kind != Kind::Same; }
  bool is_rows() const { return kind == Kind::Rows; }
  size_t rank() const { return dims->size(); }
  // How many entries of the axis a row has.
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
  // Of integers: Counts where one of them grows with the batch.
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
