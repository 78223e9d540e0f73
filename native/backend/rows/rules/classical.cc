// Rules of ai.onnx.ml and of text, and of the ragged tensors of split texts. See rule.h.
#include "backend/rows/rule.h"

namespace serval::rows {
namespace {

// [N, features], rows first: the first axis of every output is that of the rows.
void need_table(Call& call) {
  for (size_t i = 1; i < call.count(); ++i) call.need_same(i, "a parameter");
  const Value& data = call.in(0);
  if (call.rank(0) != 2) unproven("an input is not a table: a single row has no batch axis");
  if (data.varies() && data.axis != 0) couples("the rows are on the axis of the features");
}

void model(Call& call) {
  need_table(call);
  if (call.all_same()) return;
  const Dim rows = call.dims(0)[0];
  const bool classifies = call.op().ends_with("Classifier");
  call.set(0, classifies ? Value::rows({rows}, 0) : Value::rows({rows, call.fresh()}, 0));
  call.set(1, Value::rows({rows, call.fresh()}, 0));
}

void over_features(Call& call) {
  need_table(call);
  Dims out = call.dims(0);
  if (call.op() == "TfIdfVectorizer") out[1] = call.fresh();
  call.set(0, moved(call.in(0), std::move(out), 0));
}

void one_hot_encoder(Call& call) {
  const Value& data = call.in(0);
  Dims out = call.dims(0);
  out.push_back(call.fresh());
  call.set(0, moved(data, std::move(out), data.axis));
}

// Gathers entries of one list shared by all rows, using the rows' indices, which the operator
// treats as one list: [N] or [1, N] gives [1, N], so the rows stay in order if no dimension
// precedes them.
void listed_features(Call& call) {
  const Value &data = call.in(0), &indices = call.in(1);
  if (data.varies()) couples("every row is combined with the indices of all rows");
  if (!indices.is_rows()) couples("the indices must not depend on the values of the rows");
  const Dims& list = call.dims(0);
  const bool one = list.size() == 1 || (list.size() == 2 && list[0].is(1));
  if (!one) unproven("a table that is the same for all rows is indexed by the rows");
  const Dims& dims = call.dims(1);
  if (!product(dims, 0, indices.axis).is(1)) couples("the indices of the rows are mixed");
  call.set(0, Value::rows({1, product(dims)}, 1));
}

// (data, indices): along the last axis.
void features(Call& call) {
  if (call.in(1).varies()) return listed_features(call);
  const Value& data = call.in(0);
  const size_t rank = call.rank(0);
  if (data.varies() && data.axis + 1 == rank) couples("it selects rows by their index");
  if (rank < 2) unproven("an input is not a table");
  Dims out = call.dims(0);
  out.back() = call.fresh();
  call.set(0, moved(data, std::move(out), data.axis));
}

void feature_vector(Call& call) {
  if (call.all_same()) return;
  const Dim rows = call.dims(0)[0];
  for (size_t i = 0; i < call.count(); ++i) {
    const bool fits = call.in(i).is_rows() && call.in(i).axis == 0 && call.rank(i) == 2 &&
                      call.dims(i)[0] == rows;
    if (!fits) unproven("the rows of an input are not on the first axis");
  }
  call.set(0, Value::rows({rows, call.fresh()}, 0));
}

void string_split(Call& call) {
  const Value& data = call.in(0);
  const Dims& dims = call.dims(0);
  if (data.varies()) {
    call.set(0, Value::mixed(std::make_shared<Why>(
                    Why{true, "the row with the most parts sets the length of all"})));
    call.set(1, moved(data, dims, data.axis));
  }
}

void string_normalizer(Call& call) {
  const Value& data = call.in(0);
  if (data.varies() && call.node().attribute("stopwords") != nullptr) {
    couples("stop words are removed from the list of all rows");
  }
  call.set(0, moved(data, call.dims(0), data.axis));
}

// (texts, separator) -> the row and the place of each piece, the pieces, [texts, longest]. Each
// text is split on its own and its pieces stay together, so the pieces of the batch are those of
// its rows concatenated. With one text per row, the row of a piece is the number of its text.
void split_texts(Call& call) {
  if (call.all_same()) return;
  call.need_same(1, "the separator");
  const Value& texts = call.in(0);
  if (!texts.is_rows() || call.rank(0) != 1 || !texts.per_row().is(1)) {
    couples("its number of entries depends on the values of all rows");
  }
  Value pieces;
  pieces.kind = Kind::Pieces;
  pieces.group = call.symbols().fresh(true);
  const Dim count = Dim::of_symbol(pieces.group);
  pieces.dims = Dims{count};
  call.set(1, pieces);
  pieces.dims = Dims{count, 2};
  pieces.columns = {Stride{1, 1}, Stride{}};
  call.set(0, pieces);
  Value extents;
  extents.kind = Kind::Extents;
  extents.dims = Dims{2};
  extents.cells = Dims{call.dims(0)[0]};
  call.set(2, std::move(extents));
}

// (shape, values, default, number of rows, the row of each value) -> [rows, width]: each row has
// its own values, truncated or padded to a fixed width. -1 means the longest row of all.
void padded(Call& call) {
  if (call.all_same()) return;
  call.need_same(0, "the shape");
  call.need_same(2, "the default");
  const char* const longest = "the longest row sets the length of all";
  if (call.text("row_partition_types", "") != "14:FIRST_DIM_SIZE12:VALUE_ROWIDS") couples(longest);
  const std::optional<std::vector<int64_t>> shape = call.numbers(0);
  if (!shape || shape->size() != 2 || (*shape)[0] >= 0 || (*shape)[1] < 0) couples(longest);
  const Value &values = call.in(1), &rows = call.in(3), &ids = call.in(4);
  const bool counted = rows.kind == Kind::Counts && rows.cells && rows.cells->size() == 1 &&
                       rows.cells->front() == Dim::of_rows();
  if (!counted) unproven("its number of rows may differ from that of the batch");
  const bool pieces = values.kind == Kind::Pieces && values.rank() == 1 &&
                      values.stride.step.is(0) && ids.kind == Kind::Pieces && ids.rank() == 1 &&
                      ids.group == values.group;
  if (!pieces) couples("its values may belong to other rows");
  const bool numbered = ids.stride.step.is(1) && ids.stride.bound && ids.stride.bound->is(1);
  if (!numbered) couples("its values may belong to other rows");
  call.set(0, Value::rows({Dim::of_rows(), (*shape)[1]}, 0));
}

}  // namespace

std::vector<Rule> classical_rules() {
  const char* const family = "Classical models and text";
  return {
      {family,
       "The input is a table with the rows on the first axis.",
       "ai.onnx.ml",
       {"LinearClassifier", "LinearRegressor", "SVMClassifier", "SVMRegressor", "TreeEnsemble",
        "TreeEnsembleClassifier", "TreeEnsembleRegressor"},
       model},
      {family,
       "The input is a table with the rows on the first axis.",
       "ai.onnx.ml",
       {"Imputer", "Normalizer", "Scaler"},
       over_features},
      {family,
       "The input is a table with the rows on the first axis.",
       "",
       {"TfIdfVectorizer"},
       over_features},
      {family,
       "Each element is computed independently.",
       "ai.onnx.ml",
       {"OneHotEncoder"},
       one_hot_encoder},
      {family,
       "The indices are constants, the rows not on the last axis; or entries of one list for all "
       "by the rows' indices.",
       "ai.onnx.ml",
       {"ArrayFeatureExtractor"},
       features},
      {family,
       "The inputs are tables with the rows on the first axis.",
       "ai.onnx.ml",
       {"FeatureVectorizer"},
       feature_vector},
      {family,
       "Only the number of parts of each text: padding to the longest text of the batch couples "
       "the parts.",
       "",
       {"StringSplit"},
       string_split},
      {family, "There are no stop words.", "", {"StringNormalizer"}, string_normalizer},
  };
}

std::vector<Rule> ragged_rules() {
  const char* const family = "Ragged rows";
  return {
      {family,
       "One text for each row. The pieces are followed as lists of unknown lengths, one for each "
       "row, in order.",
       "serval",
       {"StringSplit", "StringSplitV2"},
       split_texts},
      {family,
       "Each row is padded to a constant width: the longest row has no effect.",
       "serval",
       {"RaggedTensorToTensor"},
       padded,
       true,
       false,
       false,
       true},
  };
}

}  // namespace serval::rows
