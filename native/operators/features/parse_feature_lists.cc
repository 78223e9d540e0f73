// ParseFeatureLists: the feature lists of tf.train.SequenceExamples. (ParseExample parses their
// contexts.) Hot path, any thread. Input: serialized SequenceExamples ([n], or one as a scalar).
// Outputs: sparse indices ([k, 3]: example, step, value), values, shapes; dense values ([n, steps,
// ...], zeros after the last step), dense lengths; ragged values, outer splits (steps of each
// example), inner splits (values of each step); each in the order of its keys. A scalar gives
// tensors without the first dim. Attributes: as ParseExample's, dense_shapes are those of one step;
// `missing_assumed_empty`: 1 for each dense key that may be absent.
// Source: tensorflow/core/util/example_proto_fast_parsing.cc (semantics; measured with 2.21).
#include "operators/features/example_output.h"
#include "operators/groups.h"

namespace serval::operators {
namespace {

using Form = FeatureColumn::Form;

// One column over all examples: the lists of its steps.
struct StepColumn {
  std::vector<FeatureList> steps;
  std::vector<size_t> splits = {0};  // steps of each example
  size_t values = 0;
  int64_t longest = 0, widest = 0;
};

class ParseFeatureLists final : public Kernel {
 public:
  ParseFeatureLists(std::vector<FeatureColumn> columns, const std::vector<std::string>& keys,
                    std::vector<int64_t> may_miss)
      : columns_(std::move(columns)), index_(keys), may_miss_(std::move(may_miss)) {
    for (const FeatureColumn& column : columns_) ++forms_[static_cast<size_t>(column.form)];
  }
  Status run(KernelContext& context) const override;

 private:
  size_t count(Form form) const { return forms_[static_cast<size_t>(form)]; }
  bool may_miss(size_t column) const {
    if (columns_[column].form != Form::Dense) return true;
    return may_miss_[column - count(Form::Sparse)] != 0;
  }
  bool read_steps(KernelIo& io, const FeatureColumn& column, FeatureBytes list,
                  StepColumn& out) const;
  void read_columns_of(KernelIo& io, std::string_view example, ExampleFeatures& features,
                       std::vector<StepColumn>& out) const;
  void write(KernelIo& io, size_t column, bool single, const StepColumn& steps) const;

  const std::vector<FeatureColumn> columns_;
  const FeatureIndex index_;
  const std::vector<int64_t> may_miss_;
  size_t forms_[3] = {};
};

// Reads and checks the steps of one example's list.
bool ParseFeatureLists::read_steps(KernelIo& io, const FeatureColumn& column, FeatureBytes list,
                                   StepColumn& out) const {
  const std::string where = "Name: <unknown>, Feature list: " + column.key +
                            ", Index: " + std::to_string(out.splits.size() - 1) + ".  ";
  const bool dense = column.form == Form::Dense;
  WireCursor cursor(list.span());
  while (!cursor.done()) {
    uint64_t tag = 0;
    std::span<const uint8_t> bytes;
    if (!cursor.varint(tag) || tag != 10 || !cursor.bytes(bytes)) {
      io.refuse(where + "Can't parse serialized SequenceExample.");
      return false;
    }
    const FeatureBytes feature{bytes.data(), static_cast<uint32_t>(bytes.size())};
    FeatureList step;
    if (feature.bytes != 0) {
      const DType kind = feature_kind(feature);
      if (!io.require(kind == column.dtype, where + "Data types don't match. Expected type: " +
                                                std::string(dtype_tf_name(column.dtype))) ||
          !io.require(open_list(feature, step),
                      where + "Can't parse serialized SequenceExample.")) {
        return false;
      }
    }
    if (!io.require(
            !dense || step.count == column.row_elements,
            where + "Number of values != expected.  Values size: " + std::to_string(step.count) +
                " but output shape: " + partial_shape_text(column.dims))) {
      return false;
    }
    out.values += step.count;
    out.widest = std::max<int64_t>(out.widest, step.count);
    out.steps.push_back(step);
  }
  return true;
}

void ParseFeatureLists::read_columns_of(KernelIo& io, std::string_view example,
                                        ExampleFeatures& features,
                                        std::vector<StepColumn>& out) const {
  if (!io.require(find_feature_lists(example, index_, features),
                  "Invalid protocol message input, example id: <unknown>")) {
    return;
  }
  for (size_t c = 0; c < columns_.size(); ++c) {
    const FeatureBytes list = features.columns[c];
    if (list.data == nullptr) {
      io.require(may_miss(c), "Name: <unknown>, Feature list '" + columns_[c].key +
                                  "' is required but could not be found.  Did you mean to "
                                  "include it in feature_list_dense_missing_assumed_empty or "
                                  "feature_list_dense_defaults?");
    } else if (!read_steps(io, columns_[c], list, out[c])) {
      return;
    }
    const int64_t steps = static_cast<int64_t>(out[c].steps.size() - out[c].splits.back());
    out[c].longest = std::max(out[c].longest, steps);
    out[c].splits.push_back(out[c].steps.size());
  }
}

template <typename T>
void write_flat(KernelIo& io, size_t index, const StepColumn& column) {
  ColumnOutput<T> out(io, index, shape_of({static_cast<int64_t>(column.values)}));
  if (io.failed()) return;
  T* at = out.data();
  for (const FeatureList& step : column.steps) {
    read_values(step, at);
    at += step.count;
  }
  out.finish();
}

void write_sparse(KernelIo& io, size_t indices, size_t shape, bool single,
                  const StepColumn& column) {
  const int64_t rank = single ? 2 : 3;
  const auto out =
      io.output<int64_t>(indices, shape_of({static_cast<int64_t>(column.values), rank}));
  const auto dims = io.output<int64_t>(shape, shape_of({rank}));
  if (io.failed()) return;
  size_t at = 0;
  for (size_t e = 0; e + 1 < column.splits.size(); ++e) {
    for (size_t s = column.splits[e]; s < column.splits[e + 1]; ++s) {
      for (uint32_t i = 0; i < column.steps[s].count; ++i) {
        if (!single) out[at++] = static_cast<int64_t>(e);
        out[at++] = static_cast<int64_t>(s - column.splits[e]);
        out[at++] = i;
      }
    }
  }
  if (!single) dims[0] = static_cast<int64_t>(column.splits.size()) - 1;
  dims[dims.size() - 2] = column.longest;
  dims[dims.size() - 1] = column.widest;
}

template <typename T>
void write_dense(KernelIo& io, size_t index, const FeatureColumn& column, bool single,
                 const StepColumn& steps) {
  Shape shape;
  if (!single) (void)shape.push_back(static_cast<int64_t>(steps.splits.size()) - 1);
  (void)shape.push_back(steps.longest);
  for (const int64_t dim : column.dims) {
    if (!io.require(shape.push_back(dim), "rank of a feature list too high")) return;
  }
  ColumnOutput<T> out(io, index, shape);
  if (io.failed()) return;
  const size_t each = static_cast<size_t>(column.row_elements);
  T* at = out.data();
  for (size_t e = 0; e + 1 < steps.splits.size(); ++e) {
    T* const end = at + static_cast<size_t>(steps.longest) * each;
    for (size_t s = steps.splits[e]; s < steps.splits[e + 1]; ++s, at += each) {
      read_values(steps.steps[s], at);
    }
    std::fill(at, end, T{});
    at = end;
  }
  out.finish();
}

void write_splits(KernelIo& io, size_t outer, size_t inner, const FeatureColumn& column,
                  bool single, const StepColumn& steps) {
  // For a single example TensorFlow returns a scalar that it leaves uninitialised; here it is 0.
  std::vector<int64_t> splits(steps.splits.begin(), steps.splits.end());
  const Shape outer_shape = single ? Shape() : shape_of({static_cast<int64_t>(splits.size())});
  io.integers_output(outer, column.splits, outer_shape, splits);
  splits = {0};
  for (const FeatureList& step : steps.steps) splits.push_back(splits.back() + step.count);
  io.integers_output(inner, column.splits, shape_of({static_cast<int64_t>(splits.size())}), splits);
}

void ParseFeatureLists::write(KernelIo& io, size_t c, bool single, const StepColumn& steps) const {
  const FeatureColumn& column = columns_[c];
  const size_t sparse = count(Form::Sparse), dense = count(Form::Dense);
  const size_t ragged = count(Form::Ragged), ragged_at = 3 * sparse + 2 * dense;
  const size_t d = c - sparse, r = c - sparse - dense;  // each is valid for its form only
  if (column.form == Form::Sparse) write_sparse(io, c, 2 * sparse + c, single, steps);
  if (column.form == Form::Ragged) {
    write_splits(io, ragged_at + ragged + r, ragged_at + 2 * ragged + r, column, single, steps);
  }
  if (column.form == Form::Dense) {
    std::vector<int64_t> lengths;
    for (size_t e = 0; e + 1 < steps.splits.size(); ++e) {
      lengths.push_back(static_cast<int64_t>(steps.splits[e + 1] - steps.splits[e]));
    }
    Shape shape;
    if (!single) (void)shape.push_back(static_cast<int64_t>(lengths.size()));
    io.integers_output(3 * sparse + dense + d, DType::Int64, shape, lengths);
  }
  for_feature(column.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (column.form == Form::Sparse) write_flat<T>(io, sparse + c, steps);
    else if (column.form == Form::Ragged) write_flat<T>(io, ragged_at + r, steps);
    else write_dense<T>(io, 3 * sparse + d, column, single, steps);
  });
}

Status ParseFeatureLists::run(KernelContext& context) const {
  KernelIo io(context);
  const TensorView serialized = io.view(0);
  const auto examples = io.elements<std::string_view>(serialized);
  io.require(serialized.shape.rank() <= 1,
             "Expected serialized to be a scalar or vector, got "
             "shape: " +
                 serialized.shape.to_string());
  std::vector<StepColumn> steps(columns_.size());
  ExampleFeatures features;
  for (const std::string_view example : examples) {
    if (io.failed()) break;
    read_columns_of(io, example, features, steps);
  }
  for (size_t c = 0; c < columns_.size() && !io.failed(); ++c) {
    write(io, c, serialized.shape.rank() == 0, steps[c]);
  }
  return io.take();
}

Result<std::unique_ptr<Kernel>> make_lists(const KernelAttributes& attributes) {
  Result<std::vector<FeatureColumn>> columns = read_columns(attributes, "");
  if (!columns.ok()) return std::move(columns.error());
  std::vector<std::string> keys;
  size_t dense = 0;
  for (const FeatureColumn& column : columns.value()) {
    keys.push_back(column.key);
    dense += column.form == Form::Dense;
    if (column.variable) return model_invalid("attribute 'dense_shapes': a free dim");
  }
  std::vector<int64_t> may_miss = attributes.integers("missing_assumed_empty");
  may_miss.resize(dense);
  return std::unique_ptr<Kernel>(
      std::make_unique<ParseFeatureLists>(std::move(columns.value()), keys, std::move(may_miss)));
}

}  // namespace

std::vector<OperatorType> sequence_operators() {
  const Operand any{DType::Invalid, Operand::Form::Variadic};
  return {{"ParseFeatureLists", {{DType::Bytes}}, {any}, make_lists}};
}

}  // namespace serval::operators
