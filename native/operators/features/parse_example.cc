// ParseExample: TensorFlow's ParseExample, ParseExampleV2 and ParseSingleExample in one kernel. Hot
// path, any thread. Inputs: serialized Examples ([n], or one as a scalar), then the default of each
// dense column. Outputs: sparse indices, sparse values, sparse shapes, dense values, ragged values,
// ragged row splits, each in the order of its keys. A scalar gives tensors without the batch dim,
// and empty row splits.
// Source: tensorflow/core/ops/parsing_ops.cc; values and texts measured with 2.21.
#include "operators/features/example_output.h"
#include "operators/groups.h"

namespace serval::operators {
namespace {

using Form = FeatureColumn::Form;

class ParseExample final : public Kernel {
 public:
  ParseExample(std::vector<FeatureColumn> columns, const std::vector<std::string>& keys)
      : columns_(std::move(columns)), index_(keys) {
    for (const FeatureColumn& column : columns_) {
      takes_empty_.push_back(column.takes_empty());
      forms_[static_cast<size_t>(column.form)] += 1;
    }
  }
  Status run(KernelContext& context) const override;

 private:
  struct Run;
  size_t count(Form form) const { return forms_[static_cast<size_t>(form)]; }
  void check_default(KernelIo& io, size_t dense, const FeatureColumn& column,
                     const TensorView& given) const;
  void find_cells(Run& run) const;
  Status check_cell(const Run& run, size_t example, const FeatureColumn& column, FeatureBytes bytes,
                    FeatureList& list) const;

  const std::vector<FeatureColumn> columns_;
  const FeatureIndex index_;
  std::vector<bool> takes_empty_;
  size_t forms_[3] = {};
};

struct ParseExample::Run {
  KernelIo& io;
  std::span<const std::string_view> examples;
  bool single = false;
  std::vector<TensorView> defaults;
  std::vector<FeatureList> cells;  // [column][example]
  std::vector<bool> found;         // [column][example]; Dense only

  std::span<const FeatureList> cells_of(size_t column) const {
    return std::span(cells).subspan(column * examples.size(), examples.size());
  }
  // The location of an example's error.
  std::string name(size_t example, const FeatureColumn& column) const {
    if (single) return "Key: " + column.key + ".  ";
    return "Name: <unknown>, Key: " + column.key + ", Index: " + std::to_string(example) + ".  ";
  }
};

void ParseExample::check_default(KernelIo& io, size_t dense, const FeatureColumn& column,
                                 const TensorView& given) const {
  const uint64_t elements = given.shape.elements().value_or(0);
  const std::string at = "[" + std::to_string(dense) + "]";
  if (!io.failed() && given.dtype != column.dtype) {
    io.refuse("def_value" + at + ": expected type " + std::string(dtype_tf_name(column.dtype)) +
              ", got " + std::string(dtype_tf_name(given.dtype)));
  }
  if (column.variable) {
    io.require(elements == 1, "dense_shape" + at + " is a variable length shape: " +
                                  partial_shape_text(column.dims) + ", therefore def_value" + at +
                                  " must contain a single element (the padding element).  "
                                  "But its shape is: " +
                                  given.shape.to_string());
    return;
  }
  const bool same = std::equal(column.dims.begin(), column.dims.end(), given.shape.dims().begin(),
                               given.shape.dims().end());
  io.require(elements == 0 || same, "def_value" + at + ".shape() == " + given.shape.to_string() +
                                        " is not compatible with dense_shapes_" + at +
                                        " == " + partial_shape_text(column.dims));
}

// Opens the list of a found feature and makes the checks that its column requires.
Status ParseExample::check_cell(const Run& run, size_t example, const FeatureColumn& column,
                                FeatureBytes bytes, FeatureList& list) const {
  const DType kind = feature_kind(bytes);
  const bool dense = column.form == Form::Dense;
  if (kind != column.dtype) {
    const std::string got(dtype_tf_name(kind)), wanted(dtype_tf_name(column.dtype));
    const std::string text = "Data types don't match. ";
    return invalid_argument(run.name(example, column) + text +
                            (dense ? "Data type: " + got + " but expected type: " + wanted
                                   : "Expected type: " + wanted + ", Actual type: " + got));
  }
  if (!open_list(bytes, list)) {
    return invalid_argument(run.name(example, column) + "Can't parse serialized Example.");
  }
  if (!dense) return ok_status();
  const std::string word(kind == DType::Bytes ? "bytes" : dtype_tf_name(kind));
  if (column.variable) {
    if (list.count % column.row_elements == 0) return ok_status();
    return invalid_argument(run.name(example, column) + "Number of " + word +
                            " values is not a multiple of stride length. Saw " +
                            std::to_string(list.count) +
                            " values but output shape is: " + partial_shape_text(column.dims));
  }
  if (list.count == column.row_elements) return ok_status();
  if (kind == DType::Bytes && list.count > column.row_elements) {
    return invalid_argument(run.name(example, column) + "Can't parse serialized Example" +
                            (run.single ? ": Parsing bytes_list failed." : "."));
  }
  if (run.single) {
    return invalid_argument(run.name(example, column) + "Can't parse serialized Example: Some " +
                            word + "_list slice was not parsed.");
  }
  return invalid_argument(run.name(example, column) + "Number of " + word +
                          " values != expected.  Values size: " + std::to_string(list.count) +
                          " but output shape: " + partial_shape_text(column.dims));
}

void ParseExample::find_cells(Run& run) const {
  const size_t examples = run.examples.size();
  run.cells.resize(columns_.size() * examples);
  run.found.resize(columns_.size() * examples);
  ExampleFeatures features;
  for (size_t e = 0; e < examples && !run.io.failed(); ++e) {
    switch (find_features(run.examples[e], index_, takes_empty_, features)) {
      case ExampleFault::None: break;
      case ExampleFault::Malformed:
        run.io.refuse("Could not parse example input, value: '" + shown(run.examples[e]) + "'");
        return;
      case ExampleFault::UnknownKind: run.io.refuse("Unsupported datatype."); return;
    }
    for (size_t c = 0; c < columns_.size(); ++c) {
      if (features.columns[c].data == nullptr) continue;
      run.found[c * examples + e] = true;
      Status status =
          check_cell(run, e, columns_[c], features.columns[c], run.cells[c * examples + e]);
      if (!status.ok()) run.io.fail(std::move(status.error()));
    }
    for (size_t c = 0; c < columns_.size() && !run.io.failed(); ++c) {
      const FeatureColumn& column = columns_[c];
      if (column.form != Form::Dense || column.variable || run.found[c * examples + e]) continue;
      const TensorView& fallback = run.defaults[c - count(Form::Sparse)];
      if (fallback.shape.elements().value_or(0) != 0) continue;
      run.io.refuse((run.single ? "Feature: " : "Name: <unknown>, Feature: ") + column.key +
                    " (data type: " + std::string(dtype_tf_name(column.dtype)) +
                    ") is required but could not be found.");
    }
  }
}

// Concatenates all values of a column, one example after the other.
template <typename T>
void write_flat(KernelIo& io, size_t index, std::span<const FeatureList> cells) {
  size_t total = 0;
  for (const FeatureList& cell : cells) total += cell.count;
  ColumnOutput<T> out(io, index, shape_of({static_cast<int64_t>(total)}));
  if (io.failed()) return;
  T* at = out.data();
  for (const FeatureList& cell : cells) {
    read_values(cell, at);
    at += cell.count;
  }
  out.finish();
}

template <typename T>
void write_dense(KernelIo& io, size_t index, const FeatureColumn& column, bool single,
                 const TensorView& fallback, std::span<const FeatureList> cells) {
  Shape shape;
  size_t each = static_cast<size_t>(column.row_elements);
  int64_t rows = 0;
  for (const FeatureList& cell : cells) {
    if (column.variable) rows = std::max(rows, int64_t{cell.count} / column.row_elements);
  }
  if (!single) (void)shape.push_back(static_cast<int64_t>(cells.size()));
  for (const int64_t dim : column.dims) (void)shape.push_back(dim < 0 ? rows : dim);
  if (column.variable) each *= static_cast<size_t>(rows);
  ColumnOutput<T> out(io, index, shape);
  const std::span<const T> filler = io.elements<T>(fallback);
  if (io.failed()) return;
  for (size_t e = 0; e < cells.size(); ++e) {
    T* const at = out.data() + e * each;
    const FeatureList& cell = cells[e];
    if (cell.kind != DType::Invalid) read_values(cell, at);
    if (column.variable) {
      std::fill(at + cell.count, at + each, filler[0]);
    } else if (cell.kind == DType::Invalid && !filler.empty()) {
      std::copy(filler.begin(), filler.end(), at);
    }
  }
  out.finish();
}

void write_indices(KernelIo& io, size_t indices, size_t shape, bool single,
                   std::span<const FeatureList> cells) {
  size_t total = 0;
  int64_t longest = 0;
  for (const FeatureList& cell : cells) {
    total += cell.count;
    longest = std::max(longest, int64_t{cell.count});
  }
  const int64_t rank = single ? 1 : 2;
  const auto out = io.output<int64_t>(indices, shape_of({static_cast<int64_t>(total), rank}));
  const auto dims = io.output<int64_t>(shape, shape_of({rank}));
  if (io.failed()) return;
  size_t at = 0;
  for (size_t e = 0; e < cells.size(); ++e) {
    for (uint32_t i = 0; i < cells[e].count; ++i) {
      if (!single) out[at++] = static_cast<int64_t>(e);
      out[at++] = i;
    }
  }
  if (!single) dims[0] = static_cast<int64_t>(cells.size());
  dims[dims.size() - 1] = longest;
}

void write_splits(KernelIo& io, size_t index, DType dtype, bool single,
                  std::span<const FeatureList> cells) {
  std::vector<int64_t> splits;
  if (!single) {
    splits.push_back(0);
    for (const FeatureList& cell : cells) splits.push_back(splits.back() + cell.count);
  }
  io.integers_output(index, dtype, shape_of({static_cast<int64_t>(splits.size())}), splits);
}

Status ParseExample::run(KernelContext& context) const {
  KernelIo io(context);
  const TensorView serialized = io.view(0);
  Run run{io, io.elements<std::string_view>(serialized), serialized.shape.rank() == 0, {}, {}, {}};
  if (!io.require(serialized.shape.rank() <= 1,
                  "Expected serialized to be a scalar or vector, got shape: " +
                      serialized.shape.to_string())) {
    return io.take();
  }
  const size_t sparse = count(Form::Sparse), dense = count(Form::Dense);
  for (size_t d = 0; d < dense; ++d) {
    run.defaults.push_back(io.view(1 + d));
    check_default(io, d, columns_[sparse + d], run.defaults.back());
  }
  if (!io.failed()) find_cells(run);
  for (size_t c = 0; c < columns_.size() && !io.failed(); ++c) {
    const FeatureColumn& column = columns_[c];
    const std::span<const FeatureList> cells = run.cells_of(c);
    const size_t ragged = c - sparse - dense;  // valid for Ragged only
    if (column.form == Form::Sparse) write_indices(io, c, 2 * sparse + c, run.single, cells);
    if (column.form == Form::Ragged) {
      write_splits(io, 3 * sparse + dense + count(Form::Ragged) + ragged, column.splits, run.single,
                   cells);
    }
    for_feature(column.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      if (column.form == Form::Sparse) {
        write_flat<T>(io, sparse + c, cells);
      } else if (column.form == Form::Ragged) {
        write_flat<T>(io, 3 * sparse + dense + ragged, cells);
      } else {
        write_dense<T>(io, 2 * sparse + c, column, run.single, run.defaults[c - sparse], cells);
      }
    });
  }
  return io.take();
}

Result<std::unique_ptr<Kernel>> make_parse_example(const KernelAttributes& attributes) {
  Result<std::vector<FeatureColumn>> columns = read_columns(attributes, "");
  if (!columns.ok()) return std::move(columns.error());
  std::vector<std::string> keys;
  for (const FeatureColumn& column : columns.value()) keys.push_back(column.key);
  return std::unique_ptr<Kernel>(std::make_unique<ParseExample>(std::move(columns.value()), keys));
}

}  // namespace

std::vector<OperatorType> example_operators() {
  const Operand any{DType::Invalid, Operand::Form::Variadic};
  return {{"ParseExample", {{DType::Bytes}, any}, {any}, make_parse_example}};
}

}  // namespace serval::operators
