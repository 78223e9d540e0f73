// Rules of Serval's own operators (domain serval, native/operators). See rule.h.
#include <algorithm>

#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

// Guards pass their last input on.
void last_input(Call& call) { call.set(0, call.in(call.count() - 1)); }

// The first input's shape; the others are parameters.
void element(Call& call) {
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "a parameter");
  const Value& data = call.in(0);
  if (!data.dims) return call.set(0, Value::same());
  const Value out = moved(data, *data.dims, data.axis);
  for (size_t i = 0; i < call.output_count(); ++i) call.set(i, out);
}

void joined(Call& call) {
  std::vector<const Value*> values;
  for (size_t i = 0; i < call.count(); ++i) values.push_back(&call.in(i));
  call.set(0, broadcast(call, values));
}

// Every text becomes a row of numbers; all must have as many.
void raw(Call& call) {
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "the length");
  const Value& data = call.in(0);
  Dims out = call.dims(0);
  out.push_back(call.fresh());
  call.set(0, moved(data, std::move(out), data.axis));
}

// Keys, a default, the table's keys and values.
void lookup(Call& call) {
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "the table");
  const Value& keys = call.in(0);
  if (call.all_same() && (!keys.dims || !call.in(3).dims)) return call.set(0, Value::same());
  Dims out = call.dims(0);
  const Dims& values = call.dims(3);
  if (!values.empty()) out.insert(out.end(), values.begin() + 1, values.end());
  call.set(0, moved(keys, std::move(out), keys.axis));
}

void fingerprint(Call& call) {
  const Value& data = call.in(0);
  if (call.rank(0) == 0) unproven("a tensor without rows");
  if (data.varies() && data.axis != 0) couples("a fingerprint is that of several rows");
  call.set(0, moved(data, {call.dims(0)[0], 8}, 0));
}

// Values [rows, n], size, weights -> [rows, size].
void counted(Call& call) {
  const Value& data = call.in(0);
  for (size_t i = 1; i < call.count(); ++i) {
    if (i == 2 && call.has(2) && call.in(2).is_rows()) {
      const bool own =
          call.in(2).axis == 0 && call.rank(2) == 2 && call.dims(2)[0] == call.dims(0)[0];
      if (!own) couples("the weights are not each row's own");
      continue;
    }
    call.need_same(i, "a parameter");
  }
  if (call.all_same()) return;
  if (!data.is_rows() || call.rank(0) != 2 || data.axis != 0) couples("it counts over the rows");
  call.set(0, Value::rows({call.dims(0)[0], call.fresh()}, 0));
}

void join_axes(Call& call) {
  call.need_same(1, "the axes");
  const Value& data = call.in(0);
  if (call.all_same()) return;
  const size_t rank = call.rank(0);
  const std::optional<std::vector<int64_t>> axes = call.numbers(1);
  if (!axes) unproven("the axes are computed");
  const bool all = axes->empty();
  if (all || has_axis(*axes, data.axis, rank)) couples("it joins the rows");
  const bool keeps = call.integer("keep_dims", 0) != 0;
  Dims out;
  size_t axis = data.axis;
  for (size_t i = 0; i < rank; ++i) {
    const bool gone = has_axis(*axes, i, rank);
    if (!gone) out.push_back(call.dims(0)[i]);
    else if (keeps) out.push_back(1);
    else if (i < data.axis) --axis;
  }
  call.set(0, Value::rows(std::move(out), axis));
}

// The rows are not on the last `count` axes; outputs have these axes or fewer.
void over_last(Call& call, size_t count) {
  const Value* rows = nullptr;
  for (size_t i = 0; i < call.count(); ++i) {
    const Value& value = call.in(i);
    if (!value.varies()) continue;
    if (value.axis + count >= call.rank(i)) couples("the rows are an axis that it goes over");
    if (rows != nullptr && (rows->axis != value.axis || rows->rank() != value.rank() ||
                            !((*rows->dims)[rows->axis] == (*value.dims)[value.axis]))) {
      couples("rows of one input meet other rows of another");
    }
    rows = &value;
  }
  if (rows == nullptr) return;
  for (size_t i = 0; i < call.count(); ++i) {
    if (call.in(i).varies() || call.op().find("FFT") != std::string_view::npos) continue;
    if (call.rank(i) > count) unproven("a batch that is the same for all rows");
  }
  const Dim own = (*rows->dims)[rows->axis];
  for (size_t i = 0; i < call.output_count(); ++i) {
    size_t rank = rows->rank();
    if (call.op().ends_with("Determinant")) rank -= 2;
    if (call.op() == "SelfAdjointEigV2" && i == 0) rank -= 1;
    if (call.op() == "Svd" && i == 0) rank -= 1;
    Dims out = call.fresh_dims(rank);
    for (size_t k = 0; k + count < rows->rank() && k < rank; ++k) out[k] = (*rows->dims)[k];
    out[rows->axis] = own;
    call.set(i, Value::rows(std::move(out), rows->axis));
  }
}

void matrices(Call& call) {
  const Value& first = call.in(0);
  if (first.varies() && call.count() > 1 && !call.in(1).varies()) {
    unproven("a batch that is the same for all rows");
  }
  over_last(call, 2);
}
void fourier(Call& call) {
  const size_t dims = call.op().ends_with("3D") ? 3 : call.op().ends_with("2D") ? 2 : 1;
  over_last(call, dims);
}

// One feature of the rows after the other.
void trees(Call& call) {
  if (call.all_same()) return;
  Dim rows;
  bool first = true;
  for (size_t i = 0; i < call.count(); ++i) {
    const Value& value = call.in(i);
    if (!value.varies()) continue;
    if (!value.is_rows() || value.axis != 0) couples("the rows are on another axis");
    if (!first && !(rows == (*value.dims)[0])) unproven("inputs with other numbers of rows");
    rows = (*value.dims)[0];
    first = false;
  }
  if (call.op() == "BoostedTreesPredict") {
    return call.set(0, Value::rows({rows, call.fresh()}, 0));
  }
  unproven("buckets of features");
}

// A coupling that its own text names.
constexpr const char* kLengths = "how many entries it answers depends on the values of all rows";

}  // namespace

std::vector<Rule> serval_rules() {
  const char* const family = "Serval's own";
  return {
      {family,
       "What is guarded goes on unchanged.",
       "serval",
       {"Checked1", "Checked2", "Checked3", "Checked4", "NoFeatures", "SomeIndices", "TopKCount",
        "TopKShape"},
       last_input,
       true,
       true},
      {family,
       "Every element for itself; parameters are the same for all rows.",
       "serval",
       {"AsString",
        "BoostedTreesBucketize",
        "Bucketize",
        "DecodeBase64",
        "DecodeCSV",
        "EncodeBase64",
        "RegexFullMatch",
        "RegexReplace",
        "StaticRegexFullMatch",
        "StaticRegexReplace",
        "StringLength",
        "StringLower",
        "StringStrip",
        "StringToHashBucket",
        "StringToHashBucketFast",
        "StringToHashBucketStrong",
        "StringToNumber",
        "StringUpper",
        "Substr",
        "UnicodeTranscode"},
       element},
      {family, "As elementwise operators.", "serval", {"ComplexAbs", "StringJoin"}, joined},
      {family,
       "Every text becomes numbers; all texts must have as many.",
       "serval",
       {"DecodePaddedRaw", "DecodeRaw"},
       raw},
      {family, "The table is a constant.", "serval", {"LookupFind"}, lookup},
      {family, "The rows are on the first axis.", "serval", {"Fingerprint"}, fingerprint},
      {family, "The rows are on the first axis of two.", "serval", {"DenseBincount"}, counted},
      {family,
       "Along another axis than the rows', which is a constant.",
       "serval",
       {"ReduceJoin"},
       join_axes},
      {family,
       "The rows are not on the axes of the matrix or the transform.",
       "serval",
       {"Cholesky", "LogMatrixDeterminant", "MatrixDeterminant", "MatrixInverse", "MatrixSolve",
        "MatrixTriangularSolve", "Qr", "SelfAdjointEigV2", "Svd"},
       matrices},
      {family,
       "The rows are not on the axes of the matrix or the transform.",
       "serval",
       {"FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D", "IRFFT", "IRFFT2D", "IRFFT3D", "RFFT",
        "RFFT2D", "RFFT3D"},
       fourier},
      {family,
       "The rows are on the first axis of every feature.",
       "serval",
       {"BoostedTreesPredict"},
       trees},
      {"Never",
       kLengths,
       "serval",
       {"DynamicPartition", "RaggedTensorToSparse", "RaggedTensorToTensor", "SparseToDense",
        "StringSplit", "StringSplitV2", "Unique"}},
  };
}

}  // namespace serval::rows
