// Rules of Serval's own operators (domain serval, native/operators). See rule.h.
#include <algorithm>

#include "backend/rows/fold.h"
#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

// Guards return their last input.
void last_input(Call& call) { call.set(0, call.in(call.count() - 1)); }

// Checks refuse a request because of a size or a flag. A refused batch is run again row by row, but
// one row must not be accepted because of the others: sizes that grow with the batch may only be
// indexed by row numbers, or have to be sizes themselves.
void checked(Call& call) {
  const Value& passed = call.in(call.count() - 1);
  if (call.in(0).kind == Kind::Counts && (passed.kind == Kind::Same || passed.is_rows())) {
    couples("whether it refuses depends on the number of rows");
  }
  last_input(call);
}

// Flags belong to the rows: a batch is refused if one of its rows is.
void required(Call& call) {
  const Kind flags = call.in(0).kind;
  if (flags != Kind::Same && flags != Kind::Rows) {
    couples("whether it refuses depends on the number of rows");
  }
  last_input(call);
}

// A tensor's dims, the begin of a slice, its sizes (-1: to the end) -> its ends.
void slice_ends(Call& call) {
  const Value &dims = call.in(0), &begin = call.in(1), &sizes = call.in(2);
  for (const Value* value : {&dims, &begin, &sizes}) {
    if (value->kind == Kind::Counts || !value->varies()) continue;
    couples("its end depends on the values of the rows");
  }
  if (!dims.cells || !begin.cells || !sizes.cells) {
    if (!call.all_same()) unproven("its end is computed");
    return call.set(0, Value::same());
  }
  const size_t rank = dims.cells->size();
  if (begin.cells->size() != rank || sizes.cells->size() != rank)
    unproven("sizes has a different rank");
  Dims ends;
  for (size_t i = 0; i < rank; ++i) {
    const Dim &whole = (*dims.cells)[i], &from = (*begin.cells)[i], &size = (*sizes.cells)[i];
    if (size.is(-1)) {
      ends.push_back(whole);
      continue;
    }
    const Dim args[] = {from, size};
    const bool counted = call.symbols().never_negative(size);
    std::optional<Dim> end;
    if (counted) end = fold(call.symbols(), "Add", args);
    else if (whole.power == 0 && from.power == 0 && size.power == 0) end = call.fresh();
    if (!end) couples("its end depends on the number of rows");
    ends.push_back(*end);
  }
  call.set(0, Value::integers({static_cast<int64_t>(rank)}, std::move(ends)));
}

// A tensor's dims, paddings [rank, 2] -> all befores, then all afters.
void pads_of(Call& call) {
  call.need_same(1, "the padding");
  const Value& paddings = call.in(1);
  if (!paddings.cells || paddings.cells->size() % 2 != 0) return call.set(0, Value::same());
  Dims pads;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    for (size_t i = side; i < paddings.cells->size(); i += 2) pads.push_back((*paddings.cells)[i]);
  }
  const auto size = static_cast<int64_t>(pads.size());
  call.set(0, Value::integers({size}, std::move(pads)));
}

// A rank, axes -> the axes counted from the front.
void reduction_axes(Call& call) {
  for (size_t i = 0; i < call.count(); ++i) call.need_same(i, "the axes");
  const std::optional<std::vector<int64_t>> rank = call.numbers(0), axes = call.numbers(1);
  if (!rank || rank->size() != 1 || !axes) return call.set(0, Value::same());
  Dims front;
  for (const int64_t axis : *axes) front.emplace_back(axis < 0 ? axis + rank->front() : axis);
  call.set(0, Value::integers({static_cast<int64_t>(front.size())}, std::move(front)));
}

// A permutation -> its inverse.
void inverse(Call& call) {
  call.need_same(0, "the order");
  const std::optional<std::vector<int64_t>> order = call.numbers(0);
  if (!order) return call.set(0, Value::same());
  Dims places(order->size());
  for (size_t i = 0; i < order->size(); ++i) {
    places[axis_of((*order)[i], order->size())] = static_cast<int64_t>(i);
  }
  call.set(0, Value::integers({static_cast<int64_t>(places.size())}, std::move(places)));
}

// Sorted rows [n, m], values [n, k] -> for each value, the number of smaller entries in its row.
void searched(Call& call) {
  if (call.all_same()) return;
  const Value &sorted = call.in(0), &values = call.in(1);
  if (!values.is_rows()) couples("the values do not belong to the same rows");
  const bool own = sorted.is_rows() && sorted.axis == 0 && values.axis == 0 &&
                   (*sorted.dims)[0] == (*values.dims)[0];
  const bool one_for_all = !sorted.varies() && values.axis == 1;
  if (!own && !one_for_all) couples("values are looked up in the lists of other rows");
  call.set(0, moved(values, call.dims(1), values.axis));
}

// Images [n, h, w, c] -> the largest of each window, and its position.
void pooled(Call& call) {
  const Value& data = call.in(0);
  if (call.all_same()) return;
  if (call.rank(0) != 4 || data.axis != 0) couples("its windows span the batch axis");
  Dims out = call.fresh_dims(4);
  out[0] = call.dims(0)[0];
  out[3] = call.dims(0)[3];
  call.set(0, Value::rows(out, 0));
  if (call.integer("with_batch", 0) == 0) return call.set(1, Value::rows(std::move(out), 0));
  call.set(1, Value::mixed(
                  std::make_shared<Why>(Why{true, "the indices that it returns count all rows"})));
}

// Strings, from which stop words are removed.
void normalized(Call& call) {
  const ort::OnnxAttribute* words = call.node().attribute("stopwords");
  if (call.in(0).varies() && words != nullptr && !words->text.empty()) {
    couples("stop words are removed from the list of all rows");
  }
  call.set(0, moved(call.in(0), call.dims(0), call.in(0).axis));
}

// Images [..., h, w, c] -> a text each.
void encoded_images(Call& call) {
  if (call.all_same()) return;
  const Value& data = call.in(0);
  if (data.axis + 3 >= call.rank(0)) couples("the batch axis is an axis of the image");
  call.set(0, moved(data, Dims(call.dims(0).begin(), call.dims(0).end() - 3), data.axis));
}

// Messages -> the number of values in each field, and the values, padded to the longest.
void decoded_messages(Call& call) {
  if (call.all_same()) return;
  const Value& data = call.in(0);
  Dims sizes = call.dims(0);
  sizes.push_back(call.fresh());
  call.set(0, moved(data, std::move(sizes), data.axis));
  for (size_t i = 1; i < call.output_count(); ++i) {
    call.set(i, Value::mixed(std::make_shared<Why>(
                    Why{true, "a field is padded to the longest of the batch"})));
  }
}

// The number of values in each field [..., fields], values [..., longest] -> messages.
void encoded_messages(Call& call) {
  if (call.all_same()) return;
  const Value& sizes = call.in(0);
  for (size_t i = 0; i < call.count(); ++i) {
    const bool own = call.in(i).is_rows() && call.rank(i) == call.rank(0) &&
                     call.in(i).axis == sizes.axis && sizes.axis + 1 < call.rank(0) &&
                     call.dims(i)[sizes.axis] == call.dims(0)[sizes.axis];
    if (!own) couples("the values do not belong to the same rows");
  }
  call.set(0, moved(sizes, Dims(call.dims(0).begin(), call.dims(0).end() - 1), sizes.axis));
}

// The first input's shape; the others are parameters.
void element(Call& call) {
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "a parameter");
  const Value& data = call.in(0);
  if (!data.dims) return call.set(0, Value::same());
  const Value out = moved(data, *data.dims, data.axis);
  for (size_t i = 0; i < call.output_count(); ++i) call.set(i, out);
}

void joined_texts(Call& call) {
  std::vector<const Value*> values;
  for (size_t i = 0; i < call.count(); ++i) values.push_back(&call.in(i));
  call.set(0, broadcast(call, values));
}

// Every text becomes a row of numbers; all have to have the same length.
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
  if (keys.kind == Kind::Pieces) return call.set(0, pieces_of(call));
  if (keys.kind == Kind::Extents) couples("the length of the longest row is looked up");
  if (call.all_same() && (!keys.dims || !call.in(3).dims)) return call.set(0, Value::same());
  Dims out = call.dims(0);
  const Dims& values = call.dims(3);
  if (!values.empty()) out.insert(out.end(), values.begin() + 1, values.end());
  call.set(0, moved(keys, std::move(out), keys.axis));
}

void fingerprint(Call& call) {
  const Value& data = call.in(0);
  if (call.rank(0) == 0) unproven("the input has no rows");
  if (data.varies() && data.axis != 0) couples("a fingerprint is computed from several rows");
  call.set(0, moved(data, {call.dims(0)[0], 8}, 0));
}

// Values [rows, n], size, weights -> [rows, size].
void counted(Call& call) {
  const Value& data = call.in(0);
  for (size_t i = 1; i < call.count(); ++i) {
    if (i == 2 && call.has(2) && call.in(2).is_rows()) {
      const bool own =
          call.in(2).axis == 0 && call.rank(2) == 2 && call.dims(2)[0] == call.dims(0)[0];
      if (!own) couples("the weights do not belong to the same rows");
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

// Requires that the rows are not on the last `count` axes; outputs have these axes or fewer.
void over_last(Call& call, size_t count) {
  const Value* rows = nullptr;
  for (size_t i = 0; i < call.count(); ++i) {
    const Value& value = call.in(i);
    if (!value.varies()) continue;
    if (value.axis + count >= call.rank(i)) couples("it iterates over the batch axis");
    if (rows != nullptr && (rows->axis != value.axis || rows->rank() != value.rank() ||
                            !((*rows->dims)[rows->axis] == (*value.dims)[value.axis]))) {
      couples("rows of one input are combined with different rows of another");
    }
    rows = &value;
  }
  if (rows == nullptr) return;
  for (size_t i = 0; i < call.count(); ++i) {
    if (call.in(i).varies() || call.op().find("FFT") != std::string_view::npos) continue;
    if (call.rank(i) > count) unproven("all rows share the same batch");
  }
  const Dim own = (*rows->dims)[rows->axis];
  for (size_t i = 0; i < call.output_count(); ++i) {
    size_t rank = rows->rank();
    if (call.op().ends_with("Determinant")) rank -= 2;
    if (call.op() == "SelfAdjointEigV2" && i == 0) rank -= 1;
    if (call.op() == "Lu" && i == 1) rank -= 1;
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
    unproven("all rows share the same batch");
  }
  over_last(call, 2);
}
void fourier(Call& call) {
  const size_t dims = call.op().ends_with("3D") ? 3 : call.op().ends_with("2D") ? 2 : 1;
  over_last(call, dims);
}

// Features of the rows, each in its own input.
void trees(Call& call) {
  if (call.all_same()) return;
  Dim rows;
  bool first = true;
  for (size_t i = 0; i < call.count(); ++i) {
    const Value& value = call.in(i);
    if (!value.varies()) continue;
    if (!value.is_rows() || value.axis != 0) couples("the rows are on another axis");
    if (!first && !(rows == (*value.dims)[0]))
      unproven("the inputs have different numbers of rows");
    rows = (*value.dims)[0];
    first = false;
  }
  if (call.op() == "BoostedTreesPredict") {
    return call.set(0, Value::rows({rows, call.fresh()}, 0));
  }
  unproven("BoostedTreesBucketize has no rule");
}

// The text of this coupling.
constexpr const char* kLengths = "its number of entries depends on the values of all rows";

// Rules of checks, and of operators that equal TensorFlow's of these names.
std::vector<Rule> check_rules(const char* family) {
  return {
      {family,
       "Indices and sizes pass unchanged; whether they are refused does not depend on other rows.",
       "serval",
       {"BroadcastDims", "CheckIndices", "CheckTuples"},
       checked,
       true,
       true},
      {family,
       "The value passes unchanged; the flags belong to the rows.",
       "serval",
       {"Require"},
       required,
       true,
       true},
      {family, "N is tracked as a number.", "serval", {"SliceEnds"}, slice_ends, true},
      {family, "The same for all rows.", "serval", {"PadsOf"}, pads_of, true},
      {family, "The same for all rows.", "serval", {"ReductionAxes"}, reduction_axes},
      {family, "The same for all rows.", "serval", {"InvertPermutation"}, inverse},
      {family,
       "Each row has its own sorted entries, or all share one list.",
       "serval",
       {"SearchSorted"},
       searched},
      {family,
       "The rows are on the first axis; indices count within each row.",
       "serval",
       {"MaxPoolWithArgmax"},
       pooled},
      {family, "There are no stop words.", "serval", {"NormalizeStrings"}, normalized},
      {family,
       "The batch axis is not an axis of the image.",
       "serval",
       {"EncodePng"},
       encoded_images},
      {family,
       "Only the number of values of each field: padding to the longest field of the batch couples "
       "the values.",
       "serval",
       {"DecodeProto"},
       decoded_messages},
      {family, "Each row has its own fields.", "serval", {"EncodeProto"}, encoded_messages},
      {family,
       "The table is a constant.",
       "serval",
       {"LookupFind"},
       lookup,
       false,
       false,
       false,
       true},
  };
}

}  // namespace

std::vector<Rule> serval_rules() {
  const char* const family = "Serval's own";
  std::vector<Rule> rules = check_rules(family);
  const std::vector<Rule> others = {
      {family,
       "The guarded value passes unchanged.",
       "serval",
       {"Checked1", "Checked2", "Checked3", "Checked4", "NoFeatures", "SomeIndices", "TopKCount",
        "TopKShape"},
       last_input,
       true,
       true},
      {family,
       "Each element is computed independently; parameters are the same for all rows.",
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
      {family,
       "The same as for elementwise operators.",
       "serval",
       {"ComplexAbs", "StringJoin"},
       joined_texts},
      {family,
       "Each string becomes numbers; all strings must contain the same count.",
       "serval",
       {"DecodePaddedRaw", "DecodeRaw"},
       raw},
      {family, "The rows are on the first axis.", "serval", {"Fingerprint"}, fingerprint},
      {family, "The rows are on the first axis of two.", "serval", {"DenseBincount"}, counted},
      {family,
       "It works along an axis other than the batch axis; the axis is a constant.",
       "serval",
       {"ReduceJoin"},
       join_axes},
      {family,
       "The rows are not on the axes of the matrix or the transform.",
       "serval",
       {"Cholesky", "LogMatrixDeterminant", "MatrixDeterminant", "MatrixInverse", "MatrixSolve",
        "MatrixTriangularSolve", "Qr", "SelfAdjointEigV2", "Svd", "Lu", "TridiagonalSolve"},
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
       {"DynamicPartition", "RaggedTensorToSparse", "SparseToDense", "Unique"}},
  };
  rules.insert(rules.end(), others.begin(), others.end());
  return rules;
}

}  // namespace serval::rows
